//! `ProviderRoute`: one upstream, a provider account in one region.
//!
//! Input: what a team writes. Output: a spec with every constant default in place; those of models and of
//! the Secret's name are in [`crate::effective`]. Routes of a fleet that list the same model are
//! contract-equivalent: that is their author's declaration, never guessed. It refuses credentials in clear,
//! endpoints that are metadata services, and prices that are missing but read as 0.

mod breaker;
mod connection;
mod credential;
mod endpoint;
mod model;
mod pace;
mod status;

use std::collections::BTreeMap;

use kube::{CustomResource, core::Rule};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

pub use breaker::Breaker;
pub use connection::{Azure, Capabilities, Timeouts, Tls};
pub use credential::{Auth, AuthType, SecretRef};
pub use endpoint::Endpoint;
pub use model::{Model, Pricing};
pub use pace::{Audit, Billing, Limits, OnCancel, RampUp};
pub use status::{
    BreakerState, Credentials, EffectiveRoute, PricingState, ProviderRouteStatus, RouteObserved, RouteSummary,
};

use super::rule;
use crate::text::{FleetName, HeaderValue, Label, TenantName};

/// Dialect of an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Api {
    /// The OpenAI API.
    OpenAI,
    /// The OpenAI API as Azure serves it.
    AzureOpenAI,
    /// The Anthropic API.
    Anthropic,
}

/// Where an upstream runs. A hedge must leave it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct FailureDomain {
    /// The provider, such as openai, azure or anthropic. A lower-case word.
    pub provider: Label,
    /// The region, such as us-east or swedencentral. A lower-case word.
    pub region: Label,
}

/// One upstream: a provider account in one region, the models it serves, their prices, its limits
/// and its breaker.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "hedgerow.dev",
    version = "v1alpha1",
    kind = "ProviderRoute",
    plural = "providerroutes",
    shortname = "proute",
    category = "hedgerow",
    namespaced,
    cel,
    doc = "One upstream: a provider account in one region, the models it serves, their prices, its limits and its breaker.",
    status = "ProviderRouteStatus",
    derive = "PartialEq",
    selectable = ".spec.gateway",
    selectable = ".spec.failureDomain.provider",
    selectable = ".spec.failureDomain.region",
    printcolumn(name = "Provider", type_ = "string", json_path = ".spec.failureDomain.provider"),
    printcolumn(name = "Region", type_ = "string", json_path = ".spec.failureDomain.region"),
    printcolumn(name = "Models", type_ = "string", json_path = ".status.summary.models"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(name = "Health", type_ = "string", json_path = ".status.summary.health"),
    printcolumn(name = "P95", type_ = "string", json_path = ".status.summary.p95"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Fleet", type_ = "string", priority = 1, json_path = ".spec.gateway"),
    printcolumn(
        name = "Reason",
        type_ = "string",
        priority = 1,
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason"
    )
)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules)]
pub struct ProviderRouteSpec {
    /// Fleet whose pods use this route. Immutable. Default: default.
    #[serde(default)]
    #[schemars(transform = rule::immutable_gateway)]
    pub gateway: FleetName,
    /// Dialect of the upstream: OpenAI, AzureOpenAI or Anthropic. Required.
    pub api: Api,
    /// Base URL of the upstream, such as https://api.openai.com. Required. Link-local and metadata
    /// addresses are refused.
    pub endpoint: Endpoint,
    /// Whether plain http:// is allowed as endpoint, for providers inside the cluster and tests.
    /// Default: false.
    #[serde(default)]
    pub insecure_http: bool,
    /// How requests authenticate at the upstream. Required.
    pub auth: Auth,
    /// What Azure needs beyond the endpoint. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub azure: Option<Azure>,
    /// Provider and region of the upstream. A hedge goes to another one. Required.
    pub failure_domain: FailureDomain,
    /// Where data may be processed, a word such as eu: all attempts of a user action stay inside one
    /// boundary. If one route of a fleet sets it, all must. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_boundary: Option<Label>,
    /// Tenants that may use this route. Default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "set"))]
    pub tenants: Vec<TenantName>,
    /// Routes with the same word share the provider's rate limits. Default: this route alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_group: Option<Label>,
    /// Models that this route serves, under the names that clients use. Required, 1 to 64.
    #[schemars(
        length(min = 1, max = 64),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub models: Vec<Model>,
    /// Order of preference for primaries: the lowest tier with a usable route serves. Default: 0.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100))]
    pub tier: i32,
    /// Share of primaries among the routes of a tier. 0 = only as a hedge or failover target.
    /// Default: 100.
    #[serde(default = "default_weight")]
    #[schemars(range(min = 0, max = 1000))]
    pub weight: i32,
    /// Whether the route gets no new attempts; running ones finish. Default: false.
    #[serde(default)]
    pub suspend: bool,
    /// How fast a new, edited, recovered or resumed route gets its share. Default: doubling from 5
    /// percent every minute.
    #[serde(default)]
    pub ramp_up: RampUp,
    /// What the whole fleet may send here; each pod gets its share. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// How long to wait for what. Default: connect 5s, firstToken 300s, idleBytes 60s, idleTokens 300s.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// When the route is taken out of use. Default: after 5 failures in a row, 50 percent failures or
    /// 50 percent slow calls.
    #[serde(default)]
    pub breaker: Breaker,
    /// What the provider does when we hang up. Default: unknown, 2 percent audited.
    #[serde(default)]
    pub on_cancel: OnCancel,
    /// What the upstream accepts beyond its dialect. Default: stream usage.
    #[serde(default)]
    pub capabilities: Capabilities,
    /// How the upstream's certificate is checked. Default: the image's authorities and the endpoint's
    /// host name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
    /// Static headers to add to every attempt, never credentials. Default: none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32))]
    pub headers: BTreeMap<String, HeaderValue>,
}

/// Every route of a tier counts the same unless it says otherwise.
fn default_weight() -> i32 {
    100
}

/// Headers that carry credentials or that the gateway itself sets: not for `spec.headers`.
const RESERVED_HEADERS: &str = "'authorization', 'proxy-authorization', 'x-api-key', 'api-key', 'cookie', 'host', \
     'content-length', 'content-type', 'transfer-encoding', 'connection'";

fn rules(schema: &mut Schema) {
    rule::attach(
        schema,
        [
            rule::computed(
                "self.endpoint.startsWith('https://') || self.insecureHttp || !self.endpoint.startsWith('http://')",
                "endpoint",
                "'endpoint (' + self.endpoint + ') is not encrypted: use https:// or set insecureHttp: true'",
            ),
            rule::fixed(
                "!has(self.azure) || self.api == 'AzureOpenAI'",
                "azure",
                "azure has a meaning only with api: AzureOpenAI; remove it or change api",
            ),
            rule::header_names("headers"),
            rule::fixed(
                format!(
                    "!has(self.headers) || self.headers.all(k, !(k.lowerAscii() in [{RESERVED_HEADERS}]))"
                ),
                "headers",
                "credentials and connection headers don't belong here: use auth for credentials",
            ),
            credentials_in_clear(),
        ],
    );
}

/// A client's own credential must not cross the network in clear.
fn credentials_in_clear() -> Rule {
    rule::fixed(
        "self.auth.type != 'Passthrough' || !self.insecureHttp",
        "auth.type",
        "Passthrough would send the client's own credential unencrypted: remove insecureHttp or use another type",
    )
}
