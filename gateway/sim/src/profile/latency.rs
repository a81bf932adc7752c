//! Distributions of a duration, drawn per request.
//!
//! In: a distribution and a random number generator. Out: one duration, never longer than [`LONGEST`].
//! Lognormal is the body of measured first-token times, two modes are the independent stragglers of "The Tail
//! at Scale", and a floor is a region that answers, but never sooner than some seconds.

use std::time::Duration;

use fastrand::Rng;
use serde::{Deserialize, Serialize};

/// No draw is longer than this; "for ever" is a [`Fault`](super::Fault), not a long latency.
pub const LONGEST: Duration = Duration::from_hours(1);

/// How long something takes. All times in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Latency {
    /// Always the same.
    Fixed {
        /// The time.
        ms: f64,
    },
    /// Equally likely between two bounds.
    Uniform {
        /// Lower bound.
        min_ms: f64,
        /// Upper bound.
        max_ms: f64,
    },
    /// `exp(N(ln medianMs, sigma))`.
    Lognormal {
        /// Half of the draws are shorter.
        median_ms: f64,
        /// Width; 0.3 is narrow, 1.0 has a heavy tail.
        sigma: f64,
    },
    /// Mostly `fast`, `slowPercent` of the draws from `slow`.
    TwoModes {
        /// The usual distribution.
        fast: Box<Latency>,
        /// The stragglers.
        slow: Box<Latency>,
        /// Share of stragglers, 0 to 100.
        slow_percent: f64,
    },
    /// `of`, but at least `ms`.
    Floor {
        /// The shortest possible time.
        ms: f64,
        /// The distribution below which the floor is drawn.
        of: Box<Latency>,
    },
}

impl Latency {
    /// A fixed time of `ms` milliseconds.
    pub fn fixed(ms: f64) -> Self {
        Self::Fixed { ms }
    }

    /// A lognormal with this median in milliseconds and this sigma.
    pub fn lognormal(median_ms: f64, sigma: f64) -> Self {
        Self::Lognormal { median_ms, sigma }
    }

    /// This distribution with `percent` of the draws `times` as long.
    pub fn with_stragglers(self, percent: f64, times: f64) -> Self {
        let slow = Box::new(self.scaled(times));
        Self::TwoModes { fast: Box::new(self), slow, slow_percent: percent }
    }

    /// This distribution, never below `ms` milliseconds.
    pub fn with_floor(self, ms: f64) -> Self {
        Self::Floor { ms, of: Box::new(self) }
    }

    /// This distribution with every draw multiplied by `times`.
    pub fn scaled(&self, times: f64) -> Self {
        match self {
            Self::Fixed { ms } => Self::Fixed { ms: ms * times },
            Self::Uniform { min_ms, max_ms } => {
                Self::Uniform { min_ms: min_ms * times, max_ms: max_ms * times }
            }
            Self::Lognormal { median_ms, sigma } => {
                Self::Lognormal { median_ms: median_ms * times, sigma: *sigma }
            }
            Self::TwoModes { fast, slow, slow_percent } => Self::TwoModes {
                fast: Box::new(fast.scaled(times)),
                slow: Box::new(slow.scaled(times)),
                slow_percent: *slow_percent,
            },
            Self::Floor { ms, of } => Self::Floor { ms: ms * times, of: Box::new(of.scaled(times)) },
        }
    }

    /// One draw.
    pub fn draw(&self, rng: &mut Rng) -> Duration {
        millis(self.draw_ms(rng))
    }

    fn draw_ms(&self, rng: &mut Rng) -> f64 {
        match self {
            Self::Fixed { ms } => *ms,
            Self::Uniform { min_ms, max_ms } => min_ms + (max_ms - min_ms) * rng.f64(),
            Self::Lognormal { median_ms, sigma } => median_ms * (sigma * normal(rng)).exp(),
            Self::TwoModes { fast, slow, slow_percent } => {
                if percent(rng, *slow_percent) {
                    slow.draw_ms(rng)
                } else {
                    fast.draw_ms(rng)
                }
            }
            Self::Floor { ms, of } => of.draw_ms(rng).max(*ms),
        }
    }
}

/// Whether an event of `percent` (0 to 100) happens in this draw.
pub(crate) fn percent(rng: &mut Rng, percent: f64) -> bool {
    rng.f64() * 100.0 < percent
}

/// Milliseconds as a duration: not a number and negative are zero, everything is cut at [`LONGEST`].
pub(crate) fn millis(ms: f64) -> Duration {
    Duration::try_from_secs_f64(ms.max(0.0) / 1000.0).map_or(LONGEST, |d| d.min(LONGEST))
}

/// One standard normal draw (Box and Muller 1958).
fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.f64()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(latency: &Latency, draws: usize) -> Vec<f64> {
        let mut rng = Rng::with_seed(7);
        let mut all: Vec<f64> = (0..draws).map(|_| latency.draw(&mut rng).as_secs_f64() * 1000.0).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    #[test]
    fn a_lognormal_has_its_median_and_its_tail() {
        let all = sorted(&Latency::lognormal(600.0, 0.5), 20_000);
        assert!((all[10_000] / 600.0 - 1.0).abs() < 0.03, "median {}", all[10_000]);
        let p99 = 600.0 * (0.5_f64 * 2.326).exp();
        assert!((all[19_800] / p99 - 1.0).abs() < 0.08, "p99 {} against {p99}", all[19_800]);
    }

    #[test]
    fn stragglers_are_as_many_and_as_slow_as_asked() {
        let all = sorted(&Latency::fixed(100.0).with_stragglers(4.0, 8.0), 20_000);
        let slow = all.iter().filter(|ms| (**ms - 800.0).abs() < 0.01).count();
        assert!((700..900).contains(&slow), "{slow} of 20000 were slow");
        assert!(all.iter().all(|ms| (ms - 100.0).abs() < 0.01 || (ms - 800.0).abs() < 0.01));
    }

    #[test]
    fn a_floor_lifts_only_what_is_below_it() {
        let all = sorted(&Latency::Uniform { min_ms: 0.0, max_ms: 200.0 }.with_floor(100.0), 10_000);
        assert!(all[0] >= 100.0 && all[4_900] <= 100.01, "half of the draws sit on the floor");
        assert!(all[9_999] > 195.0);
    }

    #[test]
    fn the_same_seed_draws_the_same() {
        assert_eq!(sorted(&Latency::lognormal(5.0, 1.0), 50), sorted(&Latency::lognormal(5.0, 1.0), 50));
    }

    #[test]
    fn nonsense_is_bounded() {
        assert_eq!(millis(f64::NAN), Duration::ZERO);
        assert_eq!(millis(-3.0), Duration::ZERO);
        assert_eq!(millis(f64::INFINITY), LONGEST);
    }
}
