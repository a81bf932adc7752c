//! One cohort of one `HedgePolicy` with all defaults applied, together with the decision that is in force for it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A named class of requests; the first match over all cohorts wins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cohort {
    /// The `HedgePolicy` that it belongs to.
    pub policy: String,
    /// Name, unique in the fleet, at most 40 characters.
    pub name: String,
    /// Mode after policy, cohort and fleet switches; `Disabled` also for `suspend`.
    pub mode: Mode,
    /// Which requests belong to it.
    #[serde(default, rename = "match")]
    pub matches: CohortMatch,
    /// Share of matching requests that is enrolled, 0 to 100.
    pub share_percent: u32,
    /// Where hedges may go; empty lists = anywhere.
    #[serde(default)]
    pub hedge_to: HedgeTo,
    /// Hedge although most of the prompt is usually cached on the primary.
    #[serde(default)]
    pub hedge_warm_cache: bool,
    /// First-token objective, for deadline misses in status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<Objective>,
    /// When the timer fires.
    pub delay: Delay,
    /// Ends of the user action.
    pub deadline: Deadline,
    /// Spend ceiling of one user action over all attempts, in micro-units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_spend_micros: Option<u64>,
    /// What delay and thinning aim for, in percent of enrolled originals.
    pub duplicate_target_percent: u32,
    /// Share of timer firings withheld as the control group.
    pub holdout_percent: u32,
    /// Attempts and back-off.
    pub retry: Retry,
    /// What makes an answer valid.
    #[serde(default)]
    pub contract: Contract,
    /// What the pod does on its own when nobody watches.
    pub blind: Blind,
    /// The decision in force.
    pub decision: Decision,
}

/// Modes of a cohort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Never hedge, decide nothing.
    Disabled,
    /// Decide and count, send nothing.
    Observe,
    /// Hedge.
    Enforce,
}

/// Which requests a cohort takes; an absent or empty part matches everything.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CohortMatch {
    /// Public model names.
    pub models: Vec<String>,
    /// Streaming or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// Operations.
    pub operations: Vec<Operation>,
    /// Tool use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolUse>,
    /// Estimated input tokens below this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens_below: Option<u64>,
    /// Requested output cap below this; a request without a cap does not match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens_below: Option<u64>,
    /// Exact header values, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// Tenants.
    pub tenants: Vec<String>,
}

/// Operations that cohorts and lanes can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Operation {
    /// `/v1/chat/completions`.
    ChatCompletions,
    /// `/v1/completions`.
    Completions,
    /// `/v1/responses`.
    Responses,
    /// `/v1/embeddings`.
    Embeddings,
    /// `/v1/messages`.
    Messages,
    /// `/v1/messages/count_tokens`.
    CountTokens,
}

/// Tool use that a cohort can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToolUse {
    /// No tools.
    None,
    /// Only tools that the client executes.
    ClientOnly,
}

/// Where hedges may go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HedgeTo {
    /// Providers; empty = any.
    pub providers: Vec<String>,
    /// Regions; empty = any.
    pub regions: Vec<String>,
}

/// First-token objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Objective {
    /// Target.
    pub first_token_ms: u64,
    /// Share of requests that should meet it, 1 to 100.
    pub percent: u32,
}

/// When the hedge timer fires, counted from the start of the primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Delay {
    /// Rule.
    pub strategy: DelayStrategy,
    /// Quantile of the cell's curve, 50 to 99.
    pub quantile_percent: u32,
    /// Lower end.
    pub min_ms: u64,
    /// Upper end, streams only.
    pub max_ms: u64,
    /// Delay while nothing is known.
    pub cold_start_ms: u64,
    /// Delay with [`DelayStrategy::Fixed`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed_ms: Option<u64>,
}

/// Delay rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DelayStrategy {
    /// A quantile of the cell's curve.
    Quantile,
    /// SingleR: delay and probability that minimise the tail under the duplicate target.
    Optimal,
    /// A constant.
    Fixed,
}

/// Ends of a user action, from the arrival of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Deadline {
    /// Launching and committing attempts of a stream.
    pub stream_ms: u64,
    /// Launching and committing attempts of a complete answer.
    pub complete_ms: u64,
    /// The whole answer.
    pub total_ms: u64,
}

impl Default for Deadline {
    fn default() -> Self {
        Self { stream_ms: 120_000, complete_ms: 600_000, total_ms: 1_800_000 }
    }
}

/// Attempts and back-off of one user action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Retry {
    /// Every attempt counts, hedge and retry alike; 1 to 3.
    pub max_attempts: u32,
    /// First back-off on the same route.
    pub backoff_base_ms: u64,
    /// Longest back-off.
    pub backoff_max_ms: u64,
}

impl Default for Retry {
    fn default() -> Self {
        Self { max_attempts: 2, backoff_base_ms: 500, backoff_max_ms: 20_000 }
    }
}

/// What makes an answer valid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Contract {
    /// A finish reason is needed.
    pub require_finish: bool,
    /// Accepted finish reasons; empty = any.
    pub allowed_finish_reasons: Vec<String>,
    /// Check the answer against the JSON schema that the request asks for.
    pub json_schema_from_request: bool,
    /// JSON pointers that must exist.
    pub required_json_pointers: Vec<String>,
}

impl Default for Contract {
    fn default() -> Self {
        Self {
            require_finish: true,
            allowed_finish_reasons: Vec::new(),
            json_schema_from_request: false,
            required_json_pointers: Vec::new(),
        }
    }
}

/// What a pod does when the operator's heartbeat is older than `after_ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Blind {
    /// Age of the heartbeat.
    pub after_ms: u64,
    /// Reaction.
    pub action: BlindAction,
}

impl Default for Blind {
    fn default() -> Self {
        Self { after_ms: 1_800_000, action: BlindAction::Suspend }
    }
}

/// Reactions to blindness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BlindAction {
    /// No hedges until the heartbeat is back.
    Suspend,
    /// Go on.
    Continue,
}

/// The decision in force for a cohort: made by the operator, kept in status, obeyed by gateways.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// State of the latch.
    pub state: DecisionState,
    /// Share of enrolled requests that may be hedged now (ramp or trial), 0 to 100.
    pub hedging_percent: u32,
    /// Only grows; a smaller one than already seen is ignored.
    pub transition: u64,
    /// Reason of the state, for records and `/state`, for example `ExtraSpendExceeded`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// States that matter to a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DecisionState {
    /// Decide and count only.
    Observing,
    /// Hedging share is growing.
    Ramping,
    /// Hedging in full.
    Active,
    /// Off by a guardrail or by hand.
    Suspended,
    /// Back on at a small share to find out.
    Trial,
    /// Off by the spec.
    Disabled,
}

impl DecisionState {
    /// Whether hedges may be sent in this state.
    pub fn hedges(self) -> bool {
        matches!(self, Self::Ramping | Self::Active | Self::Trial)
    }
}

/// Retry and hedge budget of one model, or the default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BudgetRule {
    /// Public model name; empty in `settings.defaults`.
    pub model: String,
    /// Deposit per original, in percent of one attempt.
    pub ratio_percent: u32,
    /// Most tokens that the fleet's buckets may hold together.
    pub cap: u32,
    /// Retries per second that are possible whatever the ratio, for the whole fleet.
    pub retry_reserve_per_second: u32,
}

impl Default for BudgetRule {
    fn default() -> Self {
        Self { model: String::new(), ratio_percent: 10, cap: 50, retry_reserve_per_second: 1 }
    }
}
