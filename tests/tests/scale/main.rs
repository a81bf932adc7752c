//! One operator with a thousand routes: what it keeps in memory, what it writes while nothing changes, and how soon a change
//! is in force.
//!
//! Runs alone on the cluster of `tests/cluster`, because what it measures is the whole machine: in `tests/run` after the
//! scenarios of the target `cluster`, by hand `cargo test -p hedgerow-tests --test scale -- --nocapture`. All figures are
//! printed. What is asserted of times has a wide bound, for a machine that is slow or busy; bytes and writes have none.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "it measures, and what it measured is printed"
)]

#[path = "../cluster/api.rs"]
#[allow(dead_code, reason = "the fixture of the target `cluster`, of which less is needed here")]
mod api;
#[path = "../cluster/installation.rs"]
#[allow(dead_code, reason = "as above")]
mod installation;
#[path = "../cluster/team.rs"]
#[allow(dead_code, reason = "as above")]
mod team;

mod change;
mod crowd;
mod memory;
mod quiet;

use hedgerow_tests::audit::Log;

use crate::{crowd::Crowd, installation::Installation, team::Team};

/// What the installation is told beside what the fixture says: every namespace, and small gateways.
const VALUES: [&str; 4] = [
    "watchNamespaces=null",
    "fleetDefaults.resources.requests.cpu=1m",
    "fleetDefaults.resources.requests.memory=16Mi",
    "fleetDefaults.drain.timeout=5s",
];

#[tokio::test]
async fn a_thousand_routes_cost_little_memory_no_write_while_nothing_changes_and_a_change_is_soon_in_force() {
    let team = Team::new("scale");
    let operator = Installation::of(&team, 2, &VALUES);
    // All at once is what an operator finds when it starts; one by one, each object would be a change of its own.
    operator.scale(0);
    let crowd = Crowd::gather(&team).await;
    operator.scale(2);
    crowd.in_force().await;

    let mut log = Log::from_now_on(&api::run_folder().join("audit.log")).unwrap();
    quiet::settled(&mut log).await;
    quiet::nothing_is_written(&mut log, &operator).await;
    memory::is_bounded(&operator);
    change::is_soon_in_force(&mut log, &crowd).await;
    memory::is_bounded(&operator);
}
