//! Nothing changes for a while: the operator renews its Lease, and says once in each interval that it is there.

use std::{collections::BTreeMap, time::Duration};

use hedgerow_tests::audit::{Entry, Log};
use tokio::time::{self, Instant};

use crate::{crowd::FLEETS, installation::Installation};

/// Without a write for this long the change before is over: figures of fleets follow it by 10 s.
const STILL: Duration = Duration::from_secs(20);
/// Longest wait for that.
const SETTLED: Duration = Duration::from_mins(3);
/// What is looked at: each object's minute for figures comes once.
const QUIET: Duration = Duration::from_secs(75);
/// Between two looks at the log.
const LOOK: Duration = Duration::from_millis(500);

/// What an operator asked of the API server.
fn is_the_operators(entry: &Entry) -> bool {
    entry.agent.starts_with("hedgerow/") && entry.user.starts_with("system:serviceaccount:")
}

fn is_renewal(entry: &Entry) -> bool {
    entry.resource == "leases" && entry.verb == "update"
}

fn is_heartbeat(entry: &Entry) -> bool {
    entry.resource == "configmaps" && entry.verb == "patch" && entry.name.ends_with("-fleet")
}

/// Waits until the operators have nothing left to write.
pub(crate) async fn settled(log: &mut Log) {
    let started = Instant::now();
    let mut last = started;
    while last.elapsed() < STILL {
        let writes =
            log.more(|entry| is_the_operators(entry) && entry.is_write() && !is_renewal(entry)).unwrap();
        if let Some(write) = writes.last() {
            last = Instant::now();
            assert!(
                started.elapsed() < SETTLED,
                "no end of writes: {} {}/{}",
                write.right(),
                write.namespace,
                write.name
            );
        }
        time::sleep(LOOK).await;
    }
    println!("settled after {} s", last.duration_since(started).as_secs());
}

/// Reads what is asked for while nothing changes, prints it, and holds it against the budget.
pub(crate) async fn nothing_is_written(log: &mut Log, operator: &Installation) {
    let leader = operator.leader();
    time::sleep(QUIET).await;
    assert_eq!(operator.leader(), leader, "another leader would read and write");
    let entries = log.more(is_the_operators).unwrap();
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for entry in &entries {
        *counts.entry((entry.user.clone(), entry.right())).or_default() += 1;
    }
    println!("asked of the API server in {} s while nothing changed:", QUIET.as_secs());
    for ((user, right), count) in &counts {
        println!("{count:6}  {right:40} {user}");
    }
    let budget = |entry: &&Entry| entry.is_write() && !is_renewal(entry) && !is_heartbeat(entry);
    let over: Vec<String> = entries
        .iter()
        .filter(budget)
        .map(|entry| format!("{} {}/{}", entry.right(), entry.namespace, entry.name))
        .collect();
    assert!(over.is_empty(), "written although nothing changed:\n{}", over.join("\n"));
    let mut beats: BTreeMap<&str, usize> = BTreeMap::new();
    for beat in entries.iter().filter(|entry| is_heartbeat(entry)) {
        *beats.entry(&beat.namespace).or_default() += 1;
    }
    println!("heartbeats of {} of {FLEETS} fleets", beats.len());
    assert!(beats.values().all(|count| *count == 1), "an interval lasts five minutes: {beats:?}");
    let renewals = entries.iter().filter(|entry| is_renewal(entry)).count();
    assert!(renewals > 0, "the log shows what the leader does");
}
