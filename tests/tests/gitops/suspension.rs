//! Hedging is switched off and on in Git. Off by decision is no failure: the delivery stays ready.

use crate::{
    delivery::Delivery,
    installation::Installation,
    team::{SOON, Team, until},
};

const POLICY: &str = "
apiVersion: hedgerow.dev/v1alpha1
kind: HedgePolicy
metadata: {name: chat}
spec: {mode: Enforce, suspend: false, cohorts: [{name: stream, suspend: false}, {name: rest}]}
";

/// Waits for the states of the two cohorts.
async fn states(team: &Team, expected: [&str; 2]) {
    until(&format!("the cohorts to be {expected:?}"), SOON, async || {
        let policy = team.ours("hedgepolicies", "chat").await?;
        let cohorts = policy["status"]["cohorts"].as_array()?;
        let states = cohorts.iter().map(|cohort| cohort["state"].as_str().unwrap_or_default());
        states.eq(expected).then_some(())
    })
    .await;
}

#[tokio::test]
async fn hedging_is_suspended_and_resumed_through_git_and_the_delivery_stays_ready() {
    let team = Team::new("suspension");
    let _operator = Installation::of(&team, 1, &[]);
    let delivery = Delivery::of(&team);
    let route = team.route("only", "");
    delivery
        .ready(&delivery.commit("a route and a policy", &[("route", Some(&route)), ("policy", Some(POLICY))]))
        .await;
    states(&team, ["Ramping", "Ramping"]).await;

    let one = POLICY.replace("stream, suspend: false", "stream, suspend: true");
    delivery.ready(&delivery.commit("one cohort off", &[("policy", Some(&one))])).await;
    states(&team, ["Disabled", "Ramping"]).await;

    let all = POLICY.replace("Enforce, suspend: false", "Enforce, suspend: true");
    delivery.ready(&delivery.commit("all off", &[("policy", Some(&all))])).await;
    states(&team, ["Disabled", "Disabled"]).await;

    delivery.ready(&delivery.commit("on again", &[("policy", Some(POLICY))])).await;
    states(&team, ["Ramping", "Ramping"]).await;
}
