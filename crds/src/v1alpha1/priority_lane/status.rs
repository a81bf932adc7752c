//! Status of a lane.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{condition::Condition, units::Micros};

/// What the operator knows about a lane. Figures may be a minute old.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PriorityLaneStatus {
    /// Generation of the spec that this status describes; -1 = not seen yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Accepted, Programmed, Ready; Reconciling and Stalled only when true.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 16),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"])
    )]
    pub conditions: Vec<Condition>,
    /// What kubectl get shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<LaneSummary>,
    /// What the pods measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<LaneObserved>,
    /// What a new pod starts with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_start: Option<WarmStart>,
}

/// What kubectl get shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LaneSummary {
    /// The limit, such as 212 per pod.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 64))]
    pub limit: String,
    /// User actions in flight in the fleet.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 32))]
    pub in_flight: String,
    /// Requests shed in the last 5 minutes.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 32))]
    pub shed: String,
}

/// What the pods measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LaneObserved {
    /// Lowest limit of a pod, in user actions.
    #[schemars(range(min = 0, max = 100_000))]
    pub limit_min: i64,
    /// Median limit of the pods, in user actions.
    #[schemars(range(min = 0, max = 100_000))]
    pub limit_median: i64,
    /// Highest limit of a pod, in user actions.
    #[schemars(range(min = 0, max = 100_000))]
    pub limit_max: i64,
    /// User actions in flight in the fleet.
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_i64))]
    pub in_flight: i64,
    /// Requests admitted in the last 5 minutes.
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_i64))]
    pub admitted: i64,
    /// Requests shed in the last 5 minutes.
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_i64))]
    pub shed: i64,
    /// 95th percentile of the wait for a place, such as 0.12s.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub queue_wait_p95: Option<String>,
    /// The most frequent reason of shedding.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub top_shedding_reason: Option<String>,
    /// The tenants with the most in flight.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 5))]
    pub top_tenants: Vec<TopTenant>,
}

/// One of the tenants with the most in flight.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TopTenant {
    /// The tenant.
    #[schemars(length(max = 63))]
    pub name: String,
    /// Its user actions in flight.
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_i64))]
    pub in_flight: i64,
    /// Its requests shed in the last 5 minutes.
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_i64))]
    pub shed: i64,
    /// Its spend since midnight UTC, in micro-units of the fleet's currency.
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_i64))]
    pub spend_today_micros: Micros,
}

/// What a new pod starts with, so that it need not learn the limit again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WarmStart {
    /// Limit per pod, in user actions.
    #[schemars(range(min = 0, max = 100_000))]
    pub limit: i64,
    /// Usual first token, such as 0.62s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub baseline: Option<String>,
    /// When it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
}
