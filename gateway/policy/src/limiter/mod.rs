//! How many user actions a lane may run at once.
//!
//! One decision per *window*, never per sample. Per-sample rules fail in both directions: `+1` per good sample
//! is exponential growth that drifts to 2.5 to 11 times the need, and `x0.75` on any slow one collapses to 18 %
//! of capacity because 0.7 % of healthy requests are slow. One decision on a windowed median keeps 99.8 % and
//! more (measured; the tests repeat it).
//!
//! - Signal: median over the window of first token / what the cell expects, primaries only. Never the total
//!   duration, which measures answer length. Only user actions admitted after the last cut count.
//! - Cut (`decreasePercent`, 25): overloads (429 and the like, from the last usable route) at least
//!   max(2, 2 %); or the median above 1.5 times its baseline, or above the absolute ceiling. A *latency* cut
//!   waits until in-flight fits the limit or a typical stream has passed: streams do not shrink on demand.
//! - Growth only near the limit (peak at 90 % or above): x1.5 until the first cut, then
//!   +max(1, `increasePercent` of the maximum). Equal additive steps are what makes pods converge to equal shares
//!   (Chiu, Jain 1989).
//! - Baseline: follows lower medians by 1/64, higher ones by 0.2 % a window, at most 1.0. (A running *minimum* would
//!   not do: with 10 samples a window its noise alone lies 40 % below the median, which
//!   would cut a healthy lane every few windows. At most 1.0, so that a long incident can't become normal.)
//!
//! `Gradient` is the rule of Envoy and Netflix in one line, without pinned probing; for self-hosted servers.
//! A sample that says nothing is the default: a permit dropped anywhere counts as nothing.

mod aimd;
mod histogram;
#[cfg(test)]
mod tests;

pub use aimd::Limiter;

use std::time::Duration;

/// The law of growth and cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// Additive increase, multiplicative decrease, once per window.
    #[default]
    Aimd,
    /// The initial limit for ever.
    Fixed,
    /// Latency gradient with cuts on overload.
    Gradient,
}

/// `spec.concurrency` of a lane, per pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Which law.
    pub algorithm: Algorithm,
    /// Limit of a cold pod.
    pub initial: u32,
    /// Lower bound, at least 1.
    pub min: u32,
    /// Upper bound.
    pub max: u32,
    /// What a cut takes away, percent.
    pub decrease_percent: u8,
    /// What a step adds, percent of `max`, at least 1.
    pub increase_percent: u8,
    /// A median first token above this is congestion, whatever is normal.
    pub target_first_token: Option<Duration>,
}

impl Default for Rule {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::Aimd,
            initial: 20,
            min: 4,
            max: 1_000,
            decrease_percent: 25,
            increase_percent: 1,
            target_first_token: None,
        }
    }
}

/// What one user action says about the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sample {
    /// Nothing: cancelled, lost, refused by us, failed.
    #[default]
    None,
    /// First token of a primary.
    FirstToken {
        /// From the start of the primary.
        elapsed: Duration,
        /// What the cell expects; `None` until it knows.
        expected: Option<Duration>,
    },
    /// The last usable route asked to slow down.
    Overloaded,
}

/// What a limiter hands to its successor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Warm {
    /// The limit.
    pub limit: u32,
    /// The baseline of the signal, per mille of what is expected; 0 = not known.
    pub baseline_per_mille: u32,
    /// How long ago that was.
    pub age: Duration,
}

/// Why a limit moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Overloads.
    Overload,
    /// The median rose against its baseline.
    Latency,
    /// The median passed the absolute ceiling.
    Ceiling,
    /// Near the limit before the first cut.
    SlowStart,
    /// Near the limit.
    Growth,
    /// The gradient's step.
    Gradient,
}

impl Cause {
    /// Stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Overload => "Overload",
            Self::Latency => "Latency",
            Self::Ceiling => "Ceiling",
            Self::SlowStart => "SlowStart",
            Self::Growth => "Growth",
            Self::Gradient => "Gradient",
        }
    }
}

/// One move of the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Before.
    pub from: u32,
    /// After.
    pub to: u32,
    /// Why.
    pub cause: Cause,
}
