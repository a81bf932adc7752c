//! Whether hedging is worth it for a cohort, and why its tail is slow.
//!
//! Inputs: recent curves of its routes' primaries (Kaplan-Meier, merged over pods from buckets), what its hedges have cost
//! and won. Outputs: what other delays would do, and one finding. Everything is a prediction from what was measured, with
//! the policy crate's own arithmetic; without enough samples nothing is said.

mod diagnosis;
mod recommendation;

use hedgerow_policy::latency::Curve;

pub use diagnosis::{Lengths, Signs, diagnose};
pub use recommendation::{Terms, recommend};

/// Samples below which a curve says nothing about its tail.
const SAMPLES: f64 = 200.0;

/// The primaries of a cohort, route by route.
#[derive(Clone, Debug, Default)]
pub struct Tail {
    routes: Vec<(String, Curve)>,
}

impl Tail {
    /// Curves by route; those without a sample are left out.
    pub fn new(routes: impl IntoIterator<Item = (String, Curve)>) -> Self {
        Self { routes: routes.into_iter().filter(|(_, curve)| curve.effective_samples() > 0.0).collect() }
    }

    /// All requests together, if there are enough.
    fn all(&self) -> Option<Curve> {
        let parts: Vec<(f64, &Curve)> =
            self.routes.iter().map(|(_, curve)| (curve.effective_samples(), curve)).collect();
        let all = Curve::mixed(&parts);
        (all.effective_samples() >= SAMPLES).then_some(all)
    }

    /// Where a hedge would go: the route with the lowest 95th percentile of several.
    fn alternate(&self) -> Option<&Curve> {
        let p95 = |curve: &Curve| curve.quantile(0.95).map(hedgerow_policy::latency::Quantile::bound);
        let (_, best) = self.routes.iter().min_by_key(|(_, curve)| p95(curve))?;
        (self.routes.len() > 1).then_some(best)
    }
}

#[cfg(test)]
mod fixture {
    use std::time::Duration;

    use hedgerow_policy::latency::{Counts, Curve, Decayed};

    /// A curve of so many samples at each of these milliseconds.
    pub(super) fn curve(samples: &[(u64, u64)]) -> Curve {
        let mut counts = Counts::new();
        for (millis, times) in samples {
            (0..*times).for_each(|_| counts.event(Duration::from_millis(*millis)));
        }
        Curve::new(&Decayed::from(&counts), &[])
    }
}
