//! What the gateway reads from its directories, and when.
//!
//! Inputs: `gateway.json` and `fleet.json` in one directory, credentials `<secret>/<key>` in another. Outputs: calls of
//! a [`Target`] whenever bytes change. Invariants: a configuration is taken as a whole or not at all; a bad file keeps
//! the good one in force and is told; credentials are never part of a message. Refuses: Kubernetes, and writing files.

pub mod authorities;
pub mod certificate;
pub mod credentials;
pub mod load;
pub mod watch;

pub use self::{
    certificate::Certificate,
    credentials::{Credentials, Secret},
    load::LoadError,
    watch::{Target, Watcher},
};
