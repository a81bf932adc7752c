//! Hedgerow from Git: Flux in the cluster of `tests/cluster` reconciles what a scenario commits, one scenario per file.
//!
//! Run by `tests/run cluster`, or by hand with `cargo test -p hedgerow-tests --test gitops`: the first scenario brings up
//! the cluster, and Flux and the Git server in it (`tests/cluster/gitops`), and they stay up until `tests/cluster/down`.
//! Flux's programs take minutes to build for the first time.
//!
//! What is asserted is what Flux says of our objects: its `wait` is the kstatus library itself, so nothing here reads a
//! condition in its place. Argo CD's reading is in `tests/chart`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

/// The cluster's fixture is that of its own scenarios.
#[path = "../cluster/api.rs"]
#[allow(dead_code, reason = "shared with the target `cluster`, which uses all of it")]
mod api;
#[path = "../cluster/installation.rs"]
#[allow(dead_code, reason = "shared with the target `cluster`, which uses all of it")]
mod installation;
#[path = "../cluster/team.rs"]
#[allow(dead_code, reason = "shared with the target `cluster`, which uses all of it")]
mod team;

mod delivery;
mod drift;
mod examples;
mod fleet;
mod holds;
mod prune;
mod refusal;
mod rename;
mod repository;
mod stalled;
mod suspension;
mod unseen;
