//! A cohort whose guardrail has tripped, and everything that could let it hedge too early: the leader dies in the cooldown,
//! somebody edits the status by hand. Only its own trial brings hedging back.

use serde_json::Value;

use crate::{
    greedy,
    installation::Installation,
    team::{SOON, Team, until},
};

/// Longer than a dead leader's Lease and an edit take on a busy machine.
const COOLDOWN: &str = "75s";

/// What somebody would write to have hedging back at once.
const BY_HAND: &str = r#"[{"op":"replace","path":"/status/cohorts/0/state","value":"Active"},
{"op":"replace","path":"/status/cohorts/0/transition","value":1},{"op":"remove","path":"/status/cohorts/0/until"}]"#;

/// State of the cohort in every gateway, and hedges sent by all of them.
async fn in_force(team: &Team) -> (Vec<String>, u64) {
    let states = team.states().await;
    let cohorts: Vec<&Value> = states.iter().map(|state| &state["cohorts"][0]).collect();
    let state = |cohort: &&Value| cohort["state"].as_str().unwrap_or_default().to_owned();
    let hedges = cohorts.iter().filter_map(|cohort| cohort["total"]["hedges"].as_u64()).sum();
    (cohorts.iter().map(state).collect(), hedges)
}

#[tokio::test]
async fn a_suspended_cohort_hedges_only_after_its_trial_whoever_dies_or_edits_its_status() {
    let team = Team::new("suspended-latch");
    let operator = Installation::of(&team, 2, &[]);
    team.provider();
    for route in ["a", "b"] {
        team.apply(&team.route(route, "  rampUp: {startPercent: 100}\n"));
    }
    team.apply(&greedy::policy("chat", greedy::JSON, COOLDOWN));
    team.answered().await;
    team.provider_is(greedy::SLOW);
    team.traffic("chat-json", &team.address().await.unwrap(), 12);
    let tripped = team.cohort("Suspended").await;
    let hedged = until("every gateway to have stopped", SOON, async || {
        let (states, hedges) = in_force(&team).await;
        (!states.is_empty() && states.iter().all(|state| state == "Suspended")).then_some(hedges)
    })
    .await;
    assert!(hedged > 0, "it tripped by hedges");

    let first = operator.leader();
    operator.kubectl(&["delete", "pod", &first, "--grace-period=0", "--force"]);
    until("another leader", SOON, async || {
        let leader = operator.leader();
        (!leader.is_empty() && leader != first).then_some(())
    })
    .await;
    team.kubectl(&["patch", "hp", "chat", "--subresource=status", "--type=json", "--patch", BY_HAND]);
    let decided = ["state", "transition", "since", "until", "reason", "trips"];
    until("the status to be as it was decided", SOON, async || {
        let policy = team.ours("hedgepolicies", "chat").await?;
        let cohort = &policy["status"]["cohorts"][0];
        decided.iter().all(|field| cohort[*field] == tripped[*field]).then_some(())
    })
    .await;
    let (states, hedges) = in_force(&team).await;
    assert!(states.iter().all(|state| state == "Suspended"), "{states:?}");
    assert_eq!(hedges, hedged, "no hedge of a suspended cohort");

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
