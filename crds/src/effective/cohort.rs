//! A cohort with the policy's values and its own defaults.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    text::CohortName,
    units::{DurationText, Percent},
    v1alpha1::hedge_policy::{Cohort, HedgePolicySpec, Mode},
};

/// Every matching request is enrolled unless the cohort says otherwise.
const SHARE_PERCENT: Percent = 100;
/// The share of requests that must meet an objective unless it says otherwise.
const OBJECTIVE_PERCENT: Percent = 99;

/// The values of a cohort in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EffectiveCohort {
    /// Name of the cohort.
    pub name: CohortName,
    /// Disabled, Observe or Enforce, suspension of the policy or the cohort included.
    pub mode: Mode,
    /// Share of matching requests that is enrolled, in percent.
    #[schemars(range(min = 0, max = 100))]
    pub share_percent: Percent,
    /// Whether requests that mostly read the provider's prompt cache are hedged.
    pub hedge_warm_cache: bool,
    /// What the users need; absent = no objective.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<EffectiveObjective>,
}

/// An objective in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EffectiveObjective {
    /// First token within this time.
    pub first_token: DurationText,
    /// Share of requests that must meet it, in percent.
    #[schemars(range(min = 1, max = 100))]
    pub percent: Percent,
}

/// The values of one cohort of a policy.
pub fn cohort(policy: &HedgePolicySpec, cohort: &Cohort) -> EffectiveCohort {
    let suspended = policy.suspend || cohort.suspend.unwrap_or(false);
    EffectiveCohort {
        name: cohort.name.clone(),
        mode: if suspended { Mode::Disabled } else { cohort.mode.unwrap_or(policy.mode) },
        share_percent: cohort.share_percent.unwrap_or(SHARE_PERCENT),
        hedge_warm_cache: cohort.hedge_warm_cache.unwrap_or(false),
        objective: cohort.objective.as_ref().map(|objective| EffectiveObjective {
            first_token: objective.first_token.clone(),
            percent: objective.percent.unwrap_or(OBJECTIVE_PERCENT),
        }),
    }
}

/// The values of all cohorts of a policy, in written order.
pub fn cohorts(policy: &HedgePolicySpec) -> Vec<EffectiveCohort> {
    policy.cohorts.iter().map(|one| cohort(policy, one)).collect()
}
