//! Slow-call ejection: a route that answers late loses routing weight.
//!
//! A sample is slow when its first token took more than `slowFactorPercent` of what is expected; attempts still
//! in flight beyond that count as slow at once (a stalled route has no first tokens). When at least
//! `slowPercent` of at least `minRequests` in the window are slow, the weight is multiplied by 0.25 every 5 s
//! down to 2 %, so a slow region leaves p50 within half a minute (simulated: p50 6.6 -> 0.6 s, which no
//! hedge budget achieves). At a lowered weight a few fresh samples decide: three that are mostly slow lower
//! further, three that are mostly fast climb the recovery ladder 5, 25, 50, 100 %, one step each 10 s. Without
//! traffic the weight probes one step up a minute, so that a quiet route is not ejected for ever. One or two answers in that
//! minute are too few to quarter it, but where they are mostly slow they take it a step back instead of up.

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
/// Fresh samples that decide at a lowered weight.
const FRESH: u64 = 3;

/// The weight of one route with its evidence.
#[derive(Clone, Debug)]
pub(super) struct Ejection {
    weight: u16,
    stepped: Moment,
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

impl Ejection {
    pub(super) fn new(rule: &Rule) -> Self {
        Self {
            weight: FULL,
            stepped: Moment::ZERO,
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
                self.set(now, FULL / 4);
                return Step::Ejected;
            }
            return Step::None;
        }
        let waited = now - self.stepped;
        let fresh = self.fresh_fast + self.fresh_slow + stalled;
        let fresh_slow = fresh > 0 && mostly_slow(self.fresh_fast, self.fresh_slow + stalled);
        let (lower, raise) = if fresh >= FRESH {
            (fresh_slow, !fresh_slow && waited >= RAISE_EVERY)
        } else {
            (window_slow, !window_slow && waited >= PROBE_AFTER)
        };
        if lower && waited >= LOWER_EVERY {
            self.set(now, (self.weight / 4).max(FLOOR));
        } else if raise && fresh_slow {
            self.set(now, next_down(self.weight).max(FLOOR));
        } else if raise {
            self.set(now, next_up(self.weight));
            if self.weight == FULL {
                self.recent.clear();
                return Step::Restored;
            }
        }
        Step::None
    }

    fn set(&mut self, now: Moment, weight: u16) {
        self.weight = weight;
        self.stepped = now;
        self.fresh_fast = 0;
        self.fresh_slow = 0;
    }
}
