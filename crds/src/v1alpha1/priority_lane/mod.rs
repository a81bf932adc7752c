//! `PriorityLane`: which requests share an adaptive concurrency limit, who waits, who is shed.
//!
//! Input: what a team writes. Output: a spec with every constant default in place. A lane without `match` is
//! the fallback of its fleet; that there is only one, and that guarantees add up to 100 at most, is a
//! matter between objects and so the operator's.

mod limit;
mod status;
mod tenancy;

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

pub use limit::{Algorithm, Concurrency, Queue, RetryAfter, Share};
pub use status::{LaneObserved, LaneSummary, PriorityLaneStatus, TopTenant, WarmStart};
pub use tenancy::Tenants;

use super::{reference::Operation, rule};
use crate::text::{FleetName, HeaderValue, ModelName, TenantName};

/// Which requests share an adaptive concurrency limit, who waits or is shed first, and how tenants
/// share it.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "hedgerow.dev",
    version = "v1alpha1",
    kind = "PriorityLane",
    plural = "prioritylanes",
    shortname = "pl",
    category = "hedgerow",
    namespaced,
    cel,
    doc = "Which requests share an adaptive concurrency limit, who waits or is shed first, and how tenants share it.",
    status = "PriorityLaneStatus",
    derive = "PartialEq",
    selectable = ".spec.gateway",
    printcolumn(name = "Priority", type_ = "integer", json_path = ".spec.priority"),
    printcolumn(name = "Limit", type_ = "string", json_path = ".status.summary.limit"),
    printcolumn(name = "InFlight", type_ = "string", json_path = ".status.summary.inFlight"),
    printcolumn(name = "Shed/5m", type_ = "string", json_path = ".status.summary.shed"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Reason",
        type_ = "string",
        priority = 1,
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct PriorityLaneSpec {
    /// Fleet whose requests this lane is about. Immutable. Default: default.
    #[serde(default)]
    #[schemars(transform = rule::immutable_gateway)]
    pub gateway: FleetName,
    /// Higher is served first and shed last; lanes are tried from the highest down, at equal priority
    /// by name. Default: 500.
    #[serde(default = "default_priority")]
    #[schemars(range(min = 0, max = 1000))]
    pub priority: i32,
    /// Which requests belong to it; all that is given must hold. Default: absent, the fallback lane of
    /// the fleet, of which there is at most one and which is tried last whatever its priority.
    #[serde(rename = "match", default, skip_serializing_if = "Option::is_none")]
    pub match_: Option<LaneMatch>,
    /// The limit of user actions in flight, per pod. Default: adaptive, from 20, between 4 and 1000.
    #[serde(default)]
    pub concurrency: Concurrency,
    /// The lane's part of a pod. Default: nothing guaranteed, everything allowed.
    #[serde(default)]
    pub share: Share,
    /// How tenants share the lane. Default: equally, each up to all of it.
    #[serde(default)]
    pub tenants: Tenants,
    /// How long and how many wait. Default: 500ms, a quarter of the limit.
    #[serde(default)]
    pub queue: Queue,
    /// Bounds of the Retry-After of a shed request. Default: 1s to 60s.
    #[serde(default)]
    pub retry_after: RetryAfter,
}

/// Middle of the range, so that later lanes fit before and after.
fn default_priority() -> i32 {
    500
}

/// Which requests belong to a lane; all that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = match_rules)]
pub struct LaneMatch {
    /// Headers that must be present with exactly these values; names in any case. Default: none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 16))]
    pub headers: BTreeMap<String, HeaderValue>,
    /// Tenants. Default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), extend("x-kubernetes-list-type" = "set"))]
    pub tenants: Vec<TenantName>,
    /// Models, as clients name them. Default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "set"))]
    pub models: Vec<ModelName>,
    /// Operations: ChatCompletions, Completions, Responses, Embeddings, Messages, CountTokens. Default:
    /// all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 6), extend("x-kubernetes-list-type" = "set"))]
    pub operations: Vec<Operation>,
}

fn match_rules(schema: &mut Schema) {
    rule::attach(
        schema,
        [
            rule::header_names("headers"),
            kube::core::Rule::new(
                "[has(self.headers) && size(self.headers) > 0, has(self.tenants) && size(self.tenants) > 0, \
                 has(self.models) && size(self.models) > 0, has(self.operations) && size(self.operations) > 0]\
                 .exists(given, given)",
            )
            .message("match is empty: name headers, tenants, models or operations, or leave match out for the fallback lane"),
        ],
    );
}
