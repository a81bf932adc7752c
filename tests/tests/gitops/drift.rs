//! A spec that was edited by hand is as in Git again after the next reconcile; what the operator decided stays.

use serde_json::Value;

use crate::{
    delivery::Delivery,
    installation::Installation,
    team::{SOON, Team, until},
};

const POLICY: &str = "
apiVersion: hedgerow.dev/v1alpha1
kind: HedgePolicy
metadata: {name: chat}
spec: {mode: Enforce, holdoutPercent: 5, cohorts: [{name: stream}]}
";

/// What was decided, since when, and how often it changed.
fn decided(policy: &Value) -> [Value; 3] {
    let cohort = &policy["status"]["cohorts"][0];
    ["state", "since", "transition"].map(|field| cohort[field].clone())
}

#[tokio::test]
async fn a_spec_edited_by_hand_is_put_back_and_the_status_of_the_operator_stays() {
    let team = Team::new("drift");
    let _operator = Installation::of(&team, 1, &[]);
    let delivery = Delivery::of(&team);
    let route = team.route("only", "");
    delivery
        .ready(&delivery.commit("a route and a policy", &[("route", Some(&route)), ("policy", Some(POLICY))]))
        .await;
    let before = until("the cohort to be decided on", SOON, async || {
        let policy = team.ours("hedgepolicies", "chat").await?;
        (policy["status"]["cohorts"][0]["state"] == "Ramping").then_some(policy)
    })
    .await;
    let pods = team.pods().await;

    // A field of Git and one that Git leaves to its default.
    let edit = r#"{"spec":{"holdoutPercent":9,"duplicateTargetPercent":3}}"#;
    team.kubectl(&["patch", "hp", "chat", "--type=merge", "--patch", edit]);
    team.condition("hedgepolicies", "chat", ["Programmed", "True", "Programmed"]).await;
    delivery.reconciled().await;

    team.condition("hedgepolicies", "chat", ["Programmed", "True", "Programmed"]).await;
    let after = team.ours("hedgepolicies", "chat").await.unwrap();
    assert_eq!(after["spec"], before["spec"]);
    assert_eq!(decided(&after), decided(&before), "neither edit decides anything anew");
    assert_eq!(team.pods().await, pods, "no pod restarts for it");
}
