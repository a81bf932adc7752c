//! `hedgerow replay`: the shipped policy in virtual time.
//!
//! Why: claims about tails and money are easy to make. Here every mechanism of `hedgerow_policy` and every decision of
//! `domain::guardrail` runs unchanged in a discrete-event simulation, next to other systems' published rules, over the
//! same requests. Inputs: a scenario and seeds. Outputs: figures with their spread over the seeds, and whether the
//! scenario's acceptance numbers hold. Same seed, same bytes, on any number of threads.
//!
//! [`model`] is what is simulated, [`engine`] makes it move, [`baseline`] are the other rules, [`scenario`] are the
//! questions, [`report`] the answers. Refuses: to re-implement a decision, and to tune a model until a number comes out.

pub mod baseline;
pub mod command;
pub mod engine;
pub mod experiment;
pub mod figures;
pub mod model;
pub mod report;
pub mod scenario;
pub mod whatif;

pub use command::{Args, command};
pub use experiment::{Results, conduct};
pub use figures::Figures;
