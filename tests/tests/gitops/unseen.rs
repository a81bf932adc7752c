//! What no operator has seen is in progress, as kstatus reads it: neither ready nor failed.

use crate::{delivery::Delivery, installation::Installation, team::Team};

const LANE: &str = "
apiVersion: hedgerow.dev/v1alpha1
kind: PriorityLane
metadata: {name: all}
spec: {}
";
const POLICY: &str = "
apiVersion: hedgerow.dev/v1alpha1
kind: HedgePolicy
metadata: {name: chat}
spec: {mode: Observe, cohorts: [{name: stream}]}
";
const FLEET: &str = "
apiVersion: hedgerow.dev/v1alpha1
kind: GatewayFleet
metadata: {name: default}
spec: {replicas: 1}
";

#[tokio::test]
async fn an_object_or_a_change_that_no_operator_has_seen_is_in_progress_and_never_ready() {
    let team = Team::new("unseen");
    let operator = Installation::of(&team, 1, &[]);
    operator.scale(0);
    // So long Flux gives them before it says what it waits for; it knows no less.
    let delivery = Delivery::patient(&team, "30s");
    let route = team.route("only", "");
    let files = [("route", route.as_str()), ("lane", LANE), ("policy", POLICY), ("fleet", FLEET)];
    let revision = delivery.commit("one of each kind", &files.map(|(name, text)| (name, Some(text))));
    let said = delivery.failed(&revision).await;
    for object in
        ["ProviderRoute/{}/only", "PriorityLane/{}/all", "HedgePolicy/{}/chat", "GatewayFleet/{}/default"]
    {
        let expected = format!("{} status: 'InProgress'", object.replace("{}", &team.namespace));
        assert!(said.contains(&expected), "{expected}: {said}");
    }

    operator.scale(1);
    team.condition("gatewayfleets", "default", ["Ready", "True", "Ready"]).await;
    team.condition("hedgepolicies", "chat", ["Programmed", "True", "Programmed"]).await;
    delivery.reconciled().await;

    operator.scale(0);
    let revision = delivery.commit("a heavier lane", &[("lane", Some(&LANE.replace("{}", "{priority: 7}")))]);
    let said = delivery.failed(&revision).await;
    let expected = format!("[PriorityLane/{}/all status: 'InProgress']", team.namespace);
    assert!(said.ends_with(&expected), "only what has changed: {said}");
    operator.scale(1);
    team.condition("prioritylanes", "all", ["Programmed", "True", "Programmed"]).await;
    delivery.reconciled().await;
}
