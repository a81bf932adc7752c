//! The state machine.

use std::time::Duration;

use super::backoff;
use super::ramp;
use super::slow::{Ejection, Step};
use super::state::{Cause, Change, Outcome, Pass, Refusal, Rule, State};
use crate::time::Moment;
use crate::window::Window;

/// Probes that must pass before a route recovers.
const PROBES: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Closed,
    Open { until: Moment, quota: bool },
    HalfOpen { passed: u32, lease: Option<Moment> },
    Recovering { since: Moment },
}

/// One route's breaker.
#[derive(Clone, Debug)]
pub struct Breaker {
    rule: Rule,
    phase: Phase,
    /// Grows whenever older attempts lose their vote: at each opening and each lease.
    generation: u64,
    /// Openings since the route was last healthy.
    openings: u32,
    consecutive: u32,
    results: Window,
    throttled_until: Moment,
    throttles: u32,
    slow: Ejection,
    /// The latest draw, mixed on for transitions that have none of their own.
    entropy: u64,
}

impl Breaker {
    /// A healthy route.
    pub fn new(rule: Rule) -> Self {
        Self {
            rule,
            phase: Phase::Closed,
            generation: 0,
            openings: 0,
            consecutive: 0,
            results: Window::new(rule.window),
            throttled_until: Moment::ZERO,
            throttles: 0,
            slow: Ejection::new(&rule),
            entropy: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// Takes an edited rule; evidence is kept unless the window changed.
    pub fn set_rule(&mut self, rule: Rule) {
        if rule.window != self.rule.window {
            self.results = Window::new(rule.window);
            self.slow = Ejection::new(&rule);
        }
        self.rule = rule;
    }

    /// May an attempt be sent, as of the last tick? Takes nothing.
    pub fn usable(&self, now: Moment) -> Result<(), Refusal> {
        if now < self.throttled_until {
            return Err(Refusal::Throttled(self.throttled_until));
        }
        match self.phase {
            Phase::Open { until, quota } if now < until => {
                Err(if quota { Refusal::Quota(until) } else { Refusal::Open(until) })
            }
            Phase::HalfOpen { lease: Some(until), .. } => Err(Refusal::ProbeInFlight(until.max(now))),
            _ => Ok(()),
        }
    }

    /// Leave to send one attempt. With `last_usable` an open route lets it through without a vote, because no
    /// other route is left; a provider's own wait is kept even then. `lease_for` bounds a probe: the smaller of
    /// the deadline and three times the expected p95.
    pub fn admit(&mut self, now: Moment, last_usable: bool, lease_for: Duration) -> Result<Pass, Refusal> {
        self.advance(now);
        match self.usable(now) {
            Ok(()) => {}
            Err(refusal @ Refusal::Throttled(_)) => return Err(refusal),
            Err(_) if last_usable => return Ok(Pass { generation: 0, probe: false }),
            Err(refusal) => return Err(refusal),
        }
        let Phase::HalfOpen { passed, .. } = self.phase else {
            return Ok(Pass { generation: self.generation, probe: false });
        };
        self.generation += 1;
        self.phase = Phase::HalfOpen { passed, lease: Some(now + lease_for) };
        Ok(Pass { generation: self.generation, probe: true })
    }

    /// The outcome of one attempt. `draw` is fresh randomness for a back-off.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a pass reports once; taking it makes that a type error"
    )]
    pub fn report(&mut self, now: Moment, pass: Pass, outcome: Outcome, draw: u64) -> Option<Change> {
        self.entropy ^= draw;
        let before = self.state(now);
        let cause = self.advance(now).or_else(|| self.vote(now, &pass, outcome));
        change(before, self.state(now), cause)
    }

    /// Lets time act: back-offs and leases end, weights step. About once a second. `stalled`: primaries in
    /// flight for longer than [`Self::slow_after`] without a first token.
    pub fn tick(&mut self, now: Moment, stalled: u32) -> Option<Change> {
        let before = self.state(now);
        let cause = self.advance(now);
        let step = match self.slow.step(&self.rule, now, stalled) {
            Step::Ejected => Some(Cause::Slow),
            Step::Restored => Some(Cause::FastAgain),
            Step::None => None,
        };
        change(before, self.state(now), cause.or(step))
    }

    /// The state now, the worst that applies.
    pub fn state(&self, now: Moment) -> State {
        match self.phase {
            Phase::Open { quota: false, .. } => State::Open,
            Phase::Open { quota: true, .. } => State::QuotaOpen,
            Phase::HalfOpen { .. } => State::HalfOpen,
            _ if now < self.throttled_until => State::Throttled,
            Phase::Recovering { .. } => State::Recovering,
            Phase::Closed if self.is_slow() => State::Slow,
            Phase::Closed => State::Closed,
        }
    }

    /// What multiplies the route's weight, 1..=1000: the recovery ramp times slow-call ejection.
    pub fn weight_per_mille(&self, now: Moment) -> u16 {
        let recovery = match self.phase {
            Phase::Recovering { since } => ramp::recovery_per_mille(since, now),
            _ => 1_000,
        };
        ((u32::from(recovery) * u32::from(self.slow.weight())) / 1_000).max(1) as u16
    }

    /// Whether it has lost weight for being slow, whatever else it is.
    pub fn is_slow(&self) -> bool {
        self.slow.weight() < 1_000
    }

