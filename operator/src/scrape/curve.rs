//! First-token figures: what users saw, and what primaries alone would have given.
//!
//! The second is Kaplan-Meier on primaries (a primary that lost to its hedge is right-censored at that moment). Curves are
//! made per route and kind of answer, then mixed by use: pooling them would be wrong, because a slow route's primaries are
//! censored much more often than a fast one's, so the samples left at risk in the pool would be the fast ones.
//! Decay and estimator: `hedgerow_policy::latency`.

use std::{collections::BTreeMap, time::Duration};

use hedgerow_config::state::CellKey;
use hedgerow_policy::latency::{Curve, Decayed, Quantile};

/// Percentiles of first tokens (streams) or complete answers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Percentiles {
    /// Median; `None` = no sample.
    pub p50: Option<Duration>,
    /// 95 % are faster.
    pub p95: Option<Duration>,
    /// 99 % are faster.
    pub p99: Option<Duration>,
    /// Lower end of the 95 % interval of `p99`.
    pub p99_low: Option<Duration>,
    /// Effective number of samples.
    pub samples: f64,
}

/// Percentiles that primaries alone would have given. A value beyond the last sample is its lower bound.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Median; `None` = no sample.
    pub p50: Option<Duration>,
    /// 95 % are faster.
    pub p95: Option<Duration>,
    /// 99 % are faster.
    pub p99: Option<Duration>,
    /// Lower end of the 95 % interval of `p99`.
    pub p99_low: Option<Duration>,
    /// Upper end of the 95 % interval of `p99`.
    pub p99_high: Option<Duration>,
    /// Effective number of samples.
    pub samples: f64,
}

impl Percentiles {
    /// Of uncensored samples.
    pub fn of(users: &Decayed) -> Self {
        let curve = Curve::new(users, &[]);
        let at = |p| curve.quantile(p).map(Quantile::bound);
        Self {
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            p99_low: curve.interval(0.99).map(|interval| interval.low.bound()),
            samples: curve.effective_samples(),
        }
    }
}

/// Cells on their way to one estimate, by route and kind of answer.
#[derive(Default)]
pub(super) struct Strata {
    parts: BTreeMap<(String, bool), (Decayed, Vec<Duration>)>,
}

impl Strata {
    /// Adds a cell's primaries; `in_flight` are ages of those without a first token yet.
    pub(super) fn add(&mut self, key: &CellKey, primaries: &Decayed, in_flight: &[Duration]) {
        let part = self.parts.entry((key.route.clone(), key.stream)).or_default();
        part.0.merge(primaries, 1.0);
        part.1.extend_from_slice(in_flight);
    }

    /// The mixture, every stratum weighted by its samples.
    pub(super) fn curve(&self) -> Curve {
        let curves: Vec<Curve> = self.parts.values().map(|(cell, ages)| Curve::new(cell, ages)).collect();
        let parts: Vec<(f64, &Curve)> =
            curves.iter().map(|curve| (curve.effective_samples(), curve)).collect();
        Curve::mixed(&parts)
    }

    /// One curve for each route.
    pub(super) fn routes(&self) -> Vec<(String, Curve)> {
        let mut routes: BTreeMap<&str, Vec<Curve>> = BTreeMap::new();
        for ((route, _), (cell, ages)) in &self.parts {
            routes.entry(route).or_default().push(Curve::new(cell, ages));
        }
        let mixed = |curves: &[Curve]| {
            let parts: Vec<(f64, &Curve)> =
                curves.iter().map(|curve| (curve.effective_samples(), curve)).collect();
            Curve::mixed(&parts)
        };
        routes.into_iter().map(|(route, curves)| (route.to_owned(), mixed(&curves))).collect()
    }

    /// Its percentiles.
    pub(super) fn estimate(&self) -> Estimate {
        let mixed = self.curve();
        let at = |p| mixed.quantile(p).map(Quantile::bound);
        let interval = mixed.interval(0.99);
        Estimate {
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            p99_low: interval.map(|interval| interval.low.bound()),
            p99_high: interval.map(|interval| interval.high.bound()),
            samples: mixed.effective_samples(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hedgerow_policy::latency::Counts;

    fn key(route: &str) -> CellKey {
        CellKey { cohort: "chat".into(), route: route.into(), model: "m".into(), stream: true, band: 0 }
    }

    fn cell(events: &[(u64, u64)], censored: &[(u64, u64)]) -> Decayed {
        let mut counts = Counts::new();
        for (millis, times) in events {
            (0..*times).for_each(|_| counts.event(Duration::from_millis(*millis)));
        }
        for (millis, times) in censored {
            (0..*times).for_each(|_| counts.censor(Duration::from_millis(*millis)));
        }
        Decayed::from(&counts)
    }

    #[test]
    fn a_slow_route_whose_primaries_lose_to_hedges_is_still_in_the_estimate() {
        // East answers in 1 s. West takes 9 s; nine of ten of its primaries are cut off by a hedge that won at 3 s.
        let mut strata = Strata::default();
        strata.add(&key("east"), &cell(&[(1_000, 800)], &[]), &[]);
        strata.add(&key("west"), &cell(&[(9_000, 20)], &[(3_000, 180)]), &[]);
        let estimate = strata.estimate();
        assert!(estimate.p50.unwrap() < Duration::from_millis(1_100), "{estimate:?}");
        // A fifth of the requests goes west, so without hedging the 95th percentile is a western answer.
        assert!(estimate.p95.unwrap() > Duration::from_secs(8), "{estimate:?}");
        assert!(estimate.p99_low <= estimate.p99 && estimate.p99 <= estimate.p99_high, "{estimate:?}");
        assert!((estimate.samples - 1_000.0).abs() < 1e-6);
    }

    #[test]
    fn requests_in_flight_are_samples_too_else_a_stalled_route_would_have_none() {
        let mut strata = Strata::default();
        strata.add(&key("east"), &cell(&[(500, 90)], &[]), &[]);
        strata.add(&key("west"), &cell(&[], &[]), &[Duration::from_secs(20); 10]);
        let estimate = strata.estimate();
        assert!(estimate.p95.unwrap() > Duration::from_secs(19), "{estimate:?}");
    }

    #[test]
    fn no_sample_is_no_figure() {
        assert_eq!(Strata::default().estimate(), Estimate::default());
        assert_eq!(Percentiles::of(&Decayed::new()), Percentiles::default());
    }
}
