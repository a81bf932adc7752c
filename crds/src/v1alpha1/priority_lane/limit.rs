//! The numbers of a lane: limit, share of the pod, queue, Retry-After.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::rule;
use crate::units::{DurationText, Percent};

/// How the limit moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Algorithm {
    /// Additive increase, multiplicative decrease on the first token against the usual one.
    #[default]
    #[serde(rename = "AIMD")]
    Aimd,
    /// The limit stays at `initial`.
    Fixed,
}

/// The limit of user actions in flight, per pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = concurrency_rules)]
pub struct Concurrency {
    /// AIMD or Fixed (stays at initial). Default: AIMD.
    pub algorithm: Algorithm,
    /// Limit to start with, in user actions per pod. Default: 20.
    #[schemars(range(min = 1, max = 100_000))]
    pub initial: i64,
    /// Lowest limit, in user actions per pod. Default: 4.
    #[schemars(range(min = 1, max = 100_000))]
    pub min: i64,
    /// Highest limit, in user actions per pod. Default: 1000.
    #[schemars(range(min = 1, max = 100_000))]
    pub max: i64,
    /// Decrease on overload, in percent of the limit. Default: 25.
    #[schemars(range(min = 1, max = 90))]
    pub decrease_percent: Percent,
    /// Increase per window near the limit, in percent of it, at least one user action. Default: 1.
    #[schemars(range(min = 1, max = 100))]
    pub increase_percent: Percent,
    /// Median of the first token above which it counts as overload whatever is usual. 1ms to 1h.
    /// Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_first_token: Option<DurationText>,
}

impl Default for Concurrency {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::Aimd,
            initial: 20,
            min: 4,
            max: 1000,
            decrease_percent: 25,
            increase_percent: 1,
            target_first_token: None,
        }
    }
}

fn concurrency_rules(schema: &mut Schema) {
    rule::attach(
        schema,
        [
            rule::computed(
                "self.min <= self.initial && self.initial <= self.max",
                "initial",
                "'initial (%d) must lie between min (%d) and max (%d): change initial or set min and max \
                 too'.format([self.initial, self.min, self.max])",
            ),
            rule::within("targetFirstToken", "1ms", "1h"),
        ],
    );
}

/// The lane's part of a pod's maxInFlight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = share_rules)]
pub struct Share {
    /// Part that no other lane may take, in percent; over all lanes of a fleet at most 100. Default: 0.
    #[schemars(range(min = 0, max = 100))]
    pub guaranteed_percent: Percent,
    /// Part that it never exceeds, in percent. Default: 100.
    #[schemars(range(min = 1, max = 100))]
    pub ceiling_percent: Percent,
}

impl Default for Share {
    fn default() -> Self {
        Self { guaranteed_percent: 0, ceiling_percent: 100 }
    }
}

fn share_rules(schema: &mut Schema) {
    rule::attach(schema, [rule::ordered_integers("guaranteedPercent", "ceilingPercent")]);
}

/// How long and how many wait for a free place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = queue_rules)]
pub struct Queue {
    /// Longest wait; 0s = shed at once. 0s to 60s. Default: 500ms.
    pub max_wait: DurationText,
    /// Most waiting, in percent of the limit. Default: 25.
    #[schemars(range(min = 0, max = 1000))]
    pub max_depth_percent: Percent,
}

impl Default for Queue {
    fn default() -> Self {
        Self { max_wait: "500ms".into(), max_depth_percent: 25 }
    }
}

fn queue_rules(schema: &mut Schema) {
    rule::attach(schema, [rule::within("maxWait", "0s", "60s")]);
}

/// Bounds of the Retry-After of a shed request; whole seconds on the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = retry_after_rules)]
pub struct RetryAfter {
    /// Shortest. 1s to 60s. Default: 1s.
    pub min: DurationText,
    /// Longest. 1s to 60s. Default: 60s.
    pub max: DurationText,
}

impl Default for RetryAfter {
    fn default() -> Self {
        Self { min: "1s".into(), max: "60s".into() }
    }
}

fn retry_after_rules(schema: &mut Schema) {
    rule::attach(
        schema,
        [rule::within("min", "1s", "60s"), rule::within("max", "1s", "60s"), rule::ordered("min", "max")],
    );
}
