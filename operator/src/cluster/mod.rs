//! The only place with a Kubernetes client: what is there, in; what should be there, out.
//!
//! Why: whatever talks to the API server has to bear its absence, its conflicts and its limits in the same way. Inputs: the
//! four kinds, their children and pods ([`Stores`]). Outputs: children ([`Hand`]), statuses, nudges, Events, the Lease.
//!
//! Invariants: every request is bounded in time ([`bounded`]); server-side apply with named managers ([`manager`]); the first
//! write of a child is a create, so that a foreign object is never taken over; nothing here decides anything, and nothing
//! reads a Secret.

mod apply;
mod call;
mod check;
mod client;
mod cover;
mod events;
mod hold;
pub mod lease;
mod pods;
mod status;
mod watch;

pub use apply::{ApplyError, Hand, Settled, is_newer, is_owned};
pub use call::{CallError, bounded};
pub use check::{CheckError, check};
pub use client::connect;
pub use events::Events;
pub use hold::{HoldError, hold};
pub use pods::{Pace, Presence, nudge, presence};
pub use status::{StatusError, Statuses};
pub use watch::{FleetId, Stores, Undecodable, Wakes};

/// Names under which fields are owned; `kubectl get --show-managed-fields` shows them.
pub mod manager {
    /// Children of fleets, and generated fleets.
    pub const CHILDREN: &str = "hedgerow";
    /// The number of pods of a Deployment that an autoscaler takes over.
    pub const REPLICAS: &str = "hedgerow-replicas";
    /// Statuses.
    pub const STATUS: &str = "hedgerow-status";
    /// The Lease.
    pub const LEASE: &str = "hedgerow-lease";
    /// Holds by hand. GitOps engines take back what managers named `kubectl...` wrote, and leave this one alone.
    pub const HOLD: &str = "hedgerow-resume";
}
