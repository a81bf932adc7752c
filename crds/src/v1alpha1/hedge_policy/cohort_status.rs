//! Status of a cohort: the guardrail's latch and what was measured.
//!
//! The latch is here and nowhere else: a new leader reads it and goes on. `transition` only grows, so
//! that an older decision is told from a newer one. Measured rates are integers in 1/1000.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    text::CohortName,
    units::{Micros, Percent},
};

/// State of a cohort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum CohortState {
    /// Decides and counts, sends nothing.
    Observing,
    /// Hedges a growing share.
    Ramping,
    /// Hedges its full share.
    Active,
    /// A guardrail or a hold keeps hedging off.
    Suspended,
    /// Hedges a small share to see whether the guardrails hold.
    Trial,
    /// Switched off by its author.
    Disabled,
    /// Too little traffic for a verdict.
    #[default]
    InsufficientData,
    /// Another policy of the fleet owns a cohort of this name.
    Conflicted,
}

/// What is known about one cohort.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CohortStatus {
    /// Name of the cohort.
    pub name: CohortName,
    /// Observing, Ramping, Active, Suspended, Trial, Disabled, InsufficientData or Conflicted.
    #[serde(default)]
    pub state: CohortState,
    /// Why, in one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub reason: Option<String>,
    /// Why, and what to do, in sentences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4096))]
    pub message: Option<String>,
    /// Since when it is in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// When the next step is due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    /// Number of the latest transition; only grows.
    #[serde(default)]
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_i64))]
    pub transition: i64,
    /// Trips of the current series.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub trips: i32,
    /// Trips in the last 24h, as times; older ones are dropped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    pub tripped_at: Vec<Time>,
    /// Suspension by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
    /// Value of the resume annotation that was last acted on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub last_handled_resume: Option<String>,
    /// Share of enrolled requests that is hedged now, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub share_percent_now: Option<Percent>,
    /// Delay of a hedge by the primary's route.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub delays: Vec<RouteDelay>,
    /// Hedges per 1000 enrolled requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub duplicate_per_mille: Option<i32>,
    /// What hedging added to spend, per 1000 of the primaries alone. May be negative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -1_000_000, max = 1_000_000))]
    pub extra_spend_per_mille: Option<i32>,
    /// Cost of cancelled losers per 1000 of the cost of all attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1000))]
    pub lost_race_per_mille: Option<i32>,
    /// Hedges that won, per 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1000))]
    pub win_per_mille: Option<i32>,
    /// Audited losers that had completed anyway, per 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1000))]
    pub late_per_mille: Option<i32>,
    /// Requests that missed their deadline, per 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1000))]
    pub deadline_miss_per_mille: Option<i32>,
    /// Whether the objective is met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective_met: Option<bool>,
    /// Why requests were not hedged, most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub not_hedged: Vec<NotHedged>,
    /// First token as users see it (non-streaming: complete answer).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token: Option<FirstToken>,
    /// What the 99th percentile would be without hedging, an estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_hedging: Option<WithoutHedging>,
    /// What hedging added to spend since midnight UTC, in micro-units of the fleet's currency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -9_007_199_254_740_992_i64, max = 9_007_199_254_740_992_i64))]
    pub extra_today_micros: Option<Micros>,
    /// The signals behind the state, for cohorts that are not Active or changed in the last hour.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub evidence: Vec<Evidence>,
    /// What other delays would do, for cohorts that are not Active or changed in the last hour.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    pub recommendation: Vec<Recommendation>,
    /// Why the tail is slow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Diagnosis>,
}

/// A suspension by hand, copied from the annotation so that the annotation may vanish.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hold {
    /// Until when hedging stays off.
    pub until: Time,
}

/// Delay of a hedge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RouteDelay {
    /// Route of the primary.
    #[schemars(length(max = 253))]
    pub route: String,
    /// Delay, such as 1.9s.
    #[schemars(length(max = 32))]
    pub delay: String,
}

/// A reason why requests were not hedged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotHedged {
    /// The reason, such as Withheld or BudgetEmpty.
    #[schemars(length(max = 64))]
    pub reason: String,
    /// Requests in the long window.
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_i64))]
    pub count: i64,
}

/// Percentiles of the first token.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FirstToken {
    /// Median, such as 0.61s.
    #[schemars(length(max = 32))]
    pub p50: String,
    /// 95th percentile.
    #[schemars(length(max = 32))]
    pub p95: String,
    /// 99th percentile.
    #[schemars(length(max = 32))]
    pub p99: String,
}

/// What the 99th percentile would be without hedging.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WithoutHedging {
    /// The estimate, such as 9.8s.
    #[schemars(length(max = 32))]
    pub p99: String,
    /// Lower 95 % bound.
    #[schemars(length(max = 32))]
    pub low: String,
    /// Upper 95 % bound.
    #[schemars(length(max = 32))]
    pub high: String,
    /// Samples behind it.
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_i64))]
    pub samples: i64,
}

/// One signal of a guardrail against its limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Evidence {
    /// The guardrail, such as extraSpend.
    #[schemars(length(max = 64))]
    pub signal: String,
    /// Value in the long window, in decimal form, such as 6.9 %.
    #[schemars(length(max = 32))]
    pub value: String,
    /// The limit, such as 6 %.
    #[schemars(length(max = 32))]
    pub threshold: String,
    /// Value and length of the short window, such as 8.2 % over 1m.
    #[schemars(length(max = 64))]
    pub short_window: String,
    /// Value and length of the long window, such as 6.9 % over 5m.
    #[schemars(length(max = 64))]
    pub long_window: String,
    /// Requests, hedges or losers in the long window, whichever is the base.
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_i64))]
    pub samples: i64,
}

/// What another delay would do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Recommendation {
    /// p80, p90, p95, p99 or optimal.
    #[schemars(length(max = 16))]
    pub percentile: String,
    /// The delay, such as 1.6s.
    #[schemars(length(max = 32))]
    pub delay: String,
    /// 99th percentile expected.
    #[schemars(length(max = 32))]
    pub p99: String,
    /// Duplicates expected, such as 4.9 %.
    #[schemars(length(max = 32))]
    pub duplicates: String,
    /// Extra spend expected, such as 0.9 %.
    #[schemars(length(max = 32))]
    pub spend: String,
}

/// Why a tail is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum DiagnosisKind {
    /// Single calls are slow, independently: hedging helps.
    IndependentStragglers,
    /// One route is slow: ejection helps.
    SlowRoute,
    /// Answers are long: only shorter answers help.
    LongAnswers,
    /// The provider slows us down.
    Throttled,
    /// All routes are slow at the same time.
    Correlated,
}

/// Why the tail is slow, from first token versus total, route by route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnosis {
    /// IndependentStragglers, SlowRoute, LongAnswers, Throttled or Correlated.
    pub kind: DiagnosisKind,
    /// The finding in a sentence.
    #[schemars(length(max = 1024))]
    pub message: String,
}
