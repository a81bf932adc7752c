//! Everything that decides, as values in and values out: no I/O, no clock, no environment, no async.
//!
//! ```text
//! objects -> snapshot -> installation -> attach (order, validate) -> compile -> gateway.json
//!                                                 \-> verdict for every object
//! ```
//!
//! The cluster and standalone call the same functions with the same types, so they cannot disagree.

pub mod attach;
pub mod compile;
pub(crate) mod counting;
pub mod decision;
pub mod figure;
pub mod guardrail;
pub mod installation;
mod notice;
pub mod object;
pub mod order;
mod permission;
pub mod snapshot;
pub mod spent;
pub mod tenancy;
pub mod upstream;
pub mod validate;
pub mod verdict;

pub use compile::{Compiled, compile};
pub use decision::{CohortKey, Latches};
pub use installation::{Installation, InstallationError};
pub use notice::Notice;
pub use object::{Fleet, LOCAL, Lane, Object, Policy, Resource, Route};
pub use snapshot::{Objects, Snapshot};
pub use tenancy::Tenancy;
pub use verdict::{Acceptance, Conflict, Verdict};
