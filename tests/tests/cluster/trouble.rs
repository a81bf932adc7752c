//! Pods that do not come up: the reason is on the fleet and on every object of it.

use crate::{
    installation::Installation,
    team::{Team, condition},
};

#[tokio::test]
async fn an_image_that_cannot_be_pulled_is_named_on_the_fleet_and_on_its_objects() {
    let team = Team::new("pull");
    let _operator = Installation::of(&team, 1, &["gatewayImage.tag=never"]);
    team.apply(&team.route("only", ""));
    for (resource, name) in [("gatewayfleets", "default"), ("providerroutes", "only")] {
        let programmed = team.condition(resource, name, ["Programmed", "False", "NoReadyPods"]).await;
        let programmed = if programmed["message"].as_str().unwrap().contains("hedgerow-gateway:never") {
            programmed
        } else {
            crate::team::until("the image to be named", crate::team::SOON, async || {
                let object = team.ours(resource, name).await?;
                let programmed = condition(&object, "Programmed")?;
                programmed["message"].as_str()?.contains("hedgerow-gateway:never").then(|| programmed.clone())
            })
            .await
        };
        assert_eq!(programmed["status"], "False");
    }
}

#[tokio::test]
async fn a_quota_that_leaves_no_room_for_pods_is_named_on_the_fleet_and_on_its_objects() {
    let team = Team::new("quota");
    team.apply("{apiVersion: v1, kind: ResourceQuota, metadata: {name: none}, spec: {hard: {pods: 0}}}");
    let _operator = Installation::of(&team, 1, &[]);
    team.apply(&team.route("only", ""));
    for (resource, name) in [("gatewayfleets", "default"), ("providerroutes", "only")] {
        crate::team::until("the quota to be named", crate::team::SOON, async || {
            let object = team.ours(resource, name).await?;
            let programmed = condition(&object, "Programmed")?;
            let named = programmed["message"].as_str()?.contains("exceeded quota");
            (programmed["status"] == "False" && programmed["reason"] == "NoReadyPods" && named).then_some(())
        })
        .await;
    }
}
