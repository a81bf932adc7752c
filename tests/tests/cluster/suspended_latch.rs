//! A cohort whose guardrail has tripped, and everything that could let it hedge too early: the leader dies in the cooldown,
//! somebody edits the status by hand. Only its own trial brings hedging back.

use serde_json::Value;

use crate::{
    acknowledgement, greedy,
    installation::Installation,
    team::{SOON, Team, until},
};

/// Longer than a dead leader's Lease and an edit take on a busy machine.
const COOLDOWN: &str = "75s";

/// What somebody would write to have hedging back at once.
const BY_HAND: &str = r#"[{"op":"replace","path":"/status/cohorts/0/state","value":"Active"},
{"op":"replace","path":"/status/cohorts/0/transition","value":1},{"op":"remove","path":"/status/cohorts/0/until"}]"#;

#[tokio::test]
async fn a_suspended_cohort_hedges_only_after_its_trial_whoever_dies_or_edits_its_status() {
    let team = Team::new("suspended-latch");
    let operator = Installation::of(&team, 2, &[]);
    greedy::active(&team, COOLDOWN).await;
    greedy::breach(&team).await;
    let tripped = team.cohort("Suspended").await;
    let hedged = greedy::last_hedge(&team).await;
    assert!(hedged > 0, "it tripped by hedges");
    let took = acknowledgement::of_decision(&team, &operator, &tripped["transition"]).await;
    println!("from the trip to every gateway: {took:.2?}");

    operator.kill_leader().await;
    team.kubectl(&["patch", "hp", "chat", "--subresource=status", "--type=json", "--patch", BY_HAND]);
    let decided = ["state", "transition", "since", "until", "reason", "trips"];
    until("the status to be as it was decided", SOON, async || {
        let policy = team.ours("hedgepolicies", "chat").await?;
        let cohort = &policy["status"]["cohorts"][0];
        decided.iter().all(|field| cohort[*field] == tripped[*field]).then_some(())
    })
    .await;
    assert_eq!(greedy::stopped(&team).await, Some(hedged), "no hedge of a suspended cohort");

    team.provider_is(greedy::QUICK);
    let trial = team.cohort("Trial").await;
    let number = |cohort: &Value| cohort["transition"].as_i64().unwrap();
    assert_eq!(number(&trial), number(&tripped) + 1, "nothing happened in between");
    assert!(
        trial["since"].as_str() >= tripped["until"].as_str(),
        "{} < {}",
        trial["since"],
        tripped["until"]
    );
    assert_eq!(number(&team.cohort("Active").await), number(&tripped) + 2);
}
