//! Starts here.

pub mod config;
pub mod front;
pub mod settle;
pub mod telemetry;
pub mod upstream;
pub mod wire;
