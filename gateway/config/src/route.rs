//! One upstream as the gateway needs it: a `ProviderRoute` with all defaults applied.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One `ProviderRoute`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Route {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`; another uid under the same name is another route.
    pub uid: String,
    /// Dialect of the upstream.
    pub api: Api,
    /// Base URL without a trailing slash, for example `https://api.openai.com`. A path prefix such as `/v1` is kept.
    pub endpoint: String,
    /// How attempts authenticate.
    pub auth: Auth,
    /// Azure's URL form, with `api: AzureOpenAI` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub azure: Option<Azure>,
    /// What a hedge must leave.
    pub failure_domain: FailureDomain,
    /// Attempts of one user action stay inside one boundary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_boundary: Option<String>,
    /// Tenants that may use this route; empty = all.
    #[serde(default)]
    pub tenants: Vec<String>,
    /// Routes that share provider limits; the route's own name when none was given.
    pub quota_group: String,
    /// Models served, in written order.
    pub models: Vec<Model>,
    /// Lower tiers are used first; 0 to 100.
    #[serde(default)]
    pub tier: u32,
    /// Share inside the tier, 0 to 1000; 0 = only as a hedge or failover target.
    #[serde(default = "default_weight")]
    pub weight: u32,
    /// No new attempts, running ones finish.
    #[serde(default)]
    pub suspend: bool,
    /// Pace at which a new, edited, recovered or resumed route doubles its share.
    #[serde(default)]
    pub ramp_up: RampUp,
    /// Provider limits for the whole fleet.
    #[serde(default)]
    pub limits: Limits,
    /// Timers of one attempt.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// When to stop sending.
    #[serde(default)]
    pub breaker: Breaker,
    /// What a cancelled attempt is taken to cost.
    #[serde(default)]
    pub on_cancel: OnCancel,
    /// What the upstream accepts beyond its dialect.
    #[serde(default)]
    pub capabilities: Capabilities,
    /// TLS beyond the machine's CA bundle.
    #[serde(default)]
    pub tls: Tls,
    /// Static headers to add; never credentials.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

impl Route {
    /// What a model's latencies depend on: a change of it makes old samples worthless.
    pub fn identity(&self, model: &Model) -> String {
        let upstream = model.upstream_name.as_deref().unwrap_or(&model.name);
        let deployment = self.azure.as_ref().and_then(|azure| azure.deployments.get(&model.name));
        format!("{:?} {} {upstream} {}", self.api, self.endpoint, deployment.map_or("", String::as_str))
    }
}

fn default_weight() -> u32 {
    100
}

/// Dialect of an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Api {
    /// `/v1/chat/completions` and its family.
    OpenAI,
    /// The same bodies under `/openai/deployments/{d}/` with `api-key`.
    AzureOpenAI,
    /// `/v1/messages`.
    Anthropic,
}

/// How attempts authenticate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Auth {
    /// Scheme.
    #[serde(rename = "type")]
    pub scheme: AuthScheme,
    /// Header that carries the key with [`AuthScheme::Header`], for example `x-api-key` or `api-key`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// Mounted file `<secrets>/<name>/<key>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<SecretKey>,
}

/// Authentication schemes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AuthScheme {
    /// `Authorization: Bearer <key>`.
    Bearer,
    /// `<header>: <key>`.
    Header,
    /// Nothing.
    None,
    /// The client's own credential, which binds the user action to this one host.
    Passthrough,
}

/// A key of a Secret, mounted as a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SecretKey {
    /// Secret name.
    pub name: String,
    /// Key in it.
    pub key: String,
}

/// Azure's URL form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Azure {
    /// `api-version` query parameter.
    pub api_version: String,
    /// Deployment by public model name.
    #[serde(default)]
    pub deployments: BTreeMap<String, String>,
}

/// Provider and region: what a hedge must leave.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailureDomain {
    /// For example `openai`.
    pub provider: String,
    /// For example `us-east`.
    pub region: String,
}

/// One model on one route.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// Public name; `*` = any.
    pub name: String,
    /// What the upstream calls it; absent = the public name, and nothing is spliced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream_name: Option<String>,
    /// Absent = unpriced, shown as such, never 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pricing: Option<Pricing>,
    /// Context window in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// Output cap in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Overrides `timeouts.firstTokenMs` for this model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token_timeout_ms: Option<u64>,
}

