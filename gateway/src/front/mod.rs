//! The traffic port: from an accepted connection to a request that the race can take.

pub mod answer;
pub mod body;
pub mod classify;
pub mod closing;
mod connection;
pub mod gate1;
pub mod generate;
pub mod handover;
mod handshake;
pub mod models;
pub mod router;
pub mod server;
pub mod stored;
mod vanished;
