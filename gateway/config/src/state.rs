//! `GET /state`: what a pod runs and what it has counted, for the operator.
//!
//! Counters are cumulative per (pod uid, start, generation) and never decay or reset inside one; the reader takes deltas,
//! and a decrease means "another life": discard and count. Rings hold 10 min in 10 s buckets, aligned to wall-clock
//! multiples of 10 s, so that a new leader can decide at once. Limits: [`MAX_CELLS`] cells by recency, 2 MiB before gzip.
//!
//! Query: `?only=digest` answers [`DigestOnly`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{cohort::DecisionState, gateway::ObjectRef, money::Picos};

/// The only value of `schema` that this version writes and reads.
pub const SCHEMA: &str = "hedgerow.dev/state/v1";
/// Cells reported; the rest is in their parents.
pub const MAX_CELLS: usize = 512;
/// Length of one bucket of a ring, in seconds.
pub const BUCKET_SECONDS: u64 = 10;
/// Buckets of a ring: 10 min.
pub const BUCKETS: usize = 60;

/// Histogram as (bucket index, count) pairs, ascending, zero counts left out. Bucket bounds: `hedgerow_policy::latency`.
pub type Sparse = Vec<(u16, u64)>;

/// The whole document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Which process.
    pub pod: Pod,
    /// The pod's clock when it answered, in milliseconds since 1970.
    pub now_unix_ms: u64,
    /// Digest of the configuration in force; empty before the first.
    pub digest: String,
    /// The last configuration that was refused, if it is newer than the one in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<Rejected>,
    /// Whether the pod takes traffic.
    pub ready: bool,
    /// Whether SIGTERM was received.
    #[serde(default)]
    pub draining: bool,
    /// Objects of the configuration in force.
    #[serde(default)]
    pub objects: Vec<ObjectRef>,
    /// Latency cells.
    #[serde(default)]
    pub cells: Vec<CellState>,
    /// Cohorts.
    #[serde(default)]
    pub cohorts: Vec<CohortReport>,
    /// Lanes.
    #[serde(default)]
    pub lanes: Vec<LaneState>,
    /// Routes.
    #[serde(default)]
    pub routes: Vec<RouteState>,
    /// Credentials.
    #[serde(default)]
    pub credentials: Vec<CredentialState>,
    /// Certificate of the traffic port; absent where it is to serve plain HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<CertificateState>,
    /// Spend since the start of the process.
    #[serde(default)]
    pub spend: SpendState,
    /// Everything that must return to zero when nobody is asking.
    #[serde(default)]
    pub in_flight: InFlight,
}

/// Answer to `?only=digest`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DigestOnly {
    /// As [`State::digest`].
    pub digest: String,
    /// As [`State::ready`].
    pub ready: bool,
    /// As [`State::rejected`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<Rejected>,
}

/// Identity of a process.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pod {
    /// Pod uid, or in standalone the name that the process was started with.
    pub uid: String,
    /// Start of the process, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// Version of the gateway.
    pub version: String,
}

/// A configuration that was refused as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rejected {
    /// Its digest.
    pub digest: String,
    /// Why.
    pub message: String,
}

/// Cohort x route x model x streaming x input band: the unit of latency curves.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CellKey {
    /// Cohort; empty = requests in no cohort.
    pub cohort: String,
    /// Route.
    pub route: String,
    /// Public model.
    pub model: String,
    /// Streaming.
    pub stream: bool,
    /// Input band: 0 = up to 1k tokens, 1 = 8k, 2 = 32k, 3 = more.
    pub band: u8,
}

/// Counts of one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CellState {
    /// Which cell.
    pub key: CellKey,
    /// Grows when the route's endpoint, api or upstream model changed: counts started again from zero.
    pub generation: u64,
    /// Primaries: first tokens (streams) or complete answers, cumulative.
    #[serde(default)]
    pub events: Sparse,
    /// Primaries: right-censored at their end, cumulative.
    #[serde(default)]
    pub censored: Sparse,
    /// Hedges sent to this cell: events, cumulative.
    #[serde(default)]
    pub hedge_events: Sparse,
    /// Hedges sent to this cell: censored, cumulative.
    #[serde(default)]
    pub hedge_censored: Sparse,
    /// Ages of primaries that have no first token yet, by bucket.
    #[serde(default)]
    pub in_flight: Sparse,
    /// Delay in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
}

