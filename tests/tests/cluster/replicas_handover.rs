//! Somebody else takes over the number of pods, and gives it back.

use std::time::Instant;

use serde_json::Value;

use crate::{
    installation::Installation,
    load::{Load, busy_team},
    right::right_again,
    team::{SOON, Team, until},
};

#[tokio::test]
async fn an_autoscaler_takes_the_number_of_pods_over_and_gives_it_back_under_load() {
    let team = Team::new("scaled");
    let _operator = Installation::of(&team, 1, &["fleetDefaults.drain.endpointDelay=5s"]);
    busy_team(&team, "default").await;
    let load = Load::start(&team, "default").await;

    // Without figures Kubernetes' autoscaler only keeps to its bounds, which is all that it takes to see who decides.
    mode(&team, r#"{"mode":"CPU","min":3,"max":4}"#);
    replicas(&team, 3).await;
    println!("autoscaler: right after {:.1?}", right_again(&team, Instant::now()).await);

    mode(&team, r#"{"mode":"External"}"#);
    until("the autoscaler to be gone", SOON, async || {
        let scaler = team.get("autoscaling/v2", "horizontalpodautoscalers", "hedgerow-default").await;
        scaler.is_none().then_some(())
    })
    .await;
    assert_eq!(asked(&deployment(&team).await), 3, "nobody has asked for another number");
    team.kubectl(&["scale", "deployment", "hedgerow-default", "--replicas=4"]);
    replicas(&team, 4).await;
    println!("by hand: right after {:.1?}", right_again(&team, Instant::now()).await);
    load.turn_over().await;
    assert_eq!(asked(&deployment(&team).await), 4, "the operator leaves it alone");

    mode(&team, r#"{"mode":"None"}"#);
    replicas(&team, 2).await;
    println!("given back: right after {:.1?}", right_again(&team, Instant::now()).await);
    load.turn_over().await;
    load.was_unharmed("an autoscaler").await;
}

fn mode(team: &Team, autoscaling: &str) {
    let patch = format!(r#"{{"spec":{{"autoscaling":{autoscaling}}}}}"#);
    team.kubectl(&["patch", "gf", "default", "--type=merge", "--patch", &patch]);
}

/// Waits until so many pods are asked for and available. On the way there are never fewer than before or after.
async fn replicas(team: &Team, wanted: i64) {
    let fewest = asked(&deployment(team).await).min(wanted);
    until(&format!("{wanted} pods"), SOON, async || {
        let deployment = deployment(team).await;
        let now = asked(&deployment);
        assert!(now >= fewest, "{now} pods on the way to {wanted}");
        let available = deployment["status"]["availableReplicas"] == wanted;
        (now == wanted && available && deployment["status"]["replicas"] == wanted).then_some(())
    })
    .await;
}

async fn deployment(team: &Team) -> Value {
    team.get("apps/v1", "deployments", "hedgerow-default").await.unwrap()
}

fn asked(deployment: &Value) -> i64 {
    deployment["spec"]["replicas"].as_i64().unwrap()
}
