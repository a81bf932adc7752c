//! One window after the other.

use std::time::Duration;

use super::histogram::Histogram;
use super::{Algorithm, Cause, Rule, Sample, Step, Warm};
use crate::time::Moment;

/// Shortest and longest window; between them it follows the median first token.
const WINDOW: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));
/// Samples below which a window goes on.
const MIN_SAMPLES: u32 = 10;
/// Overloads that cut: at least this many, and at least this percentage of the window.
const OVERLOADS: (u32, u32) = (2, 2);
/// Median over baseline, in percent, above which latency means congestion.
const CONGESTED_PERCENT: u32 = 150;
/// Peak in-flight over limit, in percent, from which there is a reason to grow.
const NEAR_PERCENT: u64 = 90;
/// Share of a predecessor's limit that a new pod starts with (resilience.md 4(f)); it fades with this time constant, and
/// what is older than the second one is no start.
const WARM_SHARE: f64 = 0.7;
const WARM_FADE: Duration = Duration::from_mins(10);
const WARM_EXPIRES: Duration = Duration::from_mins(15);
const PAR: u32 = 1_000;

/// The limit of one lane in one pod.
#[derive(Clone, Debug)]
pub struct Limiter {
    rule: Rule,
    limit: u32,
    /// Slow start ends here; 0 once there was a cut.
    slow_start_to: u32,
    baseline_per_mille: u32,
    started: Moment,
    last_cut: Option<Moment>,
    median: Duration,
    ratios: Histogram,
    elapsed: Histogram,
    overloads: u32,
    peak: u32,
}

impl Limiter {
    /// A limiter; `warm` is what a predecessor of the same configuration left behind: 70 % of its limit now, less the
    /// older that is, slow start up to all of it; as if there were none after 15 min.
    pub fn new(rule: Rule, now: Moment, warm: Option<Warm>) -> Self {
        let rule = bounded(rule);
        let warm = warm.filter(|warm| warm.age <= WARM_EXPIRES);
        let known = warm.map_or(0, |warm| warm.limit.min(rule.max));
        let left = warm.map_or(0.0, |warm| WARM_SHARE * (-warm.age.div_duration_f64(WARM_FADE)).exp());
        let initial = ((f64::from(known) * left) as u32).max(rule.initial);
        Self {
            limit: start(&rule, initial),
            slow_start_to: if warm.is_some() { known } else { rule.max },
            baseline_per_mille: warm
                .map(|warm| warm.baseline_per_mille.min(PAR))
                .filter(|known| *known > 0)
                .unwrap_or(PAR),
            rule,
            started: now,
            last_cut: None,
            median: Duration::ZERO,
            ratios: Histogram::new(),
            elapsed: Histogram::new(),
            overloads: 0,
            peak: 0,
        }
    }

    /// Takes an edited rule; the limit moves only as far as its new bounds ask.
    pub fn set_rule(&mut self, rule: Rule) {
        let rule = bounded(rule);
        let changed = rule.algorithm != self.rule.algorithm;
        self.limit = match rule.algorithm {
            Algorithm::Fixed => start(&rule, rule.initial),
            _ if changed => start(&rule, rule.initial),
            _ => self.limit.clamp(rule.min, rule.max),
        };
        self.slow_start_to = self.slow_start_to.min(rule.max);
        self.rule = rule;
    }

    /// The limit now.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// What a successor should start from.
    pub fn warm(&self) -> Warm {
        Warm { limit: self.limit, baseline_per_mille: self.baseline_per_mille, age: Duration::ZERO }
    }

    /// Tells the in-flight count after an admission; the window's peak decides about growth.
    pub fn in_flight(&mut self, now: u32) {
        self.peak = self.peak.max(now);
    }

    /// One sample of a user action admitted at `admitted`.
    pub fn record(&mut self, admitted: Moment, sample: Sample) {
        // What was admitted before the cut speaks of the limit before the cut.
        if self.last_cut.is_some_and(|cut| admitted <= cut) {
            return;
        }
        match sample {
            Sample::None => {}
            Sample::Overloaded => self.overloads += 1,
            Sample::FirstToken { elapsed, expected } => {
                self.elapsed.record(elapsed);
                if let Some(expected) = expected.filter(|expected| !expected.is_zero()) {
                    let ratio = elapsed.as_secs_f64() / expected.as_secs_f64();
                    self.ratios.record(Duration::try_from_secs_f64(ratio).unwrap_or(Duration::MAX));
                }
            }
        }
    }

