//! Disruptions that need the cluster for themselves: the whole control plane is away, the node takes no pods, or the time
//! until statuses are right again is held to what the product promises. Scenarios run one after the other: `cargo test -p
//! hedgerow-tests --test outage -- --test-threads=1`; in `tests/run` they come after those of the target `cluster`, whose
//! fixtures they use.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "how long something took is measured here, and nowhere else")]
#![allow(clippy::print_stdout, reason = "what was measured is for people; cargo shows it with --nocapture")]
#![allow(dead_code, reason = "the fixtures have more words than these scenarios need")]

/// How soon statuses are right again after a disruption.
const AGAIN: std::time::Duration = std::time::Duration::from_secs(15);

#[path = "../cluster/api.rs"]
mod api;
mod api_server;
mod drain;
#[path = "../cluster/installation.rs"]
mod installation;
#[path = "../cluster/leader_under_load.rs"]
mod leader_under_load;
#[path = "../cluster/load.rs"]
mod load;
#[path = "../cluster/pod_deleted.rs"]
mod pod_deleted;
#[path = "../cluster/right.rs"]
mod right;
#[path = "../cluster/team.rs"]
mod team;