/// Prices in micro-units of the account currency per million tokens, 0 to 2^53.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pricing {
    /// Uncached input.
    pub input_micros_per_million: u64,
    /// Cached input; absent = as uncached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input_micros_per_million: Option<u64>,
    /// Cache writes; absent = as uncached input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_micros_per_million: Option<u64>,
    /// Output, reasoning included.
    pub output_micros_per_million: u64,
}

/// A share that starts at `start_percent` and doubles every `every_ms` until 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RampUp {
    /// First share in percent of the full weight, 1 to 100.
    pub start_percent: u32,
    /// Time of one doubling.
    pub every_ms: u64,
}

impl Default for RampUp {
    fn default() -> Self {
        Self { start_percent: 5, every_ms: 60_000 }
    }
}

/// Provider limits for the whole fleet; each pod takes its share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Limits {
    /// Attempts in flight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrent: Option<u64>,
    /// Attempts started per minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u64>,
    /// Estimated input plus output tokens per minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_minute: Option<u64>,
}

/// Timers of one attempt, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Timeouts {
    /// TCP connect and TLS handshake.
    pub connect_ms: u64,
    /// Until the first token of a stream; hidden reasoning is silent for minutes.
    pub first_token_ms: u64,
    /// Between bytes, from the first token on; streams only.
    pub idle_bytes_ms: u64,
    /// Between tokens, from the first token on; streams only.
    pub idle_tokens_ms: u64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect_ms: 5_000, first_token_ms: 300_000, idle_bytes_ms: 60_000, idle_tokens_ms: 300_000 }
    }
}

/// When a route stops getting traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Breaker {
    /// Hard failures in a row that open it.
    pub consecutive_failures: u32,
    /// Failed share of the window that opens it.
    pub failure_percent: u32,
    /// Slow share of the window that ejects it.
    pub slow_percent: u32,
    /// What slow means: first token over this percentage of the expected one.
    pub slow_factor_percent: u32,
    /// Fewest results in the window for a verdict.
    pub min_requests: u32,
    /// Window.
    pub window_ms: u64,
    /// First time open.
    pub open_for_ms: u64,
    /// Longest time open after doubling.
    pub max_open_for_ms: u64,
}

impl Default for Breaker {
    fn default() -> Self {
        Self {
            consecutive_failures: 5,
            failure_percent: 50,
            slow_percent: 50,
            slow_factor_percent: 300,
            min_requests: 20,
            window_ms: 30_000,
            open_for_ms: 5_000,
            max_open_for_ms: 300_000,
        }
    }
}

/// What hanging up on the provider does to the bill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OnCancel {
    /// Declared behaviour.
    pub billing: CancelBilling,
    /// Share of losers read to the end to find out.
    pub audit_percent: u32,
    /// Most bytes read of one audited loser.
    pub audit_max_bytes: u64,
    /// Longest an audited loser is read.
    pub audit_max_ms: u64,
    /// Most audited losers at once.
    pub audit_max_concurrent: u32,
}

impl Default for OnCancel {
    fn default() -> Self {
        Self {
            billing: CancelBilling::Unknown,
            audit_percent: 2,
            audit_max_bytes: 256 * 1024,
            audit_max_ms: 30_000,
            audit_max_concurrent: 8,
        }
    }
}

/// Whether the provider stops billing when we hang up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CancelBilling {
    /// It stops.
    Stops,
    /// It goes on to the end.
    Continues,
    /// Nobody knows: a lower bound is booked.
    Unknown,
}

/// What the upstream accepts beyond its dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Capabilities {
    /// `stream_options.include_usage` is understood.
    pub stream_usage: bool,
    /// Thinking signatures made elsewhere are accepted.
    pub portable_signatures: bool,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self { stream_usage: true, portable_signatures: false }
    }
}

/// TLS beyond the machine's CA bundle.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Tls {
    /// PEM file of a private CA below the secrets directory, `<name>/<key>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<SecretKey>,
    /// Name to ask for and check instead of the endpoint's host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
}