    /// Ends the window when it is time and decides once. `typical_stream` is how long a user action holds its
    /// permit.
    pub fn tick(&mut self, now: Moment, in_flight: u32, typical_stream: Duration) -> Option<Step> {
        let samples = self.elapsed.total() + self.overloads;
        let long_enough = now - self.started >= self.median.clamp(WINDOW.0, WINDOW.1);
        if !long_enough || (samples < MIN_SAMPLES && self.overloads < OVERLOADS.0) {
            return None;
        }
        let before = self.limit;
        let cause = match self.rule.algorithm {
            Algorithm::Fixed => None,
            _ => self.decide(now, in_flight, typical_stream),
        };
        self.begin_window(now, in_flight);
        cause.filter(|_| self.limit != before).map(|cause| Step { from: before, to: self.limit, cause })
    }

    fn decide(&mut self, now: Moment, in_flight: u32, typical_stream: Duration) -> Option<Cause> {
        let samples = self.elapsed.total() + self.overloads;
        if self.overloads >= OVERLOADS.0.max(samples * OVERLOADS.1 / 100) {
            self.cut(now);
            return Some(Cause::Overload);
        }
        let ratio = self.ratios.median().map(|ratio| (ratio.as_secs_f64() * f64::from(PAR)) as u32);
        let above_target =
            self.elapsed.median() > self.rule.target_first_token && self.rule.target_first_token.is_some();
        let congested = ratio.is_some_and(|ratio| ratio * 100 > self.baseline_per_mille * CONGESTED_PERCENT);
        if let Some(ratio) = ratio {
            self.follow(ratio);
        }
        if self.rule.algorithm == Algorithm::Gradient && !above_target {
            return self.gradient(ratio);
        }
        if above_target || congested {
            let settled =
                in_flight <= self.limit || self.last_cut.is_none_or(|cut| now - cut >= typical_stream);
            if settled {
                self.cut(now);
            }
            return Some(if above_target { Cause::Ceiling } else { Cause::Latency });
        }
        self.near_limit().then(|| self.grow())
    }

    fn near_limit(&self) -> bool {
        u64::from(self.peak) * 100 >= u64::from(self.limit) * NEAR_PERCENT
    }

    fn grow(&mut self) -> Cause {
        if self.last_cut.is_none() && self.limit < self.slow_start_to {
            self.limit = (self.limit + self.limit.div_ceil(2)).min(self.slow_start_to);
            return Cause::SlowStart;
        }
        let step = (self.rule.max * u32::from(self.rule.increase_percent) / 100).max(1);
        self.limit = (self.limit + step).min(self.rule.max);
        Cause::Growth
    }

    /// `L' = 0.8 L + 0.2 (L clamp(1.25 baseline / ratio, 0.5, 1) + sqrt(L))`.
    fn gradient(&mut self, ratio: Option<u32>) -> Option<Cause> {
        let ratio = f64::from(ratio?.max(1));
        let limit = f64::from(self.limit);
        let slope = (1.25 * f64::from(self.baseline_per_mille) / ratio).clamp(0.5, 1.0);
        let next = 0.8 * limit + 0.2 * (limit * slope + limit.sqrt());
        if next > limit && !self.near_limit() {
            return None;
        }
        // Rounded away from the present value: a small limit must be able to move.
        let next = if next > limit { next.ceil() } else { next.floor() } as u32;
        self.limit = next.clamp(self.rule.min, self.rule.max);
        Some(Cause::Gradient)
    }

    fn cut(&mut self, now: Moment) {
        let keep = 100 - u32::from(self.rule.decrease_percent.min(99));
        self.limit = (self.limit * keep / 100).max(self.rule.min);
        self.last_cut = Some(now);
        self.slow_start_to = 0;
    }

    /// Lower medians pull the baseline down by 1/64, higher ones push it up by 0.2 %, never above par.
    fn follow(&mut self, ratio: u32) {
        let baseline = self.baseline_per_mille;
        self.baseline_per_mille = if ratio < baseline {
            baseline - (baseline - ratio).div_ceil(64)
        } else {
            (baseline + (baseline / 500).max(1)).min(ratio).min(PAR)
        };
    }

    fn begin_window(&mut self, now: Moment, in_flight: u32) {
        if let Some(median) = self.elapsed.median() {
            self.median = median;
        }
        self.started = now;
        self.ratios.clear();
        self.elapsed.clear();
        self.overloads = 0;
        self.peak = in_flight;
    }
}

fn bounded(rule: Rule) -> Rule {
    // A million is far beyond any pod and keeps every product below 2^32.
    let min = rule.min.clamp(1, 1_000_000);
    Rule { min, max: rule.max.clamp(min, 1_000_000), ..rule }
}

fn start(rule: &Rule, initial: u32) -> u32 {
    match rule.algorithm {
        Algorithm::Fixed => initial.max(1),
        Algorithm::Aimd | Algorithm::Gradient => initial.clamp(rule.min, rule.max),
    }
}
