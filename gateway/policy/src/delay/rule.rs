//! The policy's side of the delay.

use std::time::Duration;

/// Where the delay comes from before it is bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// A quantile of the primary's first-token curve.
    Quantile,
    /// The delay with the smallest predicted p99 at the duplicate target.
    Optimal,
    /// A constant.
    Fixed(Duration),
}

/// `spec.delay` of a policy with the two targets that thinning needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Where the delay comes from.
    pub strategy: Strategy,
    /// Quantile in percent, 1..=99.
    pub quantile_percent: u8,
    /// Never hedge earlier than this; wins over every other bound.
    pub min: Duration,
    /// Never wait longer than this; streams only.
    pub max: Duration,
    /// Delay while no cell, parent or grandparent has a sample.
    pub cold_start: Duration,
    /// Streams are armed on the first token, other requests on the complete answer.
    pub streaming: bool,
    /// Share of enrolled originals that may be hedged, in percent.
    pub duplicate_target_percent: u8,
    /// Share of firings deliberately not hedged, in percent: the control group.
    pub holdout_percent: u8,
}

impl Default for Rule {
    fn default() -> Self {
        Self {
            strategy: Strategy::Quantile,
            quantile_percent: 95,
            min: Duration::from_secs(1),
            max: Duration::from_secs(8),
            cold_start: Duration::from_secs(4),
            streaming: true,
            duplicate_target_percent: 5,
            holdout_percent: 5,
        }
    }
}
