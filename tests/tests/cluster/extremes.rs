//! The longest names, text that is not ASCII, and many models: all of it is in force and can be told.

use std::fmt::Write as _;

use serde_json::Value;

use crate::{
    installation::Installation,
    team::{SOON, Team, until},
};

/// Models of a route, the most.
const MODELS: usize = 64;
/// Routes, for more than 500 models.
const ROUTES: usize = 8;
/// The longest that a fleet may have.
const FLEET: &str = "a-fleet-with-a-name-of-forty-characters0";

/// The longest name of an object.
fn longest(start: &str) -> String {
    format!("{start}{}", "x".repeat(253 - start.len()))
}

fn objects(team: &Team) -> String {
    let mut text = format!(
        "apiVersion: hedgerow.dev/v1alpha1\nkind: GatewayFleet\nmetadata: {{name: {FLEET}}}\nspec:\n  replicas: 1\n  \
         template: {{annotations: {{example.com/team: 翻訳 🌍 Übersetzung}}}}\n"
    );
    for n in 0..ROUTES {
        let models: Vec<_> =
            (0..MODELS).map(|m| format!("{{name: {n}-{m:03}{}}}", "m".repeat(122))).collect();
        let route = team
            .route(&longest(&format!("route-{n}-")), &format!("  gateway: {FLEET}\n"))
            .replace("[{name: model}]", &format!("[{}]", models.join(", ")));
        // A region is a label, and shorter than the name of its route.
        let route =
            route.replace(&format!("region: {}", longest(&format!("route-{n}-"))), &format!("region: r{n}"));
        let _ = write!(text, "---\n{route}");
    }
    let (policy, lane) = (longest("policy-"), longest("lane-"));
    let _ = write!(
        text,
        "---\napiVersion: hedgerow.dev/v1alpha1\nkind: HedgePolicy\nmetadata: {{name: {policy}}}\nspec:\n  \
         gateway: {FLEET}\n  mode: Enforce\n  cohorts: [{{name: {cohort}}}]\n---\napiVersion: hedgerow.dev/v1alpha1\n\
         kind: PriorityLane\nmetadata: {{name: {lane}}}\nspec: {{gateway: {FLEET}}}\n",
        cohort = "c".repeat(40),
    );
    text
}

#[tokio::test]
async fn the_longest_names_and_five_hundred_models_are_in_force_and_have_their_events() {
    let team = Team::new("extremes");
    let _operator = Installation::of(&team, 1, &[]);
    team.apply(&objects(&team));
    let policy = longest("policy-");
    for (resource, name) in [
        ("gatewayfleets", FLEET.to_owned()),
        ("providerroutes", longest("route-7-")),
        ("hedgepolicies", policy.clone()),
        ("prioritylanes", longest("lane-")),
    ] {
        team.condition(resource, &name, ["Ready", "True", "Ready"]).await;
    }
    let deployment = team.get("apps/v1", "deployments", &format!("hedgerow-{FLEET}")).await.unwrap();
    let annotations = &deployment["spec"]["template"]["metadata"]["annotations"];
    assert_eq!(annotations["example.com/team"], "翻訳 🌍 Übersetzung");

    // An annotation that cannot be read holds nothing; the cut of what is said about it lies between characters.
    let hold = format!("hedgerow.dev/suspend.{}", "c".repeat(40));
    team.kubectl(&["annotate", "hp", &policy, &format!("{hold}={}", "ü🌍".repeat(400))]);
    team.kubectl(&["annotate", "hp", &policy, "--overwrite", &format!("{hold}=2100-01-01T00:00:00Z")]);
    until("the Event of a policy with the longest name", SOON, async || {
        let selector = "--field-selector=reason=HedgingSuspended";
        let events: Value =
            serde_json::from_str(&team.kubectl(&["get", "events", selector, "--output=json"])).unwrap();
        let about = &events["items"].as_array()?.first()?["involvedObject"];
        (about["name"] == policy.as_str()).then_some(())
    })
    .await;
    let described = team.kubectl(&["describe", "hp", &policy]);
    assert!(described.contains("HedgingSuspended"), "kubectl finds it too: {described}");
}
