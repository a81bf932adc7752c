//! A guardrail trips on a real cluster: what people see before, during and after, and what gateways then do.
//!
//! Two cohorts share a policy. Every complete answer takes longer than the fixed delay, so its cohort hedges more than half
//! of its requests and spends too much; streams have their first token long before it, and their cohort goes on.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    golden::{compare, numbers, table},
    greedy,
    installation::Installation,
    team::{SOON, Team, until},
};

/// Longer than it takes to read what is said during it, also on a busy machine: after it a trial fails, in other words.
const COOLDOWN: &str = "30s";
const COHORTS: &str = "{name: json, match: {stream: false}}, {name: stream, match: {stream: true}}";

/// Tables of all kinds, without what is measured.
fn columns(team: &Team) -> String {
    let masked = ["P99", "SAVED", "DUP%", "P95", "HEALTH", "LIMIT", "INFLIGHT", "SHED/5M", "CONFIG", "AGE"];
    ["hp", "proute", "pl", "gf"]
        .map(|kind| table(&team.kubectl(&["get", kind]), &masked, &team.namespace))
        .join("\n")
}

/// What `kubectl describe` says of the policy's cohorts and conditions, and its Events, without figures and times.
fn description(team: &Team) -> String {
    let text = team.kubectl(&["describe", "hp", "greedy"]).replace(&team.namespace, "NAMESPACE");
    let status = text.split_once("\nStatus:\n").unwrap().1;
    let (status, events) = status.split_once("\nEvents:").unwrap();
    let told = ["Name", "State", "Reason", "Message", "Trips", "Type", "Status"];
    // Fields of cohorts and conditions themselves are indented by four; what they consist of, further.
    let field = |line: &&str| {
        let name = line.strip_prefix("    ").unwrap_or_default().split(':').next().unwrap_or_default();
        told.contains(&name)
    };
    let status = status.lines().filter(field).map(|line| {
        let (name, value) = line.trim().split_once(':').unwrap_or_default();
        format!("{name}: {}\n", value.trim())
    });
    // An Event's age is the third word; how long the other window is over its limit differs, and so does what a busy
    // machine made of the time before.
    let event = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let said = [&words[..2], &words[3..]].concat().join(" ");
        numbers(&said).split(" over ").next().unwrap_or_default().to_owned() + "\n"
    };
    let tripped = |line: &&str| line.contains("HedgingSuspended") && line.contains(" json ");
    let events: BTreeSet<String> = events.lines().skip(3).filter(tripped).map(event).collect();
    numbers(&format!("{}\n{}", status.collect::<String>(), events.into_iter().collect::<String>()))
}

async fn cohorts(team: &Team, json: &str, stream: &str) -> Value {
    until(&format!("json to be {json} and stream {stream}"), SOON, async || {
        let policy = team.ours("hedgepolicies", "greedy").await?;
        let state =
            |at: usize| policy["status"]["cohorts"][at]["state"].as_str().unwrap_or_default().to_owned();
        (state(0) == json && state(1) == stream).then(|| policy.clone())
    })
    .await
}

/// The Events of the policy, by reason.
async fn told(team: &Team, reason: &str) {
    until(&format!("an Event {reason}"), SOON, async || {
        let selector = format!("--field-selector=reason={reason},involvedObject.name=greedy");
        let names = team.kubectl(&["get", "events", &selector, "--output=name"]);
        (!names.is_empty()).then_some(())
    })
    .await;
}

#[tokio::test]
async fn one_cohort_is_suspended_while_another_goes_on_and_comes_back_through_a_trial() {
    let team = Team::new("trip");
    let _operator = Installation::of(&team, 1, &[]);
    greedy::routes(&team);
    team.apply(
        "{apiVersion: hedgerow.dev/v1alpha1, kind: PriorityLane, metadata: {name: everyone}, spec: {}}",
    );
    team.apply(&greedy::policy("greedy", COHORTS, COOLDOWN));
    team.answered().await;
    for (kind, name) in [("providerroutes", "a"), ("providerroutes", "b"), ("prioritylanes", "everyone")] {
        team.condition(kind, name, ["Ready", "True", "Ready"]).await;
    }
    let address = team.address().await.unwrap();
    team.traffic("chat-json", &address, 12);
    team.traffic("chat-stream", &address, 4);
    cohorts(&team, "Active", "Active").await;
    team.condition("hedgepolicies", "greedy", ["GuardrailBreached", "False", "WithinLimits"]).await;
    told(&team, "HedgingActive").await;
    compare("trip/before.txt", &columns(&team));

    team.provider_is(greedy::SLOW);
    cohorts(&team, "Suspended", "Active").await;
    told(&team, "HedgingSuspended").await;
    // What was decided is written before what is told of it.
    team.condition("hedgepolicies", "greedy", ["GuardrailBreached", "True", "ExtraSpendExceeded"]).await;
    let during = (columns(&team), description(&team));
    team.provider_is(greedy::QUICK);
    compare("trip/during.txt", &during.0);
    compare("trip/during.describe.txt", &during.1);
    team.condition("hedgepolicies", "greedy", ["Ready", "True", "Ready"]).await;

    cohorts(&team, "Trial", "Active").await;
    told(&team, "HedgingTrial").await;
    compare("trip/trial.txt", &columns(&team));
    cohorts(&team, "Active", "Active").await;
    team.condition("hedgepolicies", "greedy", ["GuardrailBreached", "False", "WithinLimits"]).await;
    compare("trip/after.txt", &columns(&team));
}
