//! When requests arrive: Poisson, or two-state Markov-modulated Poisson (MMPP) for bursts.
//!
//! In: a process and a generator. Out: the time to the next arrival. Pure. Bursty traffic with the same mean is
//! what makes queues and limits visible; a metronome hides them.

use std::time::Duration;

use fastrand::Rng;
use serde::{Deserialize, Serialize};

/// An arrival process. Rates in requests per second; 0 means none.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Arrivals {
    /// Independent arrivals at a constant rate.
    Poisson {
        /// Mean rate.
        rps: f64,
    },
    /// Calm and burst take turns, each for an exponentially distributed time.
    Bursty {
        /// Rate while calm.
        calm_rps: f64,
        /// Rate in a burst.
        burst_rps: f64,
        /// Mean seconds of calm.
        mean_calm_s: f64,
        /// Mean seconds of a burst.
        mean_burst_s: f64,
    },
}

/// The state of one arrival process.
#[derive(Debug)]
pub(super) struct Clockwork {
    process: Arrivals,
    bursting: bool,
    /// Seconds until calm and burst change places.
    left: f64,
}

impl Clockwork {
    pub(super) fn new(process: Arrivals, rng: &mut Rng) -> Self {
        let mut clockwork = Self { process, bursting: true, left: 0.0 };
        clockwork.turn(rng);
        clockwork
    }

    /// Time to the next arrival; absent if there is none any more.
    pub(super) fn next(&mut self, rng: &mut Rng) -> Option<Duration> {
        match self.process {
            Arrivals::Poisson { rps } => seconds(exponential(rng, rps)),
            Arrivals::Bursty { calm_rps, burst_rps, .. } => {
                if calm_rps <= 0.0 && burst_rps <= 0.0 {
                    return None;
                }
                let mut waited = 0.0;
                loop {
                    // Without memory: what is left of the gap may be drawn again after each change.
                    let gap = exponential(rng, if self.bursting { burst_rps } else { calm_rps });
                    if gap <= self.left {
                        self.left -= gap;
                        return seconds(waited + gap);
                    }
                    waited += self.left;
                    self.turn(rng);
                }
            }
        }
    }

    fn turn(&mut self, rng: &mut Rng) {
        if let Arrivals::Bursty { mean_calm_s, mean_burst_s, .. } = self.process {
            self.bursting = !self.bursting;
            let mean = if self.bursting { mean_burst_s } else { mean_calm_s };
            // A state that never ends would hide the other; one that takes no time would loop for ever.
            self.left = exponential(rng, 1.0 / mean.clamp(0.001, 86_400.0));
        }
    }
}

/// One draw with this rate; infinite for a rate of 0.
pub(super) fn exponential(rng: &mut Rng, rate: f64) -> f64 {
    if rate > 0.0 { -(1.0 - rng.f64()).ln() / rate } else { f64::INFINITY }
}

fn seconds(s: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(s).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arrivals per second for 2000 s.
    fn counts(process: Arrivals) -> Vec<f64> {
        let mut rng = Rng::with_seed(3);
        let mut clockwork = Clockwork::new(process, &mut rng);
        let mut counts = vec![0.0; 2000];
        let mut at = 0.0;
        while let Some(gap) = clockwork.next(&mut rng) {
            at += gap.as_secs_f64();
            match counts.get_mut(at as usize) {
                Some(count) => *count += 1.0,
                None => break,
            }
        }
        counts
    }

    fn mean_and_dispersion(counts: &[f64]) -> (f64, f64) {
        let n = counts.len() as f64;
        let mean = counts.iter().sum::<f64>() / n;
        let variance = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / n;
        (mean, variance / mean)
    }

    #[test]
    fn poisson_arrivals_have_their_rate_and_no_clusters() {
        let (mean, dispersion) = mean_and_dispersion(&counts(Arrivals::Poisson { rps: 20.0 }));
        assert!((mean / 20.0 - 1.0).abs() < 0.03, "rate {mean}");
        assert!((0.85..1.15).contains(&dispersion), "index of dispersion {dispersion}");
    }

    #[test]
    fn bursts_keep_the_mean_and_cluster() {
        let bursty =
            Arrivals::Bursty { calm_rps: 10.0, burst_rps: 60.0, mean_calm_s: 8.0, mean_burst_s: 2.0 };
        let (mean, dispersion) = mean_and_dispersion(&counts(bursty));
        assert!((mean / 20.0 - 1.0).abs() < 0.15, "0.8 x 10 + 0.2 x 60, not {mean}");
        assert!(dispersion > 5.0, "index of dispersion {dispersion}");
    }

    #[test]
    fn a_rate_of_zero_never_arrives() {
        let mut rng = Rng::with_seed(1);
        for process in [
            Arrivals::Poisson { rps: 0.0 },
            Arrivals::Bursty { calm_rps: 0.0, burst_rps: 0.0, mean_calm_s: 1.0, mean_burst_s: 1.0 },
        ] {
            assert_eq!(Clockwork::new(process, &mut rng).next(&mut rng), None);
        }
    }
}
