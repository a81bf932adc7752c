//! The data plane: one HTTP endpoint in front of LLM providers that hedges, retries, sheds and books.
//!
//! The way of a request, and the module of each step:
//!
//! ```text
//! accept   front::server      a connection, HTTP/1.1 or h2c
//! gate 1   front              client key, ceilings
//! classify wire               model, stream, tools, state: one scan, no tree
//! gate 2   runtime::lane      the lane's limit, or 429
//! plan     plan               primary, alternates
//! race     race, upstream     one task polls both attempts
//! relay    relay              the winner's bytes
//! settle   settle, telemetry  cost, counters, records
//!          trace              spans, where the fleet asks for them
//! ```
//!
//! Mechanisms are in `hedgerow-policy` (pure), the contract with the operator in `hedgerow-config`. This crate adds
//! I/O and time. It never talks to Kubernetes.

pub mod admin;
pub mod app;
pub mod cli;
pub mod config;
pub mod drain;
pub mod error;
pub mod front;
pub mod permit;
pub mod plan;
pub mod race;
pub mod relay;
pub mod runtime;
pub mod settle;
pub mod telemetry;
pub mod trace;
pub mod upstream;
pub mod wire;

pub use cli::run;
