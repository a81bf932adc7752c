//! Everything that was counted since the store was made, over all pods and their earlier lives.
//!
//! Only grows, so that the difference of two copies is what happened between them: a scene of the demo, a replay, a day.

use std::{collections::BTreeMap, time::Duration};

use hedgerow_config::state::{CellKey, CohortCounters, SpendState};
use hedgerow_policy::latency::{Counts, Curve, Decayed, Quantile};

use super::curve::{Estimate, Percentiles, Strata};
use crate::domain::counting::Counting;

/// All counters of a fleet.
#[derive(Clone, Debug, Default)]
pub struct Cumulative {
    /// By cohort; the empty name = requests in no cohort.
    pub cohorts: BTreeMap<String, CohortCumulative>,
    /// By lane.
    pub lanes: BTreeMap<String, LaneCumulative>,
    /// By route.
    pub routes: BTreeMap<String, RouteCumulative>,
    /// Money.
    pub spend: SpendState,
}

/// Counters of one cohort.
#[derive(Clone, Debug, Default)]
pub struct CohortCumulative {
    /// Requests, hedges, money.
    pub total: CohortCounters,
    /// Why timer firings sent no hedge.
    pub suppressed: BTreeMap<String, u64>,
    /// First token (streams) or complete answer as users saw it.
    pub users: Counts,
    /// The same, only of the control group.
    pub control: Counts,
    /// Primaries by cell.
    pub cells: BTreeMap<CellKey, Counts>,
}

/// Counters of one lane.
#[derive(Clone, Debug, Default)]
pub struct LaneCumulative {
    /// Admitted user actions.
    pub admitted: u64,
    /// Shed user actions by reason.
    pub shed: BTreeMap<String, u64>,
    /// Admitted user actions that ended in an error.
    pub failed: u64,
    /// Waits in the queue.
    pub wait: Counts,
}

/// Counters of one route.
#[derive(Clone, Debug, Default)]
pub struct RouteCumulative {
    /// Attempts ended, by outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// First tokens of primaries.
    pub first_token: Counts,
}

impl Counting for Counts {
    fn plus(&mut self, other: &Self) {
        self.merge(other);
    }

    fn minus(&self, earlier: &Self) -> Option<Self> {
        self.delta_since(earlier)
    }
}

impl Cumulative {
    /// What happened since `earlier`, an older copy of the same store. Anything that fell counts as nothing.
    pub fn since(&self, earlier: &Self) -> Self {
        let spend = self.spend.minus(&earlier.spend).unwrap_or_default();
        Self {
            cohorts: differences(&self.cohorts, &earlier.cohorts, CohortCumulative::since),
            lanes: differences(&self.lanes, &earlier.lanes, LaneCumulative::since),
            routes: differences(&self.routes, &earlier.routes, RouteCumulative::since),
            spend,
        }
    }

    /// First tokens as users saw them; of all cohorts and requests without one if `cohort` is `None`.
    pub fn first_token(&self, cohort: Option<&str>) -> Percentiles {
        Percentiles::of(&self.users(cohort))
    }

    /// One quantile of them, `p` from 0 to 1; `None` without a sample.
    pub fn quantile(&self, cohort: Option<&str>, p: f64) -> Option<Duration> {
        Curve::new(&self.users(cohort), &[]).quantile(p).map(Quantile::bound)
    }

    /// What first tokens would have been with primaries alone.
    pub fn without_hedging(&self, cohort: Option<&str>) -> Estimate {
        self.strata(cohort).estimate()
    }

    /// One quantile of them, `p` from 0 to 1; `None` without a sample. Beyond the last sample: its lower bound.
    pub fn quantile_without_hedging(&self, cohort: Option<&str>, p: f64) -> Option<Duration> {
        self.strata(cohort).curve().quantile(p).map(Quantile::bound)
    }

    fn users(&self, cohort: Option<&str>) -> Decayed {
        let mut users = Decayed::new();
        for (_, counted) in self.chosen(cohort) {
            users.add(&counted.users, 1.0);
        }
        users
    }

    fn strata(&self, cohort: Option<&str>) -> Strata {
        let mut strata = Strata::default();
        for (_, counted) in self.chosen(cohort) {
            for (key, counts) in &counted.cells {
                strata.add(key, &Decayed::from(counts), &[]);
            }
        }
        strata
    }

    fn chosen<'a>(
        &'a self,
        cohort: Option<&'a str>,
    ) -> impl Iterator<Item = (&'a String, &'a CohortCumulative)> {
        self.cohorts.iter().filter(move |(name, _)| cohort.is_none_or(|wanted| wanted == *name))
    }
}

impl CohortCumulative {
    /// First tokens as users saw them.
    pub fn first_token(&self) -> Percentiles {
        Percentiles::of(&Decayed::from(&self.users))
    }

    /// What they would have been with primaries alone.
    pub fn without_hedging(&self) -> Estimate {
        let mut strata = Strata::default();
        for (key, counts) in &self.cells {
            strata.add(key, &Decayed::from(counts), &[]);
        }
        strata.estimate()
    }

    /// What happened since `earlier`, an older copy of the same store. Anything that fell counts as nothing.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            total: self.total.minus(&earlier.total).unwrap_or_default(),
            suppressed: self.suppressed.minus(&earlier.suppressed).unwrap_or_default(),
            users: self.users.minus(&earlier.users).unwrap_or_default(),
            control: self.control.minus(&earlier.control).unwrap_or_default(),
            cells: differences(&self.cells, &earlier.cells, |now, then| now.minus(then).unwrap_or_default()),
        }
    }
}

impl LaneCumulative {
    fn since(&self, earlier: &Self) -> Self {
        Self {
            admitted: self.admitted.saturating_sub(earlier.admitted),
            shed: self.shed.minus(&earlier.shed).unwrap_or_default(),
            failed: self.failed.saturating_sub(earlier.failed),
            wait: self.wait.minus(&earlier.wait).unwrap_or_default(),
        }
    }
}

impl RouteCumulative {
    fn since(&self, earlier: &Self) -> Self {
        Self {
            outcomes: self.outcomes.minus(&earlier.outcomes).unwrap_or_default(),
            first_token: self.first_token.minus(&earlier.first_token).unwrap_or_default(),
        }
    }
}

fn differences<K: Ord + Clone, V: Clone>(
    now: &BTreeMap<K, V>,
    then: &BTreeMap<K, V>,
    minus: impl Fn(&V, &V) -> V,
) -> BTreeMap<K, V> {
    now.iter()
        .map(|(key, value)| {
            let difference = then.get(key).map_or_else(|| value.clone(), |earlier| minus(value, earlier));
            (key.clone(), difference)
        })
        .collect()
}
