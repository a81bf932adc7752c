//! Pods that do not come up, and children that cannot be made: the reason is on the fleet and on every object of it.

use crate::{
    installation::Installation,
    team::{SOON, Team, condition, until},
};

/// One of each kind.
const ALL: [(&str, &str); 4] = [
    ("gatewayfleets", "default"),
    ("providerroutes", "only"),
    ("hedgepolicies", "chat"),
    ("prioritylanes", "everyone"),
];

const OBJECTS: &str = "
apiVersion: hedgerow.dev/v1alpha1
kind: HedgePolicy
metadata: {name: chat}
spec: {cohorts: [{name: all}]}
---
apiVersion: hedgerow.dev/v1alpha1
kind: PriorityLane
metadata: {name: everyone}
spec: {}
";

/// Waits until all say that they are not in force, for that reason and in such words; none is ready.
async fn all_say(team: &Team, reason: &str, words: &str) {
    for (resource, name) in ALL {
        until(&format!("{resource}/{name} to say {reason}: {words}"), SOON, async || {
            let object = team.ours(resource, name).await?;
            let (programmed, ready) = (condition(&object, "Programmed")?, condition(&object, "Ready")?);
            let named = programmed["message"].as_str()?.contains(words);
            assert_ne!(ready["status"], "True", "{object:#}");
            (programmed["status"] == "False" && programmed["reason"] == reason && named).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn an_image_that_cannot_be_pulled_is_named_on_the_fleet_and_on_its_objects() {
    let team = Team::new("pull");
    let _operator = Installation::of(&team, 1, &["gatewayImage.tag=never"]);
    team.apply(&team.route("only", ""));
    team.apply(OBJECTS);
    all_say(&team, "NoReadyPods", "hedgerow-gateway:never").await;
}

#[tokio::test]
async fn a_quota_that_leaves_no_room_for_pods_is_named_on_the_fleet_and_on_its_objects() {
    let team = Team::new("quota");
    team.apply("{apiVersion: v1, kind: ResourceQuota, metadata: {name: none}, spec: {hard: {pods: 0}}}");
    let _operator = Installation::of(&team, 1, &[]);
    team.apply(&team.route("only", ""));
    team.apply(OBJECTS);
    all_say(&team, "NoReadyPods", "exceeded quota").await;
}

#[tokio::test]
async fn a_child_that_the_server_refuses_is_named_on_all_objects_and_made_once_it_is_taken() {
    let team = Team::new("refused");
    team.apply("{apiVersion: v1, kind: ResourceQuota, metadata: {name: none}, spec: {hard: {services: 0}}}");
    let _operator = Installation::of(&team, 1, &[]);
    team.apply(&team.route("only", ""));
    team.apply(OBJECTS);
    all_say(&team, "ChildRejected", "Service hedgerow-default was refused").await;
    assert!(team.get("apps/v1", "deployments", "hedgerow-default").await.is_none(), "no pod without it");

    team.kubectl(&["delete", "resourcequota", "none"]);
    for (resource, name) in ALL {
        team.condition(resource, name, ["Ready", "True", "Ready"]).await;
    }
}
