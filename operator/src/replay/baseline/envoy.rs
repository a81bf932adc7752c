//! Envoy's adaptive concurrency filter, the gradient controller (`source/extensions/filters/http/adaptive_concurrency`).
//!
//! Every 100 ms: `L' = L clamp(1.25 minRTT / sampleRTT, 0.5, 2) + sqrt(L)` on the median of the interval's calls, at most
//! 1,000. minRTT is the median of 50 calls with concurrency pinned to 3, measured again every 60 s (+ up to 15 %). Values of
//! its documentation. It times whole calls.

use std::time::Duration;

use hedgerow_policy::time::Moment;

use super::Concurrency;

const INTERVAL: Duration = Duration::from_millis(100);
const REMEASURE: Duration = Duration::from_mins(1);
const PINNED: u32 = 3;
const PROBES: usize = 50;
const MOST: f64 = 1_000.0;

/// The gradient controller.
pub struct Envoy {
    limit: f64,
    min_rtt: f64,
    measuring: bool,
    began: Moment,
    remeasure: Moment,
    since: Moment,
    samples: Vec<f64>,
    turn: u32,
}

impl Envoy {
    /// About to measure.
    pub fn boxed() -> Box<dyn Concurrency> {
        Box::new(Self {
            limit: f64::from(PINNED),
            min_rtt: 0.0,
            measuring: true,
            began: Moment::ZERO,
            remeasure: Moment::ZERO,
            since: Moment::ZERO,
            samples: Vec::new(),
            turn: 0,
        })
    }

    fn median(&mut self) -> f64 {
        self.samples.sort_unstable_by(f64::total_cmp);
        let median = self.samples.get(self.samples.len() / 2).copied().unwrap_or(self.min_rtt);
        self.samples.clear();
        median
    }
}

impl Concurrency for Envoy {
    fn limit(&self) -> u32 {
        if self.measuring { PINNED } else { self.limit as u32 }
    }

    fn sample(&mut self, now: Moment, elapsed: Duration, _in_flight: u32, dropped: bool) {
        // Calls that began before an epoch say nothing about it; cancelled and refused ones neither.
        if dropped || self.began + elapsed > now {
            return;
        }
        self.samples.push(elapsed.as_secs_f64());
        if self.measuring {
            if self.samples.len() >= PROBES {
                self.min_rtt = self.median();
                self.measuring = false;
                self.turn += 1;
                // Jitter of 15 %, evenly by the golden ratio.
                let part = f64::from(self.turn.wrapping_mul(2_654_435_769)) / 4_294_967_296.0;
                self.remeasure = now + REMEASURE.mul_f64(1.0 + 0.15 * part);
                (self.since, self.began) = (now, now);
            }
            return;
        }
        if now >= self.remeasure {
            self.measuring = true;
            self.began = now;
            self.samples.clear();
            return;
        }
        if now - self.since >= INTERVAL {
            let median = self.median();
            let gradient = (1.25 * self.min_rtt / median).clamp(0.5, 2.0);
            self.limit = (self.limit * gradient + self.limit.sqrt()).clamp(f64::from(PINNED), MOST);
            self.since = now;
        }
    }
}
