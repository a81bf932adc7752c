//! When a hedge is due, and how long a user action may take.
//!
//! The 95th percentile is the class's expected delay in Dean and Barroso, The Tail at Scale (2013), which
//! bounds duplicates at about 5 %. `max` is for streams only, because a complete answer may rightly take
//! longer.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::rule;
use crate::units::{DURATION_PATTERN, DurationText, Percent};

/// How the delay of a hedge is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum DelayStrategy {
    /// A quantile of the first token of the request's cell.
    #[default]
    Quantile,
    /// The delay with the best tail for the duplicate target.
    Optimal,
    /// A constant.
    Fixed,
}

/// When a hedge is due, counted from the start of the primary: unless the first generated token has
/// come (streams) or the complete answer (otherwise).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = delay_rules)]
pub struct Delay {
    /// Quantile, Optimal or Fixed. Default: Quantile.
    pub strategy: DelayStrategy,
    /// The quantile of the cell's first token, in percent. Default: 95.
    #[schemars(range(min = 50, max = 99))]
    pub quantile_percent: Percent,
    /// Shortest delay. 10ms to 10m. Default: 1s.
    pub min: DurationText,
    /// Longest delay; streams only. 10ms to 30m. Default: 8s.
    pub max: DurationText,
    /// Delay while a cell has too few samples, between min and max. Default: 4s.
    pub cold_start: DurationText,
    /// The delay with strategy Fixed. 10ms to 30m. Default: absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed: Option<DurationText>,
}

impl Default for Delay {
    fn default() -> Self {
        Self {
            strategy: DelayStrategy::Quantile,
            quantile_percent: 95,
            min: "1s".into(),
            max: "8s".into(),
            cold_start: "4s".into(),
            fixed: None,
        }
    }
}

fn delay_rules(schema: &mut Schema) {
    let between = rule::computed(
        format!(
            "![self.min, self.coldStart, self.max].all(d, d.matches('{DURATION_PATTERN}')) || \
             (duration(self.min) <= duration(self.coldStart) && duration(self.coldStart) <= duration(self.max))"
        ),
        "coldStart",
        "'coldStart (' + self.coldStart + ') must lie between min (' + self.min + ') and max (' + self.max + '): ' \
         + (duration(self.coldStart) < duration(self.min) ? 'raise coldStart or lower min' : \
         'lower coldStart or raise max')",
    );
    rule::attach(
        schema,
        [
            rule::within("min", "10ms", "10m"),
            rule::within("max", "10ms", "30m"),
            rule::within("fixed", "10ms", "30m"),
            between,
        ],
    );
    rule::attach(schema, rule::present_with("fixed", "strategy", &["Fixed"]));
}

/// How long a user action may take, from the arrival of the request, queueing included. A shorter one
/// from the client wins for committing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = deadline_rules)]
pub struct Deadline {
    /// Until when attempts of a stream may be launched and committed. 100ms to 24h. Default: 120s.
    pub stream: DurationText,
    /// Until when attempts of a non-streaming request may be launched and committed. 100ms to 24h.
    /// Default: 600s.
    pub complete: DurationText,
    /// Until when the whole answer must be there. 100ms to 24h. Default: 30m.
    pub total: DurationText,
}

impl Default for Deadline {
    fn default() -> Self {
        Self { stream: "120s".into(), complete: "600s".into(), total: "30m".into() }
    }
}

fn deadline_rules(schema: &mut Schema) {
    rule::attach(
        schema,
        [
            rule::within("stream", "100ms", "24h"),
            rule::within("complete", "100ms", "24h"),
            rule::within("total", "100ms", "24h"),
            rule::ordered("stream", "total"),
            rule::ordered("complete", "total"),
        ],
    );
}
