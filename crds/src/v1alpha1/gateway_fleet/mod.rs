//! `GatewayFleet`: how the gateway pods of one namespace that share a fleet name look.
//!
//! Input: nothing, or what a platform team wants different. Output: a spec with every constant default in
//! place; [`GatewayFleetSpec::default`] is the fleet that exists by itself. It refuses what would widen
//! the rights of its author: environment variables take plain values only.

mod pod;
mod status;
mod traffic;

use kube::CustomResource;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

pub use pod::{
    Autoscaling, AutoscalingMode, EnvVar, ResourceLimits, ResourceRequests, Resources, Service, ServiceType,
    Template, Verbatim,
};
pub use status::{FleetSummary, GatewayFleetStatus, Pods};
pub use traffic::{
    Affinity, ClientAuth, ClientAuthType, Drain, Egress, FleetDefaults, Hedging, ServingTls, SseKeepAlive,
    TenantFrom, TenantSource, Traces,
};

use super::rule;
use crate::{
    text::{Currency, ImageTag, ObjectName},
    units::Percent,
};

/// How the gateway pods of a fleet look. It exists by itself; write one only to change something.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "hedgerow.dev",
    version = "v1alpha1",
    kind = "GatewayFleet",
    plural = "gatewayfleets",
    shortname = "gf",
    category = "hedgerow",
    namespaced,
    cel,
    doc = "How the gateway pods of a fleet look. It exists by itself; write one only to change something.",
    status = "GatewayFleetStatus",
    derive = "PartialEq",
    validation = Rule::new("self.metadata.name.size() <= 40")
        .message("the name of a fleet has at most 40 characters, because its children are named hedgerow-<fleet>-..."),
    printcolumn(name = "Address", type_ = "string", json_path = ".status.summary.address"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(name = "Pods", type_ = "string", json_path = ".status.summary.pods"),
    printcolumn(name = "Version", type_ = "string", json_path = ".status.summary.version"),
    printcolumn(name = "Config", type_ = "string", json_path = ".status.summary.config"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Reason",
        type_ = "string",
        priority = 1,
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason"
    )
)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = rules)]
pub struct GatewayFleetSpec {
    /// Pods, unless an autoscaler decides. Default: 2.
    #[schemars(range(min = 0, max = 1000))]
    pub replicas: i32,
    /// Who decides the number of pods. Default: replicas does.
    pub autoscaling: Autoscaling,
    /// Gateway image tag. Default: the operator's own version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<ImageTag>,
    /// CPU and memory of a pod. Default: requests 250m and 64Mi, limit of memory 512Mi.
    pub resources: Resources,
    /// What to add to the pods. Default: nothing.
    pub template: Template,
    /// The Service hedgerow-<fleet>. Default: ClusterIP, port 8080.
    pub service: Service,
    /// Certificate of the traffic port. Default: none, plain HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<ServingTls>,
    /// How clients authenticate. Default: not at all; only pods of the own namespace may connect.
    pub client_auth: ClientAuth,
    /// Secrets to mount in advance, so that a route that names one later rolls no pod.
    /// hedgerow-<fleet>-keys is always mounted. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "set"))]
    pub secrets: Vec<ObjectName>,
    /// User actions in flight per pod; attempts are at most 1.5 times as many. Default: 900.
    #[schemars(range(min = 1, max = 100_000))]
    pub max_in_flight: i64,
    /// Currency of all prices and amounts (ISO 4217). Default: USD.
    pub currency: Currency,
    /// Where the tenant comes from. Default: the client key with clientAuth ApiKeys, else no tenants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_from: Option<TenantFrom>,
    /// Prefix = requests with the same long beginning go to the same route, whose prompt cache they
    /// share; None = by weight alone. Default: Prefix.
    pub affinity: Affinity,
    /// What applies to requests in no cohort. Default: as in a policy.
    pub defaults: FleetDefaults,
    /// How a pod ends. Default: endpointDelay 10s, timeout 600s.
    pub drain: Drain,
    /// Largest request body, in bytes. Default: 33554432 (32 MiB).
    #[schemars(range(min = 1024, max = 1_073_741_824))]
    pub max_request_bytes: i64,
    /// Buffered bodies over this share of the memory limit shed new work, in percent; hedges stop at
    /// half of it. Default: 40.
    #[schemars(range(min = 1, max = 90))]
    pub buffered_bytes_percent: Percent,
    /// Comments that keep middle boxes patient with silent streams. Default: every 15s, after the first
    /// token.
    pub sse_keep_alive: SseKeepAlive,
    /// How pods reach the outside. Default: directly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub egress: Option<Egress>,
    /// Where traces go, over OTLP. Default: none are made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traces: Option<Traces>,
    /// Allowed or Forbidden: the switch of the whole fleet. Default: Allowed.
    pub hedging: Hedging,
}

impl Default for GatewayFleetSpec {
    fn default() -> Self {
        Self {
            replicas: 2,
            autoscaling: Autoscaling::default(),
            version: None,
            resources: Resources::default(),
            template: Template::default(),
            service: Service::default(),
            tls: None,
            client_auth: ClientAuth::default(),
            secrets: Vec::new(),
            max_in_flight: 900,
            currency: Currency::default(),
            tenant_from: None,
            affinity: Affinity::default(),
            defaults: FleetDefaults::default(),
            drain: Drain::default(),
            max_request_bytes: 32 * 1024 * 1024,
            buffered_bytes_percent: 40,
            sse_keep_alive: SseKeepAlive::default(),
            egress: None,
            traces: None,
            hedging: Hedging::default(),
        }
    }
}

fn rules(schema: &mut Schema) {
    rule::attach(
        schema,
        [rule::fixed(
            "!has(self.tenantFrom) || self.tenantFrom.type != 'ApiKey' || self.clientAuth.type == 'ApiKeys'",
            "tenantFrom.type",
            "tenants can come from client keys only with clientAuth.type: ApiKeys",
        )],
    );
}
