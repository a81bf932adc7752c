//! Metric families with a bounded number of series, and handles that are resolved once.
//!
//! Why: looking a handle up costs 173 ns, using one 10 (`data-plane-experiments` E13), and a family without a bound
//! grows with whatever a client can name. Invariant: at most [`MAX_SERIES`] label sets per family; the rest shares one
//! in which every value that can vary is `other`.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use prometheus_client::{
    metrics::{
        TypedMetric,
        family::{Family, MetricConstructor},
    },
    registry::Metric,
};

/// Label sets per family: 100 routes, cohorts and lanes with their closed lists of outcomes, and room.
const MAX_SERIES: usize = 10_000;
const OTHER: &str = "other";

/// Label names and values.
pub(super) type Labels = Vec<(&'static str, Arc<str>)>;

/// A family of `M`, bounded.
pub(super) struct Bounded<M, C = fn() -> M> {
    family: Family<Labels, M, C>,
    series: Arc<AtomicUsize>,
}

impl<M: Clone, C: Clone> Clone for Bounded<M, C> {
    fn clone(&self) -> Self {
        Self { family: self.family.clone(), series: self.series.clone() }
    }
}

impl<M, C> Bounded<M, C>
where
    M: Metric + TypedMetric + Clone,
    C: MetricConstructor<M> + Clone + Send + Sync + 'static,
{
    pub(super) fn new(constructor: C) -> Self {
        Self { family: Family::new_with_constructor(constructor), series: Arc::default() }
    }

    /// The family as the registry wants it.
    pub(super) fn family(&self) -> Family<Labels, M, C> {
        self.family.clone()
    }

    /// Takes the series of these labels away: what it said is not known any more.
    pub(super) fn forget(&self, labels: &[(&'static str, &str)]) {
        if self.family.remove(&owned(labels)) {
            self.series.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The series of these labels.
    pub(super) fn with(&self, labels: &[(&'static str, &str)]) -> M {
        let labels = owned(labels);
        if let Some(known) = self.family.get(&labels) {
            return known.clone();
        }
        let more = |series| (series < MAX_SERIES).then_some(series + 1);
        if self.series.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok() {
            self.family.get_or_create_owned(&labels)
        } else {
            let rest: Labels = labels.into_iter().map(|(name, _)| (name, Arc::from(OTHER))).collect();
            self.family.get_or_create_owned(&rest)
        }
    }
}

fn owned(labels: &[(&'static str, &str)]) -> Labels {
    labels.iter().map(|(name, text)| (*name, Arc::from(*text))).collect()
}

/// Handles over a closed list, each resolved when it is first used, so that what never happens makes no series.
pub(super) struct Slots<M, const N: usize> {
    slots: [OnceLock<M>; N],
    resolve: Box<dyn Fn(usize) -> M + Send + Sync>,
}

impl<M, const N: usize> Slots<M, N> {
    pub(super) fn new(resolve: impl Fn(usize) -> M + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { slots: [const { OnceLock::new() }; N], resolve: Box::new(resolve) })
    }

    /// The handle of the `at`th member of the list.
    pub(super) fn get(&self, at: usize) -> &M {
        self.slots[at].get_or_init(|| (self.resolve)(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::metrics::counter::Counter;

    #[test]
    fn what_is_beyond_the_bound_is_counted_as_other() {
        let family: Bounded<Counter> = Bounded::new(Counter::default as fn() -> Counter);
        for number in 0..MAX_SERIES + 5 {
            family.with(&[("route", &number.to_string())]).inc();
        }
        assert_eq!(family.with(&[("route", OTHER)]).get(), 5);
        assert_eq!(family.with(&[("route", "7")]).get(), 1);
        for _ in 0..2 {
            family.forget(&[("route", "7")]);
        }
        // Its place, and no more, is free again.
        family.with(&[("route", "new")]).inc();
        assert_eq!(family.with(&[("route", "new")]).get(), 1);
        family.with(&[("route", "newer")]).inc();
        assert_eq!(family.with(&[("route", OTHER)]).get(), 6);
    }
}
