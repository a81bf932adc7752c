//! A fleet is given an autoscaler and loses it again, and a foreign one of its name is in the way both times.

use serde_json::Value;

use crate::{
    installation::Installation,
    team::{SOON, Team, until},
};

/// A HorizontalPodAutoscaler that somebody else made.
const FOREIGN: &str = "
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: hedgerow-default}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: theirs}, maxReplicas: 3}
";

fn fleet(autoscaling: &str, account: &str) -> String {
    format!(
        "apiVersion: hedgerow.dev/v1alpha1\nkind: GatewayFleet\nmetadata: {{name: default}}\nspec:\n  replicas: 1\n  \
         autoscaling: {autoscaling}\n  template: {{serviceAccountAnnotations: {{example.com/role: {account}}}}}\n"
    )
}

async fn autoscaler(team: &Team, what: &str, holds: impl Fn(Option<&Value>) -> bool) {
    until(what, SOON, async || {
        let found = team.get("autoscaling/v2", "horizontalpodautoscalers", "hedgerow-default").await;
        holds(found.as_ref()).then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_autoscaler_comes_is_put_back_and_goes_with_the_fleets_wish_and_a_foreign_one_is_left_alone() {
    let team = Team::new("autoscaler");
    let _operator = Installation::of(&team, 1, &[]);
    team.apply(FOREIGN);
    team.apply(&fleet("{mode: CPU, min: 1, max: 4}", "first"));
    team.apply(&team.route("only", ""));
    team.condition("gatewayfleets", "default", ["Programmed", "False", "NameConflict"]).await;
    autoscaler(&team, "theirs as it was", |found| {
        found.is_some_and(|found| found["spec"]["maxReplicas"] == 3)
    })
    .await;

    let most =
        |count: i64| move |found: Option<&Value>| found.is_some_and(|f| f["spec"]["maxReplicas"] == count);
    team.kubectl(&["delete", "hpa", "hedgerow-default"]);
    autoscaler(&team, "ours in its place", most(4)).await;
    team.kubectl(&[
        "patch",
        "hpa",
        "hedgerow-default",
        "--type=merge",
        "--patch",
        r#"{"spec":{"maxReplicas":9}}"#,
    ]);
    autoscaler(&team, "the edited one to be put back", most(4)).await;

    // The account is another child; pods do not depend on what is written on it.
    team.condition("gatewayfleets", "default", ["Ready", "True", "Ready"]).await;
    let pods = team.pods().await;
    team.apply(&fleet("{mode: None}", "second"));
    autoscaler(&team, "it to be gone", |found| found.is_none()).await;
    until("the account to carry its new annotation", SOON, async || {
        let account = team.get("v1", "serviceaccounts", "hedgerow-default").await?;
        (account["metadata"]["annotations"]["example.com/role"] == "second").then_some(())
    })
    .await;
    assert_eq!(team.pods().await, pods, "the same pods, not restarted");

    // The same complaint again is the same Event, counted.
    team.apply(FOREIGN);
    team.apply(&fleet("{mode: CPU, min: 1, max: 4}", "second"));
    team.condition("gatewayfleets", "default", ["Programmed", "False", "NameConflict"]).await;
    until("the second complaint to be counted", SOON, async || {
        let selector = "--field-selector=reason=NameConflict";
        let events = team.kubectl(&["get", "events.events.k8s.io", selector, "--output=json"]);
        let events: Value = serde_json::from_str(&events).unwrap();
        let events = events["items"].as_array()?;
        (events.len() == 1 && events[0]["series"]["count"] == 2).then_some(())
    })
    .await;
}
