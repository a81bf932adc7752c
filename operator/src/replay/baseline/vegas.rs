//! Netflix concurrency-limits 0.5: `VegasLimit` with its defaults, after TCP Vegas (Brakmo, Peterson 1995).
//!
//! Per sample: the queue is estimated as `ceil(L (1 - min RTT / RTT))`. With l = the whole part of log10 L, at least 1: a
//! queue of at most l adds 6 l, one below 3 l adds l, one above 6 l takes l, anything between leaves the limit where it is;
//! so does a limit of which less than half is used. A dropped call takes l. Every 15 to 30 times L samples the minimum is
//! whatever the next call takes. 1 to 1,000, start 20. It times whole calls, dropped ones too.
//!
//! Documented by its project: the minimum is biased and drifts, which is why there is Gradient2 (README, Gradient2).

use std::time::Duration;

use hedgerow_policy::time::Moment;

use super::Concurrency;

const START: f64 = 20.0;
const MOST: f64 = 1_000.0;
const PROBE_EVERY: f64 = 30.0;

/// `VegasLimit`.
pub struct Vegas {
    limit: f64,
    least: Option<Duration>,
    samples: u32,
    turn: u32,
}

impl Vegas {
    /// At its start.
    pub fn boxed() -> Box<dyn Concurrency> {
        Box::new(Self { limit: START, least: None, samples: 0, turn: 0 })
    }

    /// Whether this sample becomes the minimum whatever it is.
    fn probes(&mut self) -> bool {
        self.samples += 1;
        // Jitter from a half to one, evenly by the golden ratio.
        let jitter = 0.5 + f64::from(self.turn.wrapping_mul(2_654_435_769)) / 8_589_934_592.0;
        let probes = jitter * PROBE_EVERY * self.limit <= f64::from(self.samples);
        if probes {
            self.samples = 0;
            self.turn += 1;
        }
        probes
    }
}

impl Concurrency for Vegas {
    fn limit(&self) -> u32 {
        self.limit as u32
    }

    fn sample(&mut self, _now: Moment, elapsed: Duration, in_flight: u32, dropped: bool) {
        let probes = self.probes();
        let Some(least) = self.least.filter(|least| !probes && elapsed >= *least) else {
            self.least = Some(elapsed);
            return;
        };
        let queue = (self.limit * (1.0 - least.as_secs_f64() / elapsed.as_secs_f64().max(1e-9))).ceil();
        let step = self.limit.log10().floor().max(1.0);
        let change = if dropped {
            -step
        } else if f64::from(in_flight) * 2.0 < self.limit {
            0.0
        } else if queue <= step {
            6.0 * step
        } else if queue < 3.0 * step {
            step
        } else if queue > 6.0 * step {
            -step
        } else {
            0.0
        };
        self.limit = (self.limit + change).clamp(1.0, MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples of a server that serves 100 at once in a second and shares itself among more; calls vary by `spread`.
    fn settled(spread: f64) -> u32 {
        let mut vegas = Vegas::boxed();
        for call in 0..40_000_u32 {
            let limit = vegas.limit();
            // Evenly between 1 - spread and 1 + spread.
            let part = f64::from(call.wrapping_mul(2_654_435_769)) / 4_294_967_296.0;
            let seconds = (1.0 + spread * (2.0 * part - 1.0)) * (f64::from(limit) / 100.0).max(1.0);
            vegas.sample(Moment::ZERO, Duration::from_secs_f64(seconds), limit, false);
        }
        vegas.limit()
    }

    #[test]
    fn calls_that_take_equally_long_leave_a_queue_between_alpha_and_beta() {
        // At 100 to 999 that is 6 to 12 calls; each new minimum, taken while they queue, lets it drift beyond.
        let limit = settled(0.0);
        assert!(limit >= 106, "{limit}");
    }

    #[test]
    fn calls_that_vary_are_taken_for_a_queue_and_the_limit_collapses() {
        // Nothing queues below 100, yet the mean is twice the minimum: half of the limit counts as queue.
        let limit = settled(0.5);
        assert!(limit < 30, "{limit}");
    }

    #[test]
    fn without_a_queue_it_grows_by_beta_and_a_drop_takes_one() {
        let mut vegas = Vegas::boxed();
        let second = Duration::from_secs(1);
        vegas.sample(Moment::ZERO, second, 20, false);
        assert_eq!(vegas.limit(), 20, "the first says what the minimum is");
        vegas.sample(Moment::ZERO, second, 20, false);
        assert_eq!(vegas.limit(), 26);
        vegas.sample(Moment::ZERO, second, 5, false);
        assert_eq!(vegas.limit(), 26, "less than half of it is used");
        vegas.sample(Moment::ZERO, second, 26, true);
        assert_eq!(vegas.limit(), 25);
    }
}
