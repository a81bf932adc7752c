//! What hedges and retries may cost: the budget, the limit of one user action, the ramp, retries.
//!
//! One bucket for both, as in Finagle's RetryBudget (20 %, reserve 10 per second, 10 s); ours is half as
//! generous, because a call to a model costs more than an RPC. `cap` stands for 10 s of traffic.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::rule;
use crate::units::{DurationText, Micros, Percent};

/// One bucket for retries and hedges per model; pods hold equal shares. When two policies name the
/// same model, the first in order rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Budget {
    /// Further attempts per original, in percent. Default: 10.
    #[schemars(range(min = 0, max = 100))]
    pub ratio_percent: Percent,
    /// Most attempts that may be saved up, in the whole fleet. Default: 50.
    #[schemars(range(min = 1, max = 100_000))]
    pub cap: i64,
    /// Retries per second that are always allowed, in the whole fleet. Default: 1.
    #[schemars(range(min = 0, max = 100))]
    pub retry_reserve_per_second: i32,
}

impl Default for Budget {
    fn default() -> Self {
        Self { ratio_percent: 10, cap: 50, retry_reserve_per_second: 1 }
    }
}

/// Limits of one user action over all its attempts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActionLimits {
    /// Most that one user action may cost, in micro-units of the fleet's currency. A further attempt
    /// that could exceed it by its estimate, or whose route is unpriced, is not launched; the primary
    /// always is. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000_000_i64))]
    pub max_spend_micros: Option<Micros>,
}

/// How fast the hedging share grows when it is switched on. A step is taken only within the
/// guardrails. A trial runs at startPercent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = ramp_rules)]
pub struct Ramp {
    /// Share of enrolled requests to start with, in percent. 100 = no ramp. Default: 25.
    #[schemars(range(min = 1, max = 100))]
    pub start_percent: Percent,
    /// Growth of the share with every step, in percent of it. Default: 50.
    #[schemars(range(min = 1, max = 1000))]
    pub grow_percent: Percent,
    /// Time between two steps. 1s to 24h. Default: 15m.
    pub every: DurationText,
}

impl Default for Ramp {
    fn default() -> Self {
        Self { start_percent: 25, grow_percent: 50, every: "15m".into() }
    }
}

fn ramp_rules(schema: &mut Schema) {
    rule::attach(schema, [rule::within("every", "1s", "24h")]);
}

/// Retries of a user action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = retry_rules)]
pub struct Retry {
    /// Most attempts of one user action: primary, hedge and retries alike. Default: 2.
    #[schemars(range(min = 1, max = 3))]
    pub max_attempts: i32,
    /// First back-off on the same route, with full jitter. 1ms to 60s. Default: 500ms.
    pub backoff_base: DurationText,
    /// Longest back-off. 1ms to 10m. Default: 20s.
    pub backoff_max: DurationText,
}

impl Default for Retry {
    fn default() -> Self {
        Self { max_attempts: 2, backoff_base: "500ms".into(), backoff_max: "20s".into() }
    }
}

fn retry_rules(schema: &mut Schema) {
    rule::attach(
        schema,
        [
            rule::within("backoffBase", "1ms", "60s"),
            rule::within("backoffMax", "1ms", "10m"),
            rule::ordered("backoffBase", "backoffMax"),
        ],
    );
}
