//! What people and dashboards see of a running gateway: metrics and logs. Records are in [`crate::settle`].

pub mod catalog;
mod family;
pub mod log;
pub mod metrics;
