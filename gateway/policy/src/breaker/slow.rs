//! Slow-call ejection: a route that answers late loses routing weight.
//!
//! A sample is slow when its first token took more than `slowFactorPercent` of what is expected; attempts still
//! in flight beyond that count as slow at once (a stalled route has no first tokens). When at least
//! `slowPercent` of at least `minRequests` in the window are slow, the weight is multiplied by 0.25 every 5 s
//! down to 2 %, so a slow region leaves p50 within half a minute (simulated: p50 6.6 -> 0.6 s, which no
//! hedge budget achieves). At a lowered weight a few fresh samples decide: three that are mostly slow lower
//! further, three that are mostly fast climb the recovery ladder 5, 25, 50, 100 %, one step each 10 s. Without
//! traffic the weight probes one step up after a minute, so that a quiet route is not ejected for ever. One or two answers in
//! that minute are too few to quarter it, but where they are mostly slow they take it a step back instead of up. A climb that
//! meets slow answers ends where it began and doubles the time before the next probe without samples, up to eight minutes: a
//! route that has any traffic at all has its three samples by then, and one that has none loses nothing.

use std::time::Duration;

use super::ramp::{next_down, next_up};
use super::state::Rule;
use crate::time::Moment;
use crate::window::Window;

const FULL: u16 = 1_000;
const FLOOR: u16 = 20;
const LOWER_EVERY: Duration = Duration::from_secs(5);
const RAISE_EVERY: Duration = Duration::from_secs(10);
const PROBE_AFTER: Duration = Duration::from_mins(1);
/// Doublings of that wait.
const MOST_DOUBLINGS: u32 = 3;
/// Fresh samples that decide at a lowered weight.
const FRESH: u64 = 3;

/// The weight of one route with its evidence.
#[derive(Clone, Debug)]
pub(super) struct Ejection {
    weight: u16,
    stepped: Moment,
    /// The weight from which it has climbed since the latest step down.
    climbed_from: Option<u16>,
    /// Probes that found it slow, since the route was last at full weight.
    failed_probes: u32,
    recent: Window,
    fresh_fast: u64,
    fresh_slow: u64,
}

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Left full weight.
    Ejected,
    /// Back at full weight.
    Restored,
    /// Anything else.
    None,
}

/// Where a lowered weight goes.
enum Turn {
    Quarter,
    Back,
    Up,
}

impl Ejection {
    pub(super) fn new(rule: &Rule) -> Self {
        Self {
            weight: FULL,
            stepped: Moment::ZERO,
            climbed_from: None,
            failed_probes: 0,
            recent: Window::new(rule.window),
            fresh_fast: 0,
            fresh_slow: 0,
        }
    }

    pub(super) fn weight(&self) -> u16 {
        self.weight
    }

    pub(super) fn record(&mut self, now: Moment, slow: bool) {
        self.recent.add(now, !slow);
        *if slow { &mut self.fresh_slow } else { &mut self.fresh_fast } += 1;
    }

    /// One look at the evidence; `stalled` attempts are in flight beyond the slow limit.
    pub(super) fn step(&mut self, rule: &Rule, now: Moment, stalled: u32) -> Step {
        let stalled = u64::from(stalled);
        let mostly_slow = |fast: u64, slow: u64| {
            rule.slow_percent > 0 && slow * 100 >= u64::from(rule.slow_percent) * (fast + slow)
        };
        let (fast, slow) = self.recent.sums(now);
        let window_slow =
            fast + slow + stalled >= u64::from(rule.min_requests.max(1)) && mostly_slow(fast, slow + stalled);
        if self.weight == FULL {
            if window_slow {
                (self.climbed_from, self.failed_probes) = (None, 0);
                self.set(now, FULL / 4);
                return Step::Ejected;
            }
            return Step::None;
        }
        match self.turn(now, stalled, window_slow, mostly_slow) {
            Some(Turn::Quarter) => self.fall(now, self.weight / 4),
            Some(Turn::Back) => {
                self.failed_probes += u32::from(self.weight == FLOOR);
                self.fall(now, next_down(self.weight));
            }
            Some(Turn::Up) => {
                self.climbed_from = self.climbed_from.or(Some(self.weight));
                self.set(now, next_up(self.weight));
                if self.weight == FULL {
                    self.recent.clear();
                    return Step::Restored;
                }
            }
            None => {}
        }
        Step::None
    }

    /// What a lowered weight does now; `None`: it stays.
    fn turn(
        &self,
        now: Moment,
        stalled: u64,
        window_slow: bool,
        mostly_slow: impl Fn(u64, u64) -> bool,
    ) -> Option<Turn> {
        let waited = now - self.stepped;
        let fresh = self.fresh_fast + self.fresh_slow + stalled;
        let fresh_slow = fresh > 0 && mostly_slow(self.fresh_fast, self.fresh_slow + stalled);
        let pause = PROBE_AFTER * (1 << self.failed_probes.min(MOST_DOUBLINGS));
        let (turn, wait) = if fresh >= FRESH && !fresh_slow {
            (Turn::Up, RAISE_EVERY)
        } else if fresh >= FRESH || window_slow {
            (Turn::Quarter, LOWER_EVERY)
        } else if fresh_slow {
            // At the floor one step back only forgets the samples: that has the time of a probe.
            (Turn::Back, if self.weight == FLOOR { pause } else { PROBE_AFTER })
        } else {
            (Turn::Up, if fresh > 0 { PROBE_AFTER } else { pause })
        };
        (waited >= wait).then_some(turn)
    }

    /// To this weight, or back to where a climb began.
    fn fall(&mut self, now: Moment, weight: u16) {
        let climbed_from = self.climbed_from.take();
        self.failed_probes += u32::from(climbed_from.is_some());
        self.set(now, weight.min(climbed_from.unwrap_or(weight)).max(FLOOR));
    }

    fn set(&mut self, now: Moment, weight: u16) {
        self.weight = weight;
        self.stepped = now;
        self.fresh_fast = 0;
        self.fresh_slow = 0;
    }
}
