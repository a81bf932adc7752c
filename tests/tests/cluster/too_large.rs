//! More than a ConfigMap holds: the last good configuration stays, also under another leader, and what is not in it says so.

use std::fmt::Write as _;

use serde_json::Value;

use crate::{
    installation::Installation,
    team::{SOON, Team, until},
};

/// Routes of the most models with the longest names, which compress to a bit more than the limit.
const ROUTES: usize = 96;

/// Names that no compressor makes much smaller.
fn name(state: &mut u64) -> String {
    const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";
    let letter = |_| {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(LETTERS[usize::try_from(*state >> 58).unwrap()])
    };
    format!("m{}", (0..127).map(letter).collect::<String>())
}

fn routes(team: &Team) -> String {
    let (mut text, mut state) = (String::new(), 7);
    for n in 0..ROUTES {
        let mut models = String::new();
        for _ in 0..64 {
            let _ = write!(models, "{{name: {}, upstreamName: {}}},", name(&mut state), name(&mut state));
        }
        let route = team.route(&format!("large-{n}"), "").replace("[{name: model}]", &format!("[{models}]"));
        let _ = write!(text, "---\n{route}");
    }
    text
}

#[tokio::test]
async fn above_the_limit_the_last_good_configuration_stays_and_what_is_not_in_it_says_so() {
    let team = Team::new("large");
    let operator = Installation::of(&team, 1, &[]);
    team.provider();
    team.apply(&team.route("first", ""));
    team.apply("{apiVersion: hedgerow.dev/v1alpha1, kind: HedgePolicy, metadata: {name: chat}, spec: {mode: Enforce, cohorts: [{name: all}]}}");
    team.condition("hedgepolicies", "chat", ["Ready", "True", "Ready"]).await;
    team.answered().await;
    team.apply(&routes(&team));

    let last = format!("large-{}", ROUTES - 1);
    let refused = team.condition("providerroutes", &last, ["Programmed", "False", "ConfigTooLarge"]).await;
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("several fleets"), "{message}");
    team.condition("providerroutes", &last, ["Stalled", "True", "ConfigTooLarge"]).await;
    team.condition("providerroutes", "first", ["Programmed", "True", "Programmed"]).await;
    assert!(team.ask().await.is_some(), "what was in force goes on");
    until("an Event of the fleet", SOON, async || {
        let selector = "--field-selector=involvedObject.kind=GatewayFleet,reason=ConfigTooLarge";
        let events: Value =
            serde_json::from_str(&team.kubectl(&["get", "events", selector, "--output=json"])).unwrap();
        (!events["items"].as_array()?.is_empty()).then_some(())
    })
    .await;

    everything_else_goes_on(&team, &["hedgerow.dev/suspend.all=2100-01-01T00:00:00Z"], "Suspended").await;

    // Another leader finds the last good configuration where the pods do.
    let pods = team.pods().await;
    operator.scale(0);
    operator.scale(1);
    until("another leader", SOON, async || (!operator.leader().is_empty()).then_some(())).await;
    everything_else_goes_on(
        &team,
        &["hedgerow.dev/suspend.all-", "hedgerow.dev/resume.all=1", "--overwrite"],
        "Ramping",
    )
    .await;
    let refused = team.condition("providerroutes", &last, ["Programmed", "False", "ConfigTooLarge"]).await;
    assert!(refused["message"].as_str().unwrap().contains("several fleets"), "{refused}");
    team.condition("gatewayfleets", "default", ["Programmed", "False", "ConfigTooLarge"]).await;
    team.condition("providerroutes", "first", ["Programmed", "True", "Programmed"]).await;
    assert!(team.ask().await.is_some(), "what was in force goes on");
    assert_eq!(team.pods().await, pods, "the same pods, not restarted");

    keep_what_fits(&team);
    team.condition("providerroutes", &last, ["Programmed", "True", "Programmed"]).await;
    team.condition("providerroutes", "first", ["Programmed", "True", "Programmed"]).await;
}

#[tokio::test]
async fn what_never_fitted_starts_no_gateway_says_so_and_starts_once_it_fits() {
    let team = Team::new("never-fitted");
    team.apply(&routes(&team));
    team.apply("{apiVersion: hedgerow.dev/v1alpha1, kind: PriorityLane, metadata: {name: all}, spec: {}}");
    let _operator = Installation::of(&team, 1, &[]);
    let last = format!("large-{}", ROUTES - 1);
    let all = [("gatewayfleets", "default"), ("providerroutes", &last), ("prioritylanes", "all")];
    for (resource, name) in all {
        team.condition(resource, name, ["Programmed", "False", "ConfigTooLarge"]).await;
        team.condition(resource, name, ["Stalled", "True", "ConfigTooLarge"]).await;
    }
    assert_eq!(team.pods().await, []);
    keep_what_fits(&team);
    for (resource, name) in all {
        team.condition(resource, name, ["Ready", "True", "Ready"]).await;
    }
}

/// A quarter of the routes fits, and the last one.
fn keep_what_fits(team: &Team) {
    let rest: Vec<String> = (ROUTES / 4..ROUTES - 1).map(|n| format!("proute/large-{n}")).collect();
    let mut arguments = vec!["delete", "--wait=false"];
    arguments.extend(rest.iter().map(String::as_str));
    team.kubectl(&arguments);
}

/// What is decided reaches every pod, and what somebody deletes is made again.
async fn everything_else_goes_on(team: &Team, annotations: &[&str], state: &str) {
    let fleet = team.ours("gatewayfleets", "default").await.unwrap();
    let before = team.get("v1", "services", "hedgerow-default").await.unwrap();
    team.kubectl(&[&["annotate", "hp", "chat"], annotations].concat());
    team.kubectl(&["delete", "service", "hedgerow-default"]);
    until("every pod to obey the decision, and the Service to be there again", SOON, async || {
        let policy = team.ours("hedgepolicies", "chat").await?;
        let after = team.ours("gatewayfleets", "default").await?;
        let service = team.get("v1", "services", "hedgerow-default").await?;
        let decided = policy["status"]["cohorts"][0]["state"] == state;
        let taken_up = after["status"]["digest"] != fleet["status"]["digest"]
            && after["status"]["pods"]["programmed"] == 2;
        (decided && taken_up && service["metadata"]["uid"] != before["metadata"]["uid"]).then_some(())
    })
    .await;
}