/// What a pod knows of one cohort.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CohortReport {
    /// Policy.
    pub policy: String,
    /// Cohort.
    pub cohort: String,
    /// Transition in force.
    pub transition: u64,
    /// State in force, blindness included.
    pub state: DecisionState,
    /// The last 10 min, oldest first, empty buckets left out.
    #[serde(default)]
    pub ring: Vec<CohortBucket>,
    /// Why timer firings sent no hedge, by reason, cumulative.
    #[serde(default)]
    pub suppressed: BTreeMap<String, u64>,
    /// First token (streams) or complete answer as users saw it, cumulative.
    #[serde(default)]
    pub user_latency: Sparse,
    /// The same, only for the control group.
    #[serde(default)]
    pub control_latency: Sparse,
    /// Sums of the ring's figures since the start of the process.
    #[serde(default)]
    pub total: CohortCounters,
}

/// One bucket of 10 s.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CohortBucket {
    /// Start in seconds since 1970, a multiple of [`BUCKET_SECONDS`].
    pub start_unix_s: u64,
    /// What happened in it.
    #[serde(flatten)]
    pub counters: CohortCounters,
}

/// What happened to a cohort's requests. A request counts in the bucket of its end; a hedge in that of its launch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CohortCounters {
    /// Enrolled user actions, client retries aside. The base of duplicate rate and error rate.
    pub originals: u64,
    /// User actions of the cohort that are not enrolled.
    pub not_enrolled: u64,
    /// Hedges sent (in `Observe`: that would have been sent).
    pub hedges: u64,
    /// Hedges that won.
    pub wins: u64,
    /// Timer firings withheld as control group.
    pub withheld: u64,
    /// Timer firings withheld by thinning.
    pub thinned: u64,
    /// Enrolled user actions that ended in an error, sheds and client aborts aside.
    pub errors: u64,
    /// User actions that met the cohort's objective.
    pub objective_met: u64,
    /// User actions measured against the objective.
    pub objective_measured: u64,
    /// Losers read to the end.
    pub audited: u64,
    /// Audited losers that finished.
    pub late: u64,
    /// Cost of primaries and hedges.
    pub cost: Picos,
    /// Estimated cost of the primaries alone.
    pub cost_without: Picos,
    /// Cost of losers.
    pub cost_lost: Picos,
    /// Cost of retries.
    pub cost_retries: Picos,
    /// Part of `cost` whose basis is not exact.
    pub cost_estimated: Picos,
    /// Tokens of primaries and hedges on unpriced routes.
    pub unpriced_tokens: u64,
    /// Estimated tokens of the primaries alone on unpriced routes.
    pub unpriced_tokens_without: u64,
    /// `cost - cost_without`, where positive, by the route that the extra attempt ran on.
    pub extra_by_route: BTreeMap<String, Picos>,
    /// Whole answers (not streamed) by primaries whose tokens are known.
    pub answers: u64,
    /// How long they took, in milliseconds.
    pub answers_ms: u64,
    /// Tokens that they hold.
    pub answers_tokens: u64,
    /// Those of them that took at least the armed delay.
    pub slow_answers: u64,
    /// How long those took, in milliseconds.
    pub slow_answers_ms: u64,
    /// Tokens that those hold.
    pub slow_answers_tokens: u64,
}

/// One lane.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LaneState {
    /// Lane.
    pub lane: String,
    /// Limit now.
    pub limit: u32,
    /// User actions in flight.
    pub in_flight: u32,
    /// User actions waiting.
    pub queued: u32,
    /// Admitted, cumulative.
    pub admitted: u64,
    /// Shed by reason, cumulative.
    #[serde(default)]
    pub shed: BTreeMap<String, u64>,
    /// Admitted, and ended in an error of the provider or the gateway, cumulative. Clients that left are none of them.
    #[serde(default)]
    pub failed: u64,
    /// Waits in the queue, by bucket, cumulative.
    #[serde(default)]
    pub wait: Sparse,
    /// Last Retry-After sent, in seconds; 0 = none yet.
    #[serde(default)]
    pub last_retry_after_s: u32,
    /// Baseline of the congestion signal, in 1/1000.
    #[serde(default)]
    pub baseline_per_mille: u32,
}

