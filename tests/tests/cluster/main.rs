//! Scenarios on the real Kubernetes of `tests/cluster`, one per file. Run by `tests/run cluster`, or by hand with
//! `cargo test -p hedgerow-tests --test cluster`: the first scenario brings the cluster up if it is not, and it stays up
//! until `tests/cluster/down`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod api;
mod autoscaler;
mod children;
mod conflict;
mod credentials;
mod definition;
mod deleted_fleet;
mod extremes;
mod first_request;
mod golden;
mod hold;
mod installation;
mod latch;
mod leader;
mod metadata;
mod newer_object;
mod policy_change;
mod readiness;
mod refusal;
mod rename;
mod render;
mod team;
mod too_large;
mod trip;
mod trouble;
