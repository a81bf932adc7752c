//! Status of a policy: conditions, columns, spend of the day, and its cohorts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CohortStatus;
use crate::{
    condition::Condition,
    effective::EffectiveCohort,
    text::Currency,
    units::{Micros, Percent},
};

/// What the operator knows about a policy and decided about its cohorts. Under 64 KiB.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HedgePolicyStatus {
    /// Generation of the spec that this status describes; -1 = not seen yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Accepted, Programmed, GuardrailBreached, Ready; Reconciling and Stalled only when true.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 16),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"])
    )]
    pub conditions: Vec<Condition>,
    /// What kubectl get shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<PolicySummary>,
    /// Each cohort's state and figures, in the order of the spec.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 32),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub cohorts: Vec<CohortStatus>,
    /// Spend of the policy's cohorts on the present UTC day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spend: Option<Spend>,
    /// The values in force where the spec has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective: Option<EffectivePolicy>,
}

/// What kubectl get shows. P99, Saved and Dup% are those of the worst cohort that is on; in Observe
/// they are in brackets: what hedging would have done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicySummary {
    /// Cohorts that are on, such as 3/4 active.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 64))]
    pub cohorts: String,
    /// Within or Breached.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 64))]
    pub guardrail: String,
    /// 99th percentile of the first token, such as 3.1s.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 32))]
    pub p99: String,
    /// Change of the 99th percentile by hedging, such as -68%.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 32))]
    pub saved: String,
    /// Hedges per 100 enrolled requests, such as 4.6.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 32))]
    pub duplicate_percent: String,
    /// What hedging added to spend, in percent, such as 0.9.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 32))]
    pub extra_percent: String,
    /// Reason of the latest trip, or of Ready.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 128))]
    pub reason: String,
}

/// Spend of a UTC day, in micro-units of the currency.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Spend {
    /// The UTC day, such as 2026-11-29.
    #[schemars(length(max = 10))]
    pub date: String,
    /// Currency of the amounts.
    pub currency: Currency,
    /// All attempts, in micro-units.
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_i64))]
    pub total_micros: Micros,
    /// Losers, in micro-units.
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_i64))]
    pub losers_micros: Micros,
    /// Retries, in micro-units.
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_i64))]
    pub retries_micros: Micros,
    /// Share of the total that is estimated rather than reported by the provider, in percent.
    #[schemars(range(min = 0, max = 100))]
    pub estimated_percent: Percent,
}

/// The values in force where the spec has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EffectivePolicy {
    /// Each cohort with its defaults filled in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 32),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub cohorts: Vec<EffectiveCohort>,
}