    /// Until when the provider asked to wait, if that lies ahead.
    pub fn throttled_until(&self, now: Moment) -> Option<Moment> {
        (now < self.throttled_until).then_some(self.throttled_until)
    }

    /// When asking again makes sense, if not now.
    pub fn retry_at(&self, now: Moment) -> Option<Moment> {
        self.usable(now).err().map(Refusal::until)
    }

    /// The age from which an attempt without a first token is slow.
    pub fn slow_after(&self, expected: Duration) -> Duration {
        expected.saturating_mul(u32::from(self.rule.slow_factor_percent)) / 100
    }

    /// What the passage of time alone changes.
    fn advance(&mut self, now: Moment) -> Option<Cause> {
        match self.phase {
            Phase::Open { until, .. } if now >= until => {
                self.phase = Phase::HalfOpen { passed: 0, lease: None };
                Some(Cause::BackoffOver)
            }
            Phase::HalfOpen { lease: Some(until), .. } if now >= until => {
                self.open(until);
                // The lease may have ended long ago: the back-off counts from its end.
                Some(self.advance(now).unwrap_or(Cause::LeaseExpired))
            }
            Phase::Recovering { since } if ramp::recovered(since, now) => {
                self.phase = Phase::Closed;
                self.openings = 0;
                Some(Cause::RampFinished)
            }
            _ => None,
        }
    }

    fn vote(&mut self, now: Moment, pass: &Pass, outcome: Outcome) -> Option<Cause> {
        self.sample(now, outcome);
        let current = pass.generation == self.generation;
        match outcome {
            Outcome::Throttled { retry_after } => {
                self.return_lease(pass);
                let wait = backoff::throttle_for(retry_after, self.throttles, self.entropy);
                self.throttles += 1;
                self.throttled_until = self.throttled_until.max(now + wait);
                Some(Cause::Throttle)
            }
            Outcome::QuotaExhausted { retry_after } => {
                self.generation += 1;
                self.phase = Phase::Open { until: now + backoff::quota_for(retry_after), quota: true };
                Some(Cause::Quota)
            }
            Outcome::Cancelled { .. } | Outcome::NoVote => {
                self.return_lease(pass);
                None
            }
            Outcome::FirstToken { .. } if current => self.succeed(now, pass),
            Outcome::Failure if current => self.fail(now, pass),
            Outcome::FirstToken { .. } | Outcome::Failure => None,
        }
    }

    fn succeed(&mut self, now: Moment, pass: &Pass) -> Option<Cause> {
        self.consecutive = 0;
        self.throttles = 0;
        match self.phase {
            Phase::HalfOpen { passed, .. } if pass.probe => {
                let passed = passed + 1;
                if passed < PROBES {
                    self.phase = Phase::HalfOpen { passed, lease: None };
                    return None;
                }
                self.results.clear();
                self.phase = Phase::Recovering { since: now };
                Some(Cause::ProbesPassed)
            }
            _ => {
                self.results.add(now, true);
                None
            }
        }
    }

    fn fail(&mut self, now: Moment, pass: &Pass) -> Option<Cause> {
        if pass.probe {
            self.open(now);
            return Some(Cause::ProbeFailed);
        }
        self.consecutive += 1;
        self.results.add(now, false);
        let (good, bad) = self.results.sums(now);
        let enough = good + bad >= u64::from(self.rule.min_requests.max(1));
        let percent = u64::from(self.rule.failure_percent);
        let cause =
            if self.rule.consecutive_failures > 0 && self.consecutive >= self.rule.consecutive_failures {
                Cause::Consecutive
            } else if percent > 0 && enough && bad * 100 >= percent * (good + bad) {
                Cause::Ratio
            } else {
                return None;
            };
        self.open(now);
        Some(cause)
    }

    fn open(&mut self, from: Moment) {
        let wait = backoff::open_for(self.rule.open_for, self.rule.max_open_for, self.openings, self.mix());
        self.openings = self.openings.saturating_add(1);
        self.consecutive = 0;
        self.results.clear();
        self.generation += 1;
        self.phase = Phase::Open { until: from + wait, quota: false };
    }

    /// A probe that says nothing makes room for the next one.
    fn return_lease(&mut self, pass: &Pass) {
        if let Phase::HalfOpen { passed, .. } = self.phase
            && pass.probe
            && pass.generation == self.generation
        {
            self.phase = Phase::HalfOpen { passed, lease: None };
        }
    }

    /// First tokens, and cancels beyond the limit, are samples for slow-call ejection.
    fn sample(&mut self, now: Moment, outcome: Outcome) {
        match outcome {
            Outcome::FirstToken { elapsed, expected: Some(expected) } => {
                let slow = elapsed > self.slow_after(expected);
                self.slow.record(now, slow);
            }
            Outcome::Cancelled { elapsed, expected: Some(expected) }
                if elapsed > self.slow_after(expected) =>
            {
                self.slow.record(now, true);
            }
            _ => {}
        }
    }

    /// A fresh number from the latest draw (splitmix64's finaliser, Steele et al. 2014).
    fn mix(&mut self) -> u64 {
        self.entropy = self.entropy.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.entropy;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

fn change(from: State, to: State, cause: Option<Cause>) -> Option<Change> {
    cause.filter(|_| from != to).map(|cause| Change { from, to, cause })
}
