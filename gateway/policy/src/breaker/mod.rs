//! Whether a route may be used, and with what share.
//!
//! Three things that are often mixed up are kept apart:
//!
//! - *open*: the route fails. Tripped by consecutive failures (5), or by the failure ratio (50 % of at least 20
//!   results in ten exact time buckets). Both are needed: the ratio misses a quiet route that just died, the run
//!   misses one that fails every other call. Quota or billing refusals open at once for 5 minutes.
//! - *throttled*: the route works and asked to wait. Its figure is kept (1 s to 5 min); no failure is counted.
//! - *slow*: the route answers, late. It is not closed off but loses routing weight; this is the
//!   cure for a slow region, which hedging under a budget cannot be.
//!
//! Recovery: back-off 5 s doubling to 300 s with equal jitter, then half-open. A probe holds a *lease* with a
//! generation: only that generation votes (an old call cannot decide, linkerd2#11493), the verdict falls on the
//! first token, a cancelled probe returns its lease without a vote, and a probe that never reports ends with
//! its lease as a failure, so half-open is always left (resilience4j#903, #935, #1389, #1568). Three successes
//! start a ramp of 5, 25, 50, 100 % in steps of 10 s, so recovery is no stampede.
//!
//! Cancelled attempts and losers never vote. A cancel *after* the slow limit is one known slow sample: its
//! first token can only come later, and without it a slow route whose calls are all hedged would look idle.
//! The last usable route is never refused for being open: the caller says so, and fails open.

mod backoff;
mod machine;
mod ramp;
mod slow;
mod state;
#[cfg(test)]
mod tests;

pub use machine::Breaker;
pub use ramp::RampUp;
pub use state::{Cause, Change, Outcome, Pass, Refusal, Rule, State};
