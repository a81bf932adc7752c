//! Status of a route: what the operator knows about it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{condition::Condition, effective::EffectiveModel, units::Percent};

/// What the operator knows about a route. Times are absolute; figures may be a minute old.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderRouteStatus {
    /// Generation of the spec that this status describes; -1 = not seen yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Accepted, ResolvedRefs, Programmed, Healthy, Ready; Reconciling and Stalled only when true.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 16),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"])
    )]
    pub conditions: Vec<Condition>,
    /// What kubectl get shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<RouteSummary>,
    /// What the pods measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<RouteObserved>,
    /// The key in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Credentials>,
    /// Priced = every model has prices; PartlyPriced = some have; Unpriced = none has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pricing: Option<PricingState>,
    /// The values in force where the spec has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective: Option<EffectiveRoute>,
}

/// What kubectl get shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RouteSummary {
    /// Number of models.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 32))]
    pub models: String,
    /// Health in a few words, such as Slow (weight 12 %).
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 128))]
    pub health: String,
    /// 95th percentile of the first token, such as 1.9s.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 32))]
    pub p95: String,
}

/// State of a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = super::rule::undescribed)]
pub enum BreakerState {
    /// In use.
    Closed,
    /// In use with a lowered weight, because it is slow.
    Slow,
    /// Probing.
    HalfOpen,
    /// Out of use.
    Open,
}

/// What the pods measured in the last 5 minutes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RouteObserved {
    /// Median of the first token, such as 0.62s.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub p50: Option<String>,
    /// 95th percentile of the first token.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub p95: Option<String>,
    /// 99th percentile of the first token.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub p99: Option<String>,
    /// Failed attempts per 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1000))]
    pub error_per_mille: Option<i32>,
    /// Attempts that ended in the last 5 minutes, hedges and retries too; not user actions.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_i64))]
    pub requests: Option<i64>,
    /// State of the breaker in most pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breaker: Option<BreakerState>,
    /// Until when the provider asked us to wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled_until: Option<Time>,
    /// Share of its weight that the route has now, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub weight_percent: Option<Percent>,
}

/// The key in use, without the key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Credentials {
    /// Name of the Secret.
    #[schemars(length(max = 253))]
    pub secret: String,
    /// Key inside the Secret.
    #[schemars(length(max = 253))]
    pub key: String,
    /// Keyed hash of the value, to see whether pods hold the same one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub fingerprint: Option<String>,
    /// Ready pods that hold it, such as 3/3.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub pods: Option<String>,
    /// Since when this value is in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
}

/// Which models have prices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = super::rule::undescribed)]
pub enum PricingState {
    /// Every model has prices of input and output.
    Priced,
    /// Some models have none: their spend is unknown and is shown as such.
    PartlyPriced,
    /// No model has prices.
    Unpriced,
}

/// The values in force where the spec has none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EffectiveRoute {
    /// Each model with its defaults filled in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 64),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub models: Vec<EffectiveModel>,
}
