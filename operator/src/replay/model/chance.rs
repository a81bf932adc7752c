//! Distributions and draws. Everything that is random in a replay comes from here and from a seed.
//!
//! Each user action and attempt draws from a generator of its own, seeded by (seed, what, number). So two arms of one
//! scenario meet the same arrivals, the same prompts and the same providers (common random numbers), and differ by what
//! they decide and by nothing else.

use std::time::Duration;

use fastrand::Rng;

/// What a generator is for; each purpose is an independent stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Gaps between arrivals of one traffic class.
    Arrivals,
    /// What an action asks for, and its first attempt.
    Action,
    /// Its second attempt and later ones.
    Later,
    /// Back-off of clients.
    Client,
    /// Whatever a pod draws.
    Pod,
}

/// The generator of one purpose and number.
pub fn stream(seed: u64, stream: Stream, number: u64) -> Rng {
    Rng::with_seed(spread(seed ^ spread(number.wrapping_mul(8) + stream as u64)))
}

/// Spreads neighbouring numbers over 64 bits (splitmix64's finaliser, Steele, Lea, Flood 2014).
fn spread(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A distribution of times in seconds.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Always this.
    Fixed(f64),
    /// `exp(N(ln median, sigma))`.
    Lognormal {
        /// Half of the draws are shorter.
        median: f64,
        /// Width.
        sigma: f64,
    },
    /// `least (1 - u)^(-1 / alpha)`, cut at 300 s.
    Pareto {
        /// Shortest time.
        least: f64,
        /// Tail index; smaller is heavier.
        alpha: f64,
    },
    /// `rare` with probability `share`, else `usual`.
    Mix {
        /// The usual one.
        usual: Box<Shape>,
        /// Stragglers.
        rare: Box<Shape>,
        /// Probability of a straggler.
        share: f64,
    },
}

/// Longest time that is drawn.
const LONGEST: f64 = 300.0;

impl Shape {
    /// A lognormal.
    pub const fn lognormal(median: f64, sigma: f64) -> Self {
        Self::Lognormal { median, sigma }
    }

    /// Mostly this, a `share` of the draws from `rare`.
    pub fn with_rare(self, share: f64, rare: Self) -> Self {
        Self::Mix { usual: Box::new(self), rare: Box::new(rare), share }
    }

    /// One draw in seconds, 0 to 300.
    pub fn draw(&self, rng: &mut Rng) -> f64 {
        let drawn = match self {
            Self::Fixed(seconds) => *seconds,
            Self::Lognormal { median, sigma } => median * (sigma * normal(rng)).exp(),
            Self::Pareto { least, alpha } => least * (1.0 - rng.f64()).powf(-1.0 / alpha),
            Self::Mix { usual, rare, share } => {
                if rng.f64() < *share {
                    rare.draw(rng)
                } else {
                    usual.draw(rng)
                }
            }
        };
        drawn.clamp(0.0, LONGEST)
    }

    /// P(a draw is longer than `seconds`), exact up to the approximation of the normal tail (1e-7).
    pub fn survival(&self, seconds: f64) -> f64 {
        match self {
            Self::Fixed(at) => f64::from(u8::from(seconds < *at)),
            Self::Lognormal { median, sigma } => {
                if seconds <= 0.0 {
                    1.0
                } else {
                    upper_tail((seconds / median).ln() / sigma)
                }
            }
            Self::Pareto { least, alpha } => {
                if seconds <= *least {
                    1.0
                } else {
                    (least / seconds).powf(*alpha)
                }
            }
            Self::Mix { usual, rare, share } => {
                (1.0 - share) * usual.survival(seconds) + share * rare.survival(seconds)
            }
        }
    }

    /// The time that a share `p` of the draws does not pass.
    pub fn quantile(&self, p: f64) -> f64 {
        bisect(|t| self.survival(t) <= 1.0 - p)
    }
}

/// The smallest time in 0..=300 s for which `reached` is true, to 0.1 ms; it must stay true once it is.
pub fn bisect(reached: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, LONGEST);
    while high - low > 1e-4 {
        let middle = f64::midpoint(low, high);
        if reached(middle) { high = middle } else { low = middle }
    }
    high
}

/// P(a standard normal is above `z`): Abramowitz and Stegun 26.2.17, error below 7.5e-8.
fn upper_tail(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let poly = t
        * (0.319_381_530
            + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    let tail = (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt() * poly;
    if z >= 0.0 { tail } else { 1.0 - tail }
}

/// One standard normal draw (Box and Muller 1958).
fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.f64()).cos()
}

/// One draw in seconds with this rate a second; 0 or less never comes.
pub fn exponential(rng: &mut Rng, rate: f64) -> f64 {
    if rate > 0.0 { -(1.0 - rng.f64()).ln() / rate } else { f64::INFINITY }
}

/// Seconds as a duration: nonsense is zero, everything is cut at ten years.
pub fn seconds(s: f64) -> Duration {
    Duration::try_from_secs_f64(s.clamp(0.0, 315_360_000.0)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes() -> [Shape; 4] {
        [
            Shape::lognormal(0.6, 0.6),
            Shape::lognormal(0.6, 0.5).with_rare(0.05, Shape::lognormal(6.0, 0.3)),
            Shape::Pareto { least: 0.4, alpha: 1.8 },
            Shape::Fixed(2.0),
        ]
    }

    #[test]
    fn draws_follow_the_survival_that_is_claimed() {
        for shape in shapes() {
            let mut rng = Rng::with_seed(3);
            let draws: Vec<f64> = (0..40_000).map(|_| shape.draw(&mut rng)).collect();
            for p in [0.5, 0.9, 0.99] {
                let at = shape.quantile(p);
                let below = draws.iter().filter(|drawn| **drawn <= at + 1e-3).count() as f64 / 40_000.0;
                let step = matches!(shape, Shape::Fixed(_));
                assert!(step || (below - p).abs() < 0.008, "{shape:?} at {p}: {below}");
            }
        }
    }

    #[test]
    fn streams_repeat_and_differ() {
        let first = |what, number| stream(7, what, number).u64(..);
        assert_eq!(first(Stream::Action, 3), first(Stream::Action, 3));
        assert_ne!(first(Stream::Action, 3), first(Stream::Action, 4));
        assert_ne!(first(Stream::Action, 3), first(Stream::Later, 3));
        assert_ne!(first(Stream::Action, 3), stream(8, Stream::Action, 3).u64(..));
    }
}
