//! What the pods say, read and added up.
//!
//! Why: a decision about a cohort needs the whole fleet's counters, and pods come, go and restart under it.
//! [`Fetcher`] reads `GET /state`; [`Store`] turns cumulative counters into what happened since, by process and by
//! generation of a cell; [`Percentiles`] and [`Estimate`] are what users saw and
//! what they would have seen without hedging.
//!
//! Invariants: a pod that cannot be read is missing data, never zero; a counter that fell is discarded and counted, never
//! guessed; nothing here decides anything.

mod cumulative;
mod curve;
mod fetch;
mod recent;
mod store;
mod trail;

pub use cumulative::{CohortCumulative, Cumulative, LaneCumulative, RouteCumulative};
pub use curve::{Estimate, Percentiles};
pub use fetch::{FetchError, Fetcher};
pub use recent::Recent;
pub use store::{Life, Store};
pub use trail::Trail;
