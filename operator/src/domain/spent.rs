//! What attempts have cost, in exact integers: sums of pods, days and policies add up without rounding.

use hedgerow_config::{money::Picos, state::CohortCounters};
use serde::{Deserialize, Serialize};

/// Money of one cohort, a subset of its counters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spent {
    /// Cost of primaries and hedges.
    pub cost: Picos,
    /// Estimated cost of the primaries alone.
    pub without: Picos,
    /// Cost of losers.
    pub lost: Picos,
    /// Cost of retries.
    pub retries: Picos,
    /// Part of `cost` whose basis is not exact.
    pub estimated: Picos,
}

impl Spent {
    /// Whether nothing was.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl From<&CohortCounters> for Spent {
    fn from(counters: &CohortCounters) -> Self {
        Self {
            cost: counters.cost,
            without: counters.cost_without,
            lost: counters.cost_lost,
            retries: counters.cost_retries,
            estimated: counters.cost_estimated,
        }
    }
}
