//! Who is admitted, who waits, who is shed, and when to come back.
//!
//! One synchronous state machine for all lanes of a pod. The shell calls [`Lanes::arrive`] once per user
//! action, keeps the [`Permit`] for as long as the answer's body lives, and gives it back with
//! [`Lanes::release`]; what waits is a [`Ticket`], and [`Lanes::next_wake`] says which tickets are served or
//! shed. No waker, no clock, no lock in here.
//!
//! - Two ceilings bound a lane: its adaptive limit ([`crate::limiter`]) and `ceilingPercent` of the pod's
//!   `maxInFlight`. Unused guarantees may be borrowed; the ceiling exists because long streams can't be
//!   pre-empted.
//! - Tenant first, then lane: no tenant holds more than `maxSharePercent` of its lane, and when the lane (or the
//!   pod) is at 90 % and other tenants are active, no more than its weighted share (at least 1). A lane below its guarantee
//!   is asked for its own tenants only: a share of the pod that counted there, too, refused interactive users at half of the
//!   pod while batch had borrowed 50 of the 60 % guaranteed to them (`hedgerow replay s12`: 1.2 % of the questions).
//! - A freed place goes to waiting lanes below their guarantee by priority, then strictly by priority, except
//!   that every twentieth goes to the lowest waiting lane (a strict order starves batch, GIE#1861).
//! - Queues are short and first in, first out; they absorb jitter, not overload. Everything else is shed at once.
//! - A shed names a time by reservation: a place in the spare drain, not a constant, so that those who obey do not
//!   come back together. A tenant at its share reserves in its own part only, so a flood tells nobody else to wait.
//!
//! Invariants: permits out = in-flight count of lane and pod; a ticket is answered exactly once; in-flight never
//! passes `maxInFlight`, nor a lane's limit except after the limit fell. Nothing is allocated per request once
//! queues and tenant maps have grown to their working size.

mod dispatch;
mod pod;
mod reservation;
mod state;
mod tenant;
#[cfg(test)]
mod tests;

pub use pod::Lanes;
pub use state::{Arrival, LaneId, Permit, Request, Rule, Shed, ShedReason, Ticket, View, Wake};
