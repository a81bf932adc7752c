//! Nobody watches for five minutes: gateways go on, and the next operator puts everything right.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::time;

use crate::{
    installation::Installation,
    load::{Load, busy_team},
    right::right_again,
    team::{SOON, Team, until},
};

/// Longer than a heartbeat of the operator, shorter than the default `blind.after`.
const DOWN: Duration = Duration::from_mins(5);

#[tokio::test]
async fn five_minutes_without_an_operator_cut_nothing_and_leave_nothing_wrong() {
    let team = Team::new("unwatched");
    let operator = Installation::of(&team, 2, &["fleetDefaults.drain.endpointDelay=10s"]);
    busy_team(&team, "default").await;
    let load = Load::start(&team, "default").await;

    operator.scale(0);
    let gone = Instant::now();
    // What happens meanwhile: a pod is lost, an author changes a policy.
    let (name, uid, _) = team.pods().await.remove(0);
    team.kubectl(&["delete", "pod", &name, "--wait=false"]);
    team.kubectl(&["patch", "hp", "default-chat", "--type=merge", "--patch", HOLDOUT]);
    until("another pod in its place, with the configuration that is stored", SOON, async || {
        let pods = team.pods().await;
        let states: Vec<Value> = team.states().await;
        let ready = states.iter().filter(|state| state["ready"] == true).count();
        (pods.len() == 2 && pods.iter().all(|pod| pod.1 != uid) && ready == 2).then_some(())
    })
    .await;
    time::sleep(DOWN.saturating_sub(gone.elapsed())).await;

    // With the default `blind.after` of 30 min, five minutes change nothing about hedging.
    for state in team.states().await {
        let cohort = &state["cohorts"][0];
        assert_ne!(cohort["state"], "Suspended", "{cohort}");
    }
    let started = Instant::now();
    operator.scale(2);
    println!("operators start within {:.1?}", started.elapsed());
    println!("five minutes alone: right after {:.1?}", right_again(&team, Instant::now()).await);
    let policy = team.ours("hedgepolicies", "default-chat").await.unwrap();
    assert_eq!(policy["status"]["observedGeneration"], 2, "what was changed meanwhile is in force");
    load.turn_over().await;
    load.was_unharmed("five minutes without an operator").await;
}

const HOLDOUT: &str = r#"{"spec":{"holdoutPercent":7}}"#;
