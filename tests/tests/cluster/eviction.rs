//! What the drain of a node does to a fleet: each of its pods is evicted, as fast as the disruption budget allows.

use std::time::Instant;

use crate::{
    installation::Installation,
    load::{Load, busy_team},
    right::right_again,
    team::{SOON, Team, until},
};

#[tokio::test]
async fn evicted_gateways_leave_one_after_another_and_cut_nothing() {
    let team = Team::new("evicted");
    let _operator = Installation::of(&team, 1, &["fleetDefaults.drain.endpointDelay=10s"]);
    busy_team(&team, "default").await;
    let load = Load::start(&team, "default").await;

    let before = team.pods().await;
    let names: Vec<&str> = before.iter().map(|pod| pod.0.as_str()).collect();
    evict(&team, names[0]).await.unwrap();
    let refusal = evict(&team, names[1]).await.unwrap_err();
    assert!(refusal.contains("disruption budget"), "{refusal}");
    // As `kubectl drain` does it: again and again until it is allowed.
    until("the second pod to be evicted", SOON, async || evict(&team, names[1]).await.ok()).await;
    until("two other pods", SOON, async || {
        let pods = team.pods().await;
        (pods.len() == 2 && pods.iter().all(|pod| !names.contains(&pod.0.as_str()))).then_some(())
    })
    .await;
    team.kubectl(&["rollout", "status", "deployment/hedgerow-default", "--timeout=90s"]);
    println!("two evictions: right after {:.1?}", right_again(&team, Instant::now()).await);
    for name in names {
        until("the evicted pods to have left", SOON, async || {
            team.get("v1", "pods", name).await.is_none().then_some(())
        })
        .await;
    }
    load.turn_over().await;
    load.was_unharmed("two evictions").await;
}

async fn evict(team: &Team, pod: &str) -> Result<(), String> {
    let path = format!("/api/v1/namespaces/{}/pods/{pod}/eviction", team.namespace);
    let eviction = format!("{{apiVersion: policy/v1, kind: Eviction, metadata: {{name: {pod}}}}}");
    team.api.create(&path, &eviction, false).await.map(drop).map_err(|refusal| refusal.0.to_string())
}
