//! Least privilege over a whole run: the operator was denied nothing, wrote no status that is invalid, used everything that
//! it may, and no gateway ever had a token.
//!
//! Input: audit logs of all clusters of a run, `*.log` in the folder `HEDGEROW_AUDIT` (where `tests/cluster/down` leaves
//! them), or that of the cluster that is up; and the Roles as helm renders them. It says something about the scenarios, too:
//! a right that none of them uses either gets one, or goes. Last in `tests/run cluster`; starts nothing itself.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "the table of rights is for people, too")]

mod denied;
mod granted;
mod run;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};

use hedgerow_tests::audit::Entry;

use crate::run::run;

#[test]
fn the_operator_is_denied_nothing() {
    let run = run();
    let denied: Vec<&Entry> = run.logs.iter().flat_map(|log| denied::denied(log, &run.operators)).collect();
    let mut kinds: BTreeMap<(String, String), (usize, &Entry)> = BTreeMap::new();
    for entry in denied {
        kinds.entry((entry.right(), entry.user.clone())).or_insert((0, entry)).0 += 1;
    }
    for ((right, user), (count, first)) in &kinds {
        println!("{count:6}  {right}  {user}  first at {}: {}", first.received, first.message);
    }
    assert!(kinds.is_empty(), "{} kinds of requests were denied", kinds.len());
}

/// The API server calls a status invalid (422) where it breaks a bound of the CRD: what people would look at is then old.
#[test]
fn no_status_that_the_operator_writes_is_invalid() {
    let run = run();
    let refused = |entry: &&Entry| {
        run.operators.contains(&entry.user) && entry.resource.ends_with("/status") && entry.code == 422
    };
    let refused: Vec<&Entry> = run.logs.iter().flatten().filter(refused).collect();
    for entry in &refused {
        println!(
            "{} {} {}/{}: {}",
            entry.received,
            entry.right(),
            entry.namespace,
            entry.name,
            entry.message
        );
    }
    assert!(refused.is_empty(), "{} statuses were refused", refused.len());
}

#[test]
fn every_right_of_the_operator_is_used() {
    let run = run();
    let mut used: BTreeMap<String, usize> = BTreeMap::new();
    for entry in run.logs.iter().flatten() {
        if run.operators.contains(&entry.user) && entry.is_granted() {
            *used.entry(entry.right()).or_default() += 1;
        }
    }
    let granted = granted::rights();
    for right in &granted {
        println!("{:8}  {right}", used.get(right).copied().unwrap_or(0));
    }
    let unused: BTreeSet<&String> = granted.iter().filter(|right| !used.contains_key(*right)).collect();
    assert!(unused.is_empty(), "no scenario makes the operator use: {unused:?}");
}

#[test]
fn no_gateway_ever_had_a_token() {
    let run = run();
    let accounts: usize =
        run.logs.iter().map(|log| tokens::accounts_of_gateways(log, &run.operators).len()).sum();
    assert!(accounts > 0, "no fleet was made: the logs would prove nothing");
    let issued: Vec<String> = run.logs.iter().flat_map(|log| tokens::issued(log, &run.operators)).collect();
    assert!(issued.is_empty(), "tokens of gateways: {issued:?}");
    println!("{accounts} accounts of gateways, no token");
}

#[test]
fn nobody_of_ours_asks_for_a_secret() {
    let run = run();
    let ours = run.logs.iter().flatten().filter(|entry| run.operators.contains(&entry.user));
    let asked: BTreeSet<String> =
        ours.filter(|entry| entry.resource.starts_with("secrets")).map(Entry::right).collect();
    assert!(asked.is_empty(), "{asked:?}");
}
