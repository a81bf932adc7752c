//! The survival curve of a cell: Kaplan-Meier over buckets.
//!
//! `S *= 1 - e/(n - c/2); n -= e + c`, ascending: samples that are censored in a bucket were at risk for half of it (the
//! actuarial form: Berkson and Gage 1950). Kaplan and Meier let events come before censored samples, which is right for
//! exact times; in buckets it takes every loser for somebody who has survived the whole bucket, and where hedges cancel
//! many the 99th percentile came out 3 to 6 % too high. Inside a bucket the curve is linear. When the last samples are
//! all censored the curve never reaches zero; a quantile beyond its end is [`Quantile::Beyond`], never a made-up number.
//!
//! Interval: Greenwood's variance (1926), +-1.96 standard errors of the arcsine of the root of S (Borgan and Liestol 1990),
//! which keeps its promise with the ten samples at risk that a hold-out leaves above a 99th percentile. Weights count
//! as whole samples: with the memory's decay that makes intervals a quarter too wide, never too narrow.
//! `tests/coverage.rs` counts how often they hold the truth.

use std::time::Duration;

use super::bucket::{BUCKETS, bucket_of, lower_bound, upper_bound};
use super::decayed::Decayed;

/// A cell with fewer effective samples is filled up to this many from its parents.
pub const PSEUDO_SAMPLES: f64 = 100.0;
/// Standard errors of a two-sided 95 % interval of a normal distribution.
const Z_95: f64 = 1.96;

/// A quantile of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantile {
    /// Observed.
    At(Duration),
    /// At least this; the samples do not reach further.
    Beyond(Duration),
}

impl Quantile {
    /// The value, or the lower bound when that is all that is known.
    pub fn bound(self) -> Duration {
        match self {
            Self::At(value) | Self::Beyond(value) => value,
        }
    }
}

/// A quantile with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Lower end.
    pub low: Quantile,
    /// Estimate.
    pub at: Quantile,
    /// Upper end.
    pub high: Quantile,
}

/// Survival per bucket end, immutable once built.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// `survival[b]`: P(X >= upper bound of bucket b).
    survival: Box<[f64]>,
    /// Greenwood's variance of `survival`.
    variance: Box<[f64]>,
    samples: f64,
    /// Largest duration that any sample says something about.
    horizon: Duration,
}

impl Curve {
    /// The curve of one cell; `in_flight` are ages of attempts without a first token, censored as of now.
    pub fn new(cell: &Decayed, in_flight: &[Duration]) -> Self {
        Self::blended(&[cell], in_flight)
    }

    /// The curve of a cell with few samples: `levels` are the cell and its parents, nearest first; each is
    /// scaled to what is still missing to [`PSEUDO_SAMPLES`]. (Adding the parent at a fixed weight
    /// of 100 below 100 samples would jump when the hundredth arrives; filling up has the same limits and does not.)
    pub fn blended(levels: &[&Decayed], in_flight: &[Duration]) -> Self {
        let mut own = match levels.first() {
            Some(cell) => (*cell).clone(),
            None => Decayed::new(),
        };
        for age in in_flight {
            own.censored[usize::from(bucket_of(*age))] += 1.0;
        }
        let mut have = own.samples();
        for parent in levels.iter().skip(1) {
            let available = parent.samples();
            let missing = (PSEUDO_SAMPLES - have).min(available);
            if missing > 0.0 && available > 0.0 {
                own.merge(parent, missing / available);
                have += missing;
            }
        }
        Self::estimate(&own, have)
    }

    fn estimate(cell: &Decayed, samples: f64) -> Self {
        let mut survival = vec![0.0; BUCKETS].into_boxed_slice();
        let mut variance = vec![0.0; BUCKETS].into_boxed_slice();
        let (mut at_risk, mut s, mut greenwood, mut spread, mut last) = (samples, 1.0, 0.0, 0.0, 0);
        for bucket in 0..BUCKETS {
            let (events, censored) = (cell.events[bucket], cell.censored[bucket]);
            if events > 0.0 {
                // Rounding may leave a little less at risk than there are events: never below zero.
                let exposed = (at_risk - censored / 2.0).max(events);
                let left = exposed - events;
                s *= left / exposed;
                // At its end the curve is known no better than just before it.
                if left > 0.0 {
                    greenwood += events / (exposed * left);
                    spread = s * s * greenwood;
                }
            }
            if events > 0.0 || censored > 0.0 {
                last = bucket;
            }
            at_risk = (at_risk - events - censored).max(0.0);
            if at_risk < samples * 1e-12 {
                at_risk = 0.0;
            }
            survival[bucket] = s;
            variance[bucket] = spread;
        }
        let horizon = if samples > 0.0 { upper_bound(last as u16) } else { Duration::ZERO };
        Self { survival, variance, samples, horizon }
    }

