//! Who asks, how often, for what.

use std::sync::Arc;

use super::{chance::Shape, sdk::Sdk};

/// A rate or count over time: seconds since the start -> value.
pub type Course = Arc<dyn Fn(f64) -> f64 + Send + Sync>;

/// The same at all times.
pub fn constant(value: f64) -> Course {
    Arc::new(move |_| value)
}

/// How requests arrive.
#[derive(Clone)]
pub enum Arrivals {
    /// Independent arrivals at a rate that may change over time, whatever happens to them (open loop). `most` bounds it.
    Open {
        /// Requests a second.
        rate: Course,
        /// The largest value of `rate`.
        most: f64,
    },
    /// Two-state Markov-modulated Poisson: `factor` times the calm rate in bursts.
    Bursty {
        /// Requests a second while calm.
        calm: f64,
        /// How much more in a burst.
        factor: f64,
        /// Mean seconds of calm.
        mean_calm: f64,
        /// Mean seconds of a burst.
        mean_burst: f64,
    },
    /// Sessions that ask, wait for the whole answer, think, and ask again (closed loop).
    Sessions {
        /// How many.
        count: u32,
        /// Seconds between an answer and the next question.
        think: Shape,
    },
    /// All at one moment.
    Burst {
        /// When, in seconds.
        at: f64,
        /// How many.
        count: u32,
    },
}

/// One class of requests.
#[derive(Clone)]
pub struct Traffic {
    /// Name in reports.
    pub name: &'static str,
    /// How they arrive.
    pub arrivals: Arrivals,
    /// First and last second.
    pub span: (f64, f64),
    /// Cohort; none is never hedged.
    pub cohort: Option<usize>,
    /// Lane.
    pub lane: usize,
    /// Tenants among whom requests are drawn evenly; 0 is one unnamed.
    pub tenants: u64,
    /// Number of the first tenant.
    pub first_tenant: u64,
    /// Input tokens.
    pub input: u64,
    /// Share of them that is in the prompt cache of the route where the conversation lives, 0 to 1. Conversations keep
    /// their route.
    pub warm: f64,
    /// Output tokens.
    pub output: u64,
    /// What clients do when refused.
    pub sdk: Sdk,
    /// Counted in latency figures.
    pub measured: bool,
}

impl Traffic {
    /// Chat at a constant rate in the first cohort and lane.
    pub fn chat(rate: f64, seconds: f64) -> Self {
        Self {
            name: "chat",
            arrivals: Arrivals::Open { rate: constant(rate), most: rate },
            span: (0.0, seconds),
            cohort: Some(0),
            lane: 0,
            tenants: 0,
            first_tenant: 0,
            input: 1_000,
            warm: 0.0,
            output: 300,
            sdk: Sdk::OPENAI,
            measured: true,
        }
    }
}
