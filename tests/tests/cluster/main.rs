//! Scenarios on the real Kubernetes of `tests/cluster`, one per file. Run by `tests/run cluster`, or by hand with
//! `cargo test -p hedgerow-tests --test cluster`: the first scenario brings the cluster up if it is not, and it stays up
//! until `tests/cluster/down`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "how long something took is measured here, and nowhere else")]
#![allow(clippy::print_stdout, reason = "what was measured is for people; cargo shows it with --nocapture")]

/// How soon statuses are right again after a disruption. The product promises 15 s, which the target `outage` holds it to;
/// here a dozen scenarios and their loads share the machine.
const AGAIN: std::time::Duration = std::time::Duration::from_mins(1);

mod acknowledgement;
mod api;
mod authority;
mod autoscaler;
mod blind;
mod certificate;
mod children;
mod conflict;
mod credentials;
mod definition;
mod deleted_fleet;
mod eviction;
mod extremes;
mod first_request;
mod fleets_roll;
mod gateways_roll;
mod golden;
mod greedy;
mod hold;
mod installation;
mod latch;
mod leader;
mod leader_under_load;
mod load;
mod metadata;
mod newer_object;
mod operator_down;
mod pod_deleted;
mod policy_change;
mod readiness;
mod refusal;
mod rename;
mod render;
mod replicas_handover;
mod right;
mod secret_rotation;
mod spend;
mod suspended_latch;
mod team;
mod too_large;
mod trip;
mod trouble;
mod unwritten_decision;
mod version_roll;
mod warm_roll;
mod write_conflict;