    /// The curve of a mixture of populations with known shares: `S = sum(w S) / sum(w)`, variances by the same
    /// weights. For routes of different speed, where pooling censored samples would be biased because the
    /// censoring depends on the route. Parts of weight 0 or without samples are left out.
    pub fn mixed(parts: &[(f64, &Self)]) -> Self {
        let parts = || parts.iter().filter(|(weight, curve)| *weight > 0.0 && curve.samples > 0.0);
        let weight: f64 = parts().map(|(weight, _)| weight).sum();
        let mut mixed = Self::estimate(&Decayed::new(), 0.0);
        for bucket in 0..BUCKETS {
            let share =
                |f: &dyn Fn(f64, &Self) -> f64| parts().map(|(w, curve)| f(w / weight, curve)).sum::<f64>();
            if weight > 0.0 {
                mixed.survival[bucket] = share(&|w, curve| w * curve.survival[bucket]);
                // Variances of independent parts add up.
                mixed.variance[bucket] = share(&|w, curve| w * w * curve.variance[bucket]);
            }
        }
        mixed.samples = parts().map(|(_, curve)| curve.samples).sum();
        mixed.horizon = parts().map(|(_, curve)| curve.horizon).max().unwrap_or(Duration::ZERO);
        mixed
    }

    /// The duration below which a share `p` (0..1) of attempts get their first token; `None` without samples.
    pub fn quantile(&self, p: f64) -> Option<Quantile> {
        (self.samples > 0.0).then(|| self.reach(1.0 - p.clamp(0.0, 1.0), |bucket| self.survival[bucket]))
    }

    /// P(first token later than `t`), 1 without samples; beyond the last sample the last known value.
    pub fn survival(&self, t: Duration) -> f64 {
        let bucket = usize::from(bucket_of(t));
        let (before, after) = (self.before(bucket), self.survival[bucket]);
        let (low, high) = (lower_bound(bucket as u16), upper_bound(bucket as u16));
        if high == Duration::MAX {
            return before;
        }
        let inside = t.saturating_sub(low).as_secs_f64() / high.saturating_sub(low).as_secs_f64();
        before + (after - before) * inside
    }

    /// Effective number of samples, those of parents and in flight included.
    pub fn effective_samples(&self) -> f64 {
        self.samples
    }

    /// The quantile with its 95 % interval; `None` without samples.
    pub fn interval(&self, p: f64) -> Option<Interval> {
        let at = self.quantile(p)?;
        let target = 1.0 - p.clamp(0.0, 1.0);
        let low = self.reach(target, |bucket| self.bounds(bucket).map_or(0.0, |bounds| bounds.0));
        // Where the curve has ended nothing says how much further it could go: its upper bound stays.
        let mut upper = 1.0_f64;
        let high = self.reach(target, |bucket| {
            upper = self.bounds(bucket).map_or(upper, |bounds| bounds.1.min(upper));
            upper
        });
        Some(Interval { low, at, high })
    }

    /// 95 % bounds of the survival at the end of a bucket; `None` where the curve has ended.
    fn bounds(&self, bucket: usize) -> Option<(f64, f64)> {
        let s = self.survival[bucket].min(1.0);
        if s <= 0.0 {
            return None;
        }
        if s >= 1.0 {
            return Some((1.0, 1.0));
        }
        let middle = s.sqrt().asin();
        let error = Z_95 * self.variance[bucket].sqrt() / (2.0 * (s * (1.0 - s)).sqrt());
        let at = |angle: f64| angle.clamp(0.0, std::f64::consts::FRAC_PI_2).sin().powi(2);
        Some((at(middle - error), at(middle + error)))
    }

    /// Survival at the start of a bucket.
    pub(super) fn before(&self, bucket: usize) -> f64 {
        bucket.checked_sub(1).map_or(1.0, |previous| self.survival[previous])
    }

    /// Survival at the end of a bucket.
    pub(super) fn after(&self, bucket: usize) -> f64 {
        self.survival[bucket]
    }

    /// Where `curve` first falls to `target`.
    fn reach(&self, target: f64, mut curve: impl FnMut(usize) -> f64) -> Quantile {
        let mut before = 1.0;
        for bucket in 0..BUCKETS {
            let after = curve(bucket);
            // A hair of tolerance: 1 - 0.95 is not exactly 0.05.
            if after <= target + 1e-12 {
                let (low, high) = (lower_bound(bucket as u16), upper_bound(bucket as u16));
                if high == Duration::MAX {
                    return Quantile::Beyond(low);
                }
                let drop = before - after;
                let inside = if drop > 0.0 { ((before - target) / drop).clamp(0.0, 1.0) } else { 0.0 };
                return Quantile::At(low + high.saturating_sub(low).mul_f64(inside));
            }
            before = after;
        }
        Quantile::Beyond(self.horizon.min(lower_bound(BUCKETS as u16 - 1)))
    }
}
