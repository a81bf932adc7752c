//! What the pods of a fleet do with requests of every kind.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::{
    super::{
        hedge_policy::{Budget, Contract, Deadline, Retry},
        provider_route::Endpoint,
    },
    rule,
};
use crate::{
    text::{HeaderName, NamespaceName, NoProxyEntry, ObjectName, ProxyUrl},
    units::{DurationText, Percent},
};

/// Certificate of the traffic port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServingTls {
    /// Secret of type kubernetes.io/tls, in the same namespace. A change of it is taken up without a restart; while it
    /// cannot be used, the certificate from before is served. Required.
    pub secret_name: ObjectName,
}

/// How clients authenticate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ClientAuthType {
    /// Not at all.
    #[default]
    None,
    /// By keys of ours, from a Secret.
    ApiKeys,
}

/// How clients authenticate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = client_rules)]
pub struct ClientAuth {
    /// None or ApiKeys. Default: None.
    #[serde(rename = "type")]
    pub type_: ClientAuthType,
    /// Secret with the keys: entries <tenant> or <tenant>.<suffix>, values plain or sha256:<hex>.
    /// Required with type ApiKeys, absent with None. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_name: Option<ObjectName>,
    /// Namespaces beside the own one whose pods may connect; * = all. Default: none with type None, all
    /// with ApiKeys.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "set"))]
    pub allow_from: Vec<NamespaceName>,
}

fn client_rules(schema: &mut Schema) {
    rule::attach(schema, rule::present_with("secretName", "type", &["ApiKeys"]));
}

/// Where the tenant comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum TenantSource {
    /// A request header. Only behind something that sets it: clients could write any tenant.
    Header,
    /// The client key.
    ApiKey,
    /// No tenants.
    None,
}

/// Where the tenant comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = tenant_rules)]
pub struct TenantFrom {
    /// Header, ApiKey or None. Required.
    #[serde(rename = "type")]
    pub type_: TenantSource,
    /// The header. Required with type Header, absent with any other. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<HeaderName>,
}

fn tenant_rules(schema: &mut Schema) {
    rule::attach(schema, rule::present_with("header", "type", &["Header"]));
}

/// How primaries are spread over the routes of a tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Affinity {
    /// Requests with the same long beginning go to the same route.
    #[default]
    Prefix,
    /// By weight alone.
    None,
}

/// The fleet-wide switch of hedging.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Hedging {
    /// Policies decide.
    #[default]
    Allowed,
    /// Nothing is hedged, whatever policies say.
    Forbidden,
}

/// What applies to requests in no cohort. They are never hedged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FleetDefaults {
    /// Retries. Default: 2 attempts in all.
    pub retry: Retry,
    /// What retries may cost, in attempts. Default: 10 percent of originals.
    pub budget: Budget,
    /// What a complete answer must look like. Default: it carries a finish reason.
    pub contract: Contract,
    /// How long a user action may take. Default: stream 120s, complete 600s, total 30m.
    pub deadline: Deadline,
}

/// How a pod ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = drain_rules)]
pub struct Drain {
    /// How long it goes on serving until no new connections can arrive. 0s to 5m. Default: 10s.
    pub endpoint_delay: DurationText,
    /// How long running requests may take to finish. 1s to 2h. Default: 600s.
    pub timeout: DurationText,
}

impl Default for Drain {
    fn default() -> Self {
        Self { endpoint_delay: "10s".into(), timeout: "600s".into() }
    }
}

fn drain_rules(schema: &mut Schema) {
    rule::attach(schema, [rule::within("endpointDelay", "0s", "5m"), rule::within("timeout", "1s", "2h")]);
}

/// Comments that keep middle boxes patient with silent streams.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = keep_alive_rules)]
pub struct SseKeepAlive {
    /// Silence after which one is sent; 0s = never. 0s to 10m. Default: 15s.
    pub interval: DurationText,
    /// Whether they are also sent before the first token, which fixes the status at 200. Default:
    /// false.
    pub before_first_token: bool,
}

impl Default for SseKeepAlive {
    fn default() -> Self {
        Self { interval: "15s".into(), before_first_token: false }
    }
}

fn keep_alive_rules(schema: &mut Schema) {
    rule::attach(schema, [rule::within("interval", "0s", "10m")]);
}

/// How pods reach the outside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Egress {
    /// Proxy for https upstreams, asked with CONNECT, without credentials, such as http://proxy.example.com:3128.
    /// Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub https_proxy: Option<ProxyUrl>,
    /// Hosts, domain suffixes and networks that are reached directly, with :443 only at that port: example.com is
    /// that name and all below it, .example.com only those below. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "set"))]
    pub no_proxy: Vec<NoProxyEntry>,
    /// ConfigMap whose key ca.crt has further authorities for all upstreams, beside the image's or the
    /// route's own. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_config_map: Option<ObjectName>,
}

/// Where traces go and how many there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Traces {
    /// Base URL of a collector that takes OTLP over HTTP, such as http://otel-collector.observability.svc:4318;
    /// /v1/traces is added. Required.
    pub endpoint: Endpoint,
    /// Share of user actions to trace whose client sent no trace context, in percent; hedged, retried and failed
    /// ones are traced beyond it. A client's own context decides for itself. Default: 10.
    #[serde(default = "sample_percent")]
    #[schemars(range(min = 0, max = 100))]
    pub sample_percent: Percent,
}

fn sample_percent() -> Percent {
    10
}
