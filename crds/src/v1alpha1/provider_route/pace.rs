//! How much a route gets: its ramp, its limits, and what a hang-up costs there.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::rule;
use crate::units::{DurationText, Percent};

/// How fast a new, edited, recovered or resumed route gets its share, as primary and as hedge target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = ramp_rules)]
pub struct RampUp {
    /// Share to start with, in percent. Default: 5.
    #[schemars(range(min = 1, max = 100))]
    pub start_percent: Percent,
    /// Time after which the share doubles. 1s to 24h. Default: 1m.
    pub every: DurationText,
}

impl Default for RampUp {
    fn default() -> Self {
        Self { start_percent: 5, every: "1m".into() }
    }
}

fn ramp_rules(schema: &mut Schema) {
    rule::attach(schema, [rule::within("every", "1s", "24h")]);
}

/// What the whole fleet may send to a route. Each pod gets its share; while the number of pods changes
/// the sum may be exceeded by one pod's share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Attempts in flight at the same time. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_concurrent: Option<i64>,
    /// Attempts started per minute. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000_000))]
    pub requests_per_minute: Option<i64>,
    /// Tokens per minute, input and output, by estimate. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000_000_i64))]
    pub tokens_per_minute: Option<i64>,
}

/// Whether a provider stops billing when the client hangs up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Billing {
    /// It stops generating and billing.
    Stops,
    /// It generates and bills to the end.
    Continues,
    /// Not known; the audit finds out.
    #[default]
    Unknown,
}

/// What the provider does when we hang up on a loser.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OnCancel {
    /// Stops, Continues or Unknown: whether billing stops when we hang up. Default: Unknown.
    pub billing: Billing,
    /// The share of losers that is read to the end instead of cancelled, to find out. Default: 2
    /// percent.
    pub audit: Audit,
}

/// The share of losers that is read to the end, and how far. Bounds of the memory and time it may take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = audit_rules)]
pub struct Audit {
    /// Share of losers, in percent; 0 = none. Default: 2.
    #[schemars(range(min = 0, max = 100))]
    pub percent: Percent,
    /// Most bytes to read of one loser. Default: 262144 (256 KiB).
    #[schemars(range(min = 1024, max = 67_108_864))]
    pub max_bytes: i64,
    /// Longest time to read one loser. 100ms to 1h. Default: 30s.
    pub max_time: DurationText,
    /// Most losers that a pod reads at the same time. Default: 8.
    #[schemars(range(min = 1, max = 1000))]
    pub max_concurrent: i32,
}

impl Default for Audit {
    fn default() -> Self {
        Self { percent: 2, max_bytes: 256 * 1024, max_time: "30s".into(), max_concurrent: 8 }
    }
}

fn audit_rules(schema: &mut Schema) {
    rule::attach(schema, [rule::within("maxTime", "100ms", "1h")]);
}
