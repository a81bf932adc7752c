//! When a route is taken out of use, and for how long.
//!
//! Five failures in a row and 5 s to 300 s are those of Finagle's FailureAccrual.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::rule;
use crate::units::{DurationText, Percent};

/// When a route is taken out of use: failures in a row, their share, or the share of slow calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = rules)]
pub struct Breaker {
    /// Failures in a row that open the breaker. Default: 5.
    #[schemars(range(min = 1, max = 1000))]
    pub consecutive_failures: i32,
    /// Share of failures in the window that opens it, in percent. Default: 50.
    #[schemars(range(min = 1, max = 100))]
    pub failure_percent: Percent,
    /// Share of slow calls in the window that lowers the route's weight, in percent. Default: 50.
    #[schemars(range(min = 1, max = 100))]
    pub slow_percent: Percent,
    /// A call is slow above this percentage of the usual first token of its cell. Default: 300.
    #[schemars(range(min = 101, max = 10_000))]
    pub slow_factor_percent: Percent,
    /// Requests in the window below which the two shares say nothing. Default: 20.
    #[schemars(range(min = 1, max = 100_000))]
    pub min_requests: i32,
    /// Time over which the shares are counted. 1s to 1h. Default: 30s.
    pub window: DurationText,
    /// How long it stays open the first time; doubles with every failed probe. 100ms to 1h. Default:
    /// 5s.
    pub open_for: DurationText,
    /// Longest time it stays open before the next probe. 100ms to 24h. Default: 300s.
    pub max_open_for: DurationText,
}

impl Default for Breaker {
    fn default() -> Self {
        Self {
            consecutive_failures: 5,
            failure_percent: 50,
            slow_percent: 50,
            slow_factor_percent: 300,
            min_requests: 20,
            window: "30s".into(),
            open_for: "5s".into(),
            max_open_for: "300s".into(),
        }
    }
}

fn rules(schema: &mut Schema) {
    rule::attach(
        schema,
        [
            rule::within("window", "1s", "1h"),
            rule::within("openFor", "100ms", "1h"),
            rule::within("maxOpenFor", "100ms", "24h"),
            rule::ordered("openFor", "maxOpenFor"),
        ],
    );
}
