//! Somebody writes a policy all the time, so that nearly every write of its status meets a newer version; and another leader
//! decides in between.
//!
//! A decision is not lost in it, and of two leaders the further one counts: whether the operator hears of it by a conflict,
//! as while the policy is written all the time, or by its watch, as afterwards.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use hedgerow_tests::audit::{Entry, Log};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::{
    api::{Api, run_folder},
    greedy,
    installation::Installation,
    team::{SOON, Team, until},
};

/// Longer than what is done while the cohort is suspended takes on a busy machine.
const COOLDOWN: &str = "5m";
/// Most writes of somebody who is not stopped: some minutes of them.
const WRITES: u32 = 50_000;
/// By how many transitions the other leader is further.
const FURTHER: i64 = 3;

/// Somebody who writes annotations of the policy `chat`, one after another without a pause.
struct Writer {
    stop: Arc<AtomicBool>,
    /// Every transition of the first cohort that was in an answer, without repetitions, and how many were written.
    seen: JoinHandle<(Vec<i64>, u32)>,
}

impl Writer {
    fn start(team: &Team) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (path, stopped) = (policy(team), stop.clone());
        let seen = tokio::spawn(async move {
            let api = Api::of_the_cluster();
            let (mut transitions, mut written) = (Vec::new(), 0);
            while written < WRITES && !stopped.load(Ordering::Relaxed) {
                let patch =
                    json!({ "metadata": { "annotations": { "example.com/written": written.to_string() } } });
                let answer = api.merge(&path, &patch).await.unwrap();
                transitions.extend(answer["status"]["cohorts"][0]["transition"].as_i64());
                transitions.dedup();
                written += 1;
            }
            (transitions, written)
        });
        Self { stop, seen }
    }

    async fn stop(self) -> (Vec<i64>, u32) {
        self.stop.store(true, Ordering::Relaxed);
        self.seen.await.unwrap()
    }
}

fn policy(team: &Team) -> String {
    format!("/apis/hedgerow.dev/v1alpha1/namespaces/{}/hedgepolicies/chat", team.namespace)
}

fn transition(cohort: &Value) -> i64 {
    cohort["transition"].as_i64().unwrap()
}

/// What another leader, who has got further with the cohort, writes about it.
async fn decided_elsewhere(team: &Team, cohort: &Value) -> Value {
    let (now, mut decided) = (Timestamp::now(), cohort.clone());
    let time = |minutes: u64| (now + Duration::from_mins(minutes)).strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    for (field, value) in [
        ("transition", json!(transition(cohort) + FURTHER)),
        ("since", json!(time(0))),
        ("until", json!(time(10))),
        ("reason", json!("DuplicateRateExceeded")),
        ("message", json!("Hedging is off, says another leader.")),
    ] {
        decided[field] = value;
    }
    let patch = json!({ "status": { "cohorts": [decided] } });
    team.api.merge(&format!("{}/status", policy(team)), &patch).await.unwrap();
    decided
}

/// Waits until that decision, and no other one, is in force and in the status.
async fn in_force(team: &Team, decided: &Value) {
    until("every gateway to follow the other leader", SOON, async || {
        let states = team.states().await;
        let all = states.iter().all(|state| state["cohorts"][0]["transition"] == decided["transition"]);
        (all && !states.is_empty()).then_some(())
    })
    .await;
    let cohort = team.cohort("Suspended").await;
    for field in ["transition", "since", "until", "reason", "message"] {
        assert_eq!(cohort[field], decided[field], "{field}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_latch_whose_policy_is_written_all_the_time_loses_no_decision_and_follows_a_further_leader() {
    let team = Team::new("write-conflict");
    let operator = Installation::of(&team, 1, &[]);
    let active = greedy::active(&team, COOLDOWN).await;

    let mut log = Log::from_now_on(&run_folder().join("audit.log")).unwrap();
    let writer = Writer::start(&team);
    greedy::breach(&team).await;
    let suspended = team.cohort("Suspended").await;
    assert_eq!(transition(&suspended), transition(&active) + 1, "one decision");
    let hedged = greedy::last_hedge(&team).await;
    assert!(hedged > 0, "it tripped by hedges");
    let decided = decided_elsewhere(&team, &suspended).await;
    in_force(&team, &decided).await;
    let (seen, written) = writer.stop().await;
    assert_eq!(seen, [&active, &suspended, &decided].map(transition), "it only grows");

    let user = format!("system:serviceaccount:{}:", operator.release);
    let of_the_operator = |entry: &Entry| {
        entry.user.starts_with(&user)
            && entry.namespace == team.namespace
            && entry.resource == "hedgepolicies/status"
    };
    let writes = log.more(of_the_operator).unwrap();
    let conflicts = writes.iter().filter(|entry| entry.code == 409).count();
    println!("{written} writes in between; {conflicts} conflicts in {} writes of statuses", writes.len());
    assert!(conflicts > 0, "nothing was in the way");

    let decided = decided_elsewhere(&team, &decided).await;
    in_force(&team, &decided).await;
    assert_eq!(greedy::stopped(&team).await, Some(hedged), "no hedge of a suspended cohort");

    team.provider_is(greedy::QUICK);
    team.kubectl(&["annotate", "hp", "chat", "hedgerow.dev/resume.json=now"]);
    assert_eq!(transition(&team.cohort("Active").await), transition(&decided) + 1, "it goes on from there");
}
