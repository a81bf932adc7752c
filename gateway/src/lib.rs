//! Starts here.

pub mod config;
pub mod front;
pub mod upstream;
pub mod wire;
