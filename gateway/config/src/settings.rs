//! Fleet-wide settings: a `GatewayFleet` as far as the gateway itself needs it.

use serde::{Deserialize, Serialize};

use crate::{
    cohort::{BudgetRule, Contract, Deadline, Retry},
    route::SecretKey,
};

/// Key of the certificate chain in a Secret of type `kubernetes.io/tls`, PEM, the pod's own certificate first.
pub const CERTIFICATE_KEY: &str = "tls.crt";
/// Key of the private key in the same Secret, PEM.
pub const PRIVATE_KEY: &str = "tls.key";
/// Key of further authorities in a `ConfigMap`, PEM.
pub const AUTHORITIES_KEY: &str = "ca.crt";

/// Fleet-wide settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// User actions in flight per pod; attempts may be 1.5 x as many.
    pub max_in_flight: u32,
    /// Account currency, ISO 4217.
    pub currency: String,
    /// Who is asking.
    pub tenant_from: TenantFrom,
    /// How primaries are chosen inside a tier.
    pub affinity: Affinity,
    /// Whether clients need a key.
    pub client_auth: ClientAuth,
    /// For requests in no cohort.
    pub defaults: Defaults,
    /// How a pod leaves.
    pub drain: Drain,
    /// Largest request body in bytes.
    pub max_request_bytes: u64,
    /// Buffered request bytes of the pod above which new work is shed; hedges stop at half of it.
    pub buffered_bytes_limit: u64,
    /// Comments that keep middle boxes patient.
    pub sse_keep_alive: SseKeepAlive,
    /// Fleet-wide switch for hedging.
    pub hedging: Hedging,
    /// Certificate of the traffic port; absent = plain HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<ServingTls>,
    /// How providers are reached.
    #[serde(skip_serializing_if = "Egress::is_direct")]
    pub egress: Egress,
    /// Where traces go; absent = none are made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traces: Option<Traces>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_in_flight: 900,
            currency: "USD".to_owned(),
            tenant_from: TenantFrom::None,
            affinity: Affinity::Prefix,
            client_auth: ClientAuth::default(),
            defaults: Defaults::default(),
            drain: Drain::default(),
            max_request_bytes: 32 * 1024 * 1024,
            // 40 % of the default memory limit of 512 MiB.
            buffered_bytes_limit: 214_748_364,
            sse_keep_alive: SseKeepAlive::default(),
            hedging: Hedging::Allowed,
            tls: None,
            egress: Egress::default(),
            traces: None,
        }
    }
}

/// Where the tenant comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TenantFrom {
    /// Value of this header, lower-case name.
    #[serde(rename = "header")]
    Header(String),
    /// Name of the client key.
    ApiKey,
    /// Everybody is one tenant.
    None,
}

/// How primaries are chosen inside a tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Affinity {
    /// Weighted rendezvous by tenant, model and prompt prefix.
    Prefix,
    /// Smooth weights.
    None,
}

/// Whether clients need a key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientAuth {
    /// Kind.
    #[serde(rename = "type")]
    pub kind: ClientAuthKind,
    /// Directory below the secrets directory; each file is an entry `<tenant>` or `<tenant>.<suffix>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_name: Option<String>,
}

/// Kinds of client authentication.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientAuthKind {
    /// None.
    #[default]
    None,
    /// `Authorization: Bearer`, `x-api-key` or `api-key`.
    ApiKeys,
}

/// For requests in no cohort.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Defaults {
    /// Attempts and back-off.
    pub retry: Retry,
    /// Budget of models that no policy names.
    pub budget: BudgetRule,
    /// What makes an answer valid.
    pub contract: Contract,
    /// Ends of the user action.
    pub deadline: Deadline,
}

/// How a pod leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Drain {
    /// Keep accepting until endpoints are gone.
    pub endpoint_delay_ms: u64,
    /// Then wait this long for running requests.
    pub timeout_ms: u64,
}

impl Default for Drain {
    fn default() -> Self {
        Self { endpoint_delay_ms: 10_000, timeout_ms: 600_000 }
    }
}

/// Comments that keep middle boxes patient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SseKeepAlive {
    /// Silence after which a comment is sent; 0 = never.
    pub interval_ms: u64,
    /// Also before the first token, which fixes the status at 200.
    pub before_first_token: bool,
}

impl Default for SseKeepAlive {
    fn default() -> Self {
        Self { interval_ms: 15_000, before_first_token: false }
    }
}

/// Fleet-wide switch for hedging.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Hedging {
    /// Policies decide.
    Allowed,
    /// No hedges at all.
    Forbidden,
}

/// Certificate of the traffic port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServingTls {
    /// Directory below the secrets directory that holds [`CERTIFICATE_KEY`] and [`PRIVATE_KEY`].
    pub secret_name: String,
}

/// How providers are reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Egress {
    /// Proxy that `https` endpoints are reached through, by CONNECT; absent = directly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub https_proxy: Option<String>,
    /// What is reached directly all the same; the form is that of `hedgerow_policy::bypass`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub no_proxy: Vec<String>,
    /// PEM file of further authorities of all upstreams below the secrets directory, `<name>/<key>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<SecretKey>,
}

impl Egress {
    /// Whether nothing is asked for: no proxy and no further authority.
    pub fn is_direct(&self) -> bool {
        *self == Self::default()
    }
}

/// Where traces go and how many there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Traces {
    /// Base URL of a collector that takes OTLP over HTTP; `/v1/traces` is added.
    pub endpoint: String,
    /// Share of the user actions whose client sent no trace context that are traced whatever became of them, 0 to 100.
    pub sample_percent: u32,
}
