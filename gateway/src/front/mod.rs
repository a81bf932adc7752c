//! The traffic port: from an accepted connection to a request that the race can take.

pub mod closing;
mod connection;
pub mod server;
