//! One gateway is deleted under load.

use std::time::Instant;

use crate::{
    installation::Installation,
    load::{Load, busy_team},
    right::right_again,
    team::{SOON, Team, until},
};

#[tokio::test]
async fn a_deleted_gateway_finishes_its_streams_while_another_takes_its_place() {
    let team = Team::new("pod-deleted");
    let _operator = Installation::of(&team, 1, &["fleetDefaults.drain.endpointDelay=10s"]);
    busy_team(&team, "default").await;
    let load = Load::start(&team, "default").await;

    let (name, uid, _) = team.pods().await.remove(0);
    team.kubectl(&["delete", "pod", &name, "--wait=false"]);
    until("another pod in its place", SOON, async || {
        let pods = team.pods().await;
        (pods.len() == 2 && pods.iter().all(|pod| pod.1 != uid)).then_some(())
    })
    .await;
    team.kubectl(&["rollout", "status", "deployment/hedgerow-default", "--timeout=90s"]);
    println!("pod deleted: right after {:.1?}", right_again(&team, Instant::now()).await);

    until("the deleted pod to have left", SOON, async || {
        team.get("v1", "pods", &name).await.is_none().then_some(())
    })
    .await;
    load.turn_over().await;
    load.was_unharmed("a deleted pod").await;
}
