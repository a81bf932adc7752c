//! Status of the four kinds, in the resources' own form.
//!
//! Inputs: what authors asked for (objects, verdicts), what pods said ([`Pods`], figures), what was decided (standings), and
//! the status before. Output: the status now. Pure: no client, no clock; whoever calls decides where to write it, and
//! [`due`] says when that is worth a write.
//!
//! Invariants: every condition carries the generation that it is about; times are absolute; nothing is said about pods that
//! no pod said; an object that is not in force has a status that says so.

mod alike;
mod conditions;
mod due;
mod fleet;
mod lane;
mod pods;
mod policy;
mod references;
mod route;
#[cfg(test)]
mod tests;

pub use due::{Decisive, due};
pub use fleet::{FleetFacts, fleet};
pub use lane::{LaneFacts, LaneFigures, lane};
pub use pods::{Pod, Pods, Roll, Sight, Trouble};
pub use policy::{CohortFacts, PolicyFacts, policy};
pub use route::{RouteFacts, RouteFigures, route};
