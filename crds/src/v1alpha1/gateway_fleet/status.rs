//! Status of a fleet.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::Condition;

/// What the operator knows about a fleet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GatewayFleetStatus {
    /// Generation of the spec that this status describes; -1 = not seen yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Accepted, ResolvedRefs where it names a certificate or authorities, Programmed, Ready; Reconciling and Stalled only
    /// when true.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 16),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"])
    )]
    pub conditions: Vec<Condition>,
    /// What kubectl get shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<FleetSummary>,
    /// Where clients connect, such as hedgerow-default.team-a.svc:8080; with tls it begins with https://.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 300))]
    pub address: Option<String>,
    /// Pods wanted, ready, and running the present configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods: Option<Pods>,
    /// Gateway version that the pods run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub version: Option<String>,
    /// Digest of the configuration in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub digest: Option<String>,
    /// The first failing pod's own reason: image pull, quota, admission, crash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub failure: Option<String>,
}

/// What kubectl get shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FleetSummary {
    /// Where clients connect.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 300))]
    pub address: String,
    /// Ready of desired pods, such as 3/3.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 32))]
    pub pods: String,
    /// Gateway version.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 128))]
    pub version: String,
    /// First eight characters of the configuration's digest.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 32))]
    pub config: String,
}

/// Pods of a fleet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Pods {
    /// Wanted.
    #[schemars(range(min = 0, max = 100_000))]
    pub desired: i32,
    /// Ready.
    #[schemars(range(min = 0, max = 100_000))]
    pub ready: i32,
    /// Running the present configuration.
    #[schemars(range(min = 0, max = 100_000))]
    pub programmed: i32,
}
