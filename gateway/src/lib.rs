//! Starts here.

pub mod upstream;
pub mod wire;
