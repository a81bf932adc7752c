//! When a status is worth a write: what people and machines act on at once, figures only now and then, and only where a
//! reader would see another figure ([`alike`]).

use std::time::Duration;

use hedgerow_crds::v1alpha1::{
    GatewayFleetStatus, HedgePolicyStatus, PriorityLaneStatus, ProviderRouteStatus,
};
use hedgerow_policy::time::Moment;
use serde::Serialize;

use super::alike::alike;

/// A status of which a part must not wait.
pub trait Decisive: PartialEq + Clone {
    /// The same with everything left out that may wait.
    #[must_use]
    fn decisive(&self) -> Self;
}

/// Whether to write `new` over `old`, which was written at `written`: at once if anything decisive changed, else when a
/// rounded figure changed and `figures_every` has passed.
pub fn due<S: Decisive + Serialize>(
    old: Option<(&S, Moment)>,
    new: &S,
    figures_every: Duration,
    now: Moment,
) -> bool {
    match old {
        None => true,
        Some((old, _)) if old == new => false,
        Some((old, _)) if old.decisive() != new.decisive() => true,
        Some((old, written)) => now.since(written) >= figures_every && !alike(old, new),
    }
}

impl Decisive for HedgePolicyStatus {
    fn decisive(&self) -> Self {
        let cohorts = self.cohorts.iter().map(|cohort| {
            let mut kept = cohort.clone();
            kept.delays.clear();
            kept.not_hedged.clear();
            kept.recommendation.clear();
            kept.duplicate_per_mille = None;
            kept.extra_spend_per_mille = None;
            kept.lost_race_per_mille = None;
            kept.win_per_mille = None;
            kept.late_per_mille = None;
            kept.deadline_miss_per_mille = None;
            kept.objective_met = None;
            kept.first_token = None;
            kept.without_hedging = None;
            kept.extra_today_micros = None;
            kept.diagnosis = None;
            kept
        });
        Self { cohorts: cohorts.collect(), summary: None, spend: None, ..self.clone() }
    }
}

impl Decisive for ProviderRouteStatus {
    fn decisive(&self) -> Self {
        Self { summary: None, observed: None, ..self.clone() }
    }
}

impl Decisive for PriorityLaneStatus {
    fn decisive(&self) -> Self {
        Self { summary: None, observed: None, warm_start: None, ..self.clone() }
    }
}

impl Decisive for GatewayFleetStatus {
    fn decisive(&self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hedgerow_crds::v1alpha1::hedge_policy::{CohortState, CohortStatus};

    fn status(state: CohortState, duplicates: i32) -> HedgePolicyStatus {
        let mut cohort: CohortStatus = serde_json::from_str(r#"{"name":"chat"}"#).unwrap();
        cohort.state = state;
        cohort.duplicate_per_mille = Some(duplicates);
        HedgePolicyStatus { cohorts: vec![cohort], ..HedgePolicyStatus::default() }
    }

    #[test]
    fn states_are_written_at_once_and_figures_now_and_then() {
        let (written, minute) = (Moment::from_secs(100), Duration::from_mins(1));
        let old = status(CohortState::Active, 45);
        let due_at = |new: &HedgePolicyStatus, seconds| {
            due(Some((&old, written)), new, minute, written + Duration::from_secs(seconds))
        };
        assert!(due(None, &old, minute, written), "the first one");
        assert!(!due_at(&old, 3_600), "nothing changed");
        assert!(!due_at(&status(CohortState::Active, 46), 59), "a figure may wait");
        assert!(due_at(&status(CohortState::Active, 46), 60), "but not for ever");
        assert!(due_at(&status(CohortState::Suspended, 46), 1), "a state may not");
    }

    #[test]
    fn a_figure_that_reads_the_same_is_never_worth_a_write() {
        let (written, minute) = (Moment::from_secs(100), Duration::from_mins(1));
        let old = status(CohortState::Active, 451);
        let due_after_an_hour = |duplicates| {
            let new = status(CohortState::Active, duplicates);
            due(Some((&old, written)), &new, minute, written + Duration::from_hours(1))
        };
        assert!(!due_after_an_hour(454), "45 % before and after");
        assert!(due_after_an_hour(456), "46 %");
    }
}
