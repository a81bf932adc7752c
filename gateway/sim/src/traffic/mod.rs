//! Traffic: clients that behave as users' SDKs do and measure what a user would.
//!
//! In: classes of requests, and when they come. Out: one [`Outcome`] per user action, in a channel or added up by
//! a [`Tally`]. Invariant: every arrival gives exactly one outcome. Latency counts from the intended start.

mod action;
mod answer;
mod arrivals;
mod class;
mod client;
mod closed;
mod integrity;
mod open;
mod outcome;
mod retry;
mod sse;
mod tally;
mod target;

pub use arrivals::Arrivals;
pub use class::{RequestKind, TrafficClass};
pub use client::{Client, Reply, SendError};
pub use closed::ClosedLoop;
pub use integrity::Integrity;
pub use open::{MOST_OPEN, OpenLoop};
pub use outcome::{Failure, GatewayHeaders, Outcome, Verdict};
pub use retry::RetryRule;
pub use tally::{Counts, Quantiles, Summary, Tally};
pub use target::{Target, TrustError};
