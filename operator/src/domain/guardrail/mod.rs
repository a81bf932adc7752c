//! Guardrails: what the pods counted in, one decision per cohort out.
//!
//! Flow: spec -> [`rules`]; pods' rings -> [`Rings`] -> windows -> evaluation -> one step of the latch
//! (`hedgerow_policy::guardrail`, which owns the arithmetic) -> [`Outcome`]. Its [`Standing`] goes to status and, as a latch,
//! into the configuration; its [`Decision`], present only at a transition, is the one value behind the log line, the metric,
//! the Event and the timeline, so that they cannot disagree.
//!
//! Invariants: no data is neither healthy nor breached; a decision suspends hedging, never requests; evidence is fixed at the
//! moment of the decision. Pure: time is an argument.

mod annotation;
mod decide;
mod evidence;
#[cfg(test)]
pub(crate) mod fixture;
mod rings;
mod rules;
mod standing;

pub use annotation::{Request, Wanted, wanted};
pub use decide::{Decision, Facts, Measured, Outcome, decide};
pub use evidence::why;
pub use rings::{Base, Rings, tally};
pub use rules::rules;
pub use standing::{Standing, Usual};