/// One route.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RouteState {
    /// Route.
    pub route: String,
    /// Attempts in flight.
    pub in_flight: u32,
    /// `closed`, `open`, `halfOpen`, `recovering` or `slow`.
    pub breaker: String,
    /// Effective share of its configured weight, in percent.
    pub weight_percent: u32,
    /// Pushback until then, in milliseconds since 1970; 0 = none.
    #[serde(default)]
    pub throttled_until_unix_ms: u64,
    /// Why the route takes no traffic, for example `CredentialsRejected` or `QuotaExhausted`; empty = it does.
    #[serde(default)]
    pub blocked: String,
    /// Attempts ended, by outcome, cumulative.
    #[serde(default)]
    pub outcomes: BTreeMap<String, u64>,
    /// First tokens of primaries, by bucket, cumulative.
    #[serde(default)]
    pub first_token: Sparse,
    /// What is left of the account's limits, by model; models of which the provider tells nothing are not there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotas: Vec<QuotaState>,
}

/// What a provider said is left of its limits for one model, as this pod counts on since.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct QuotaState {
    /// Configured model.
    pub model: String,
    /// Requests; absent = not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<QuotaLeft>,
    /// Tokens; absent = not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<QuotaLeft>,
}

/// One limit of an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct QuotaLeft {
    /// The whole limit.
    pub limit: u64,
    /// What is left of it. Other pods may have used more since: each counts its own attempts only.
    pub left: u64,
    /// Until it is whole again, in milliseconds.
    pub reset_ms: u64,
}

/// Whether a mounted credential is there. Never the credential.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CredentialState {
    /// Secret.
    pub secret: String,
    /// Key in it.
    pub key: String,
    /// Present, not empty and usable for what it is named for: a key that is sent is one line, authorities are PEM.
    pub present: bool,
    /// The Secret is mounted with at least one key, whichever that is. A Secret that does not exist and one without any
    /// key look the same from inside a pod.
    #[serde(default)]
    pub secret_found: bool,
    /// The key is in the Secret, even if its value is empty.
    #[serde(default)]
    pub key_found: bool,
    /// Keyed hash, eight hex digits; empty when absent, not when unusable.
    #[serde(default)]
    pub fingerprint: String,
    /// When this value was first read, in milliseconds since 1970.
    #[serde(default)]
    pub since_unix_ms: u64,
}

/// The certificate that the traffic port should serve, and the one that it does. Never the key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CertificateState {
    /// Secret that it should come from.
    pub secret: String,
    /// SHA-256 of the certificate that new connections get, first 16 hex digits; empty = none, so no new connection is
    /// encrypted.
    pub served: String,
    /// When it was put in force, in milliseconds since 1970; 0 = never.
    pub since_unix_ms: u64,
    /// Keys of the Secret that are missing or empty.
    pub missing: Vec<String>,
    /// Why what is mounted is not what is served; empty = it is.
    pub problem: String,
}

/// Spend since the start of the process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SpendState {
    /// Cost of all attempts.
    pub total: Picos,
    /// Cost of winners.
    pub winners: Picos,
    /// Cost of losers.
    pub losers: Picos,
    /// Cost of retries.
    pub retries: Picos,
    /// Part of `total` whose basis is not exact.
    pub estimated: Picos,
}

/// Everything that must return to zero when nobody is asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InFlight {
    /// User actions.
    pub actions: u64,
    /// Attempts.
    pub attempts: u64,
    /// Lane permits.
    pub lane_permits: u64,
    /// Route permits.
    pub route_permits: u64,
    /// Budget tokens taken for attempts that were not yet sent, in 1/1000.
    pub budget_reserved_milli: u64,
    /// Buffered request bytes.
    pub buffered_bytes: u64,
    /// Connections of the traffic port whose TLS handshake is not over.
    pub handshakes: u64,
}
