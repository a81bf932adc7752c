//! What goes in Git goes in the cluster, and the gateways of a fleet go when its last route went.

use crate::{
    delivery::Delivery,
    installation::Installation,
    team::{SOON, Team, until},
};

/// Something of the team that is not ours, so that its folder is never empty.
const OTHER: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}";

#[tokio::test]
async fn a_route_that_goes_in_git_is_pruned_and_the_gateways_go_with_the_last_one() {
    let team = Team::new("prune");
    let _operator = Installation::of(&team, 1, &["generatedFleetTtl=10s"]);
    let delivery = Delivery::of(&team);
    let [first, second] = ["first", "second"].map(|name| team.route(name, ""));
    let files = [("other", Some(OTHER)), ("first", Some(&*first)), ("second", Some(&*second))];
    delivery.ready(&delivery.commit("two routes", &files)).await;

    delivery.ready(&delivery.commit("one route less", &[("first", None)])).await;
    assert!(team.ours("providerroutes", "first").await.is_none());
    team.condition("providerroutes", "second", ["Programmed", "True", "Programmed"]).await;
    let children = [("apps/v1", "deployments"), ("v1", "services"), ("policy/v1", "poddisruptionbudgets")];
    for (group, resource) in children {
        assert!(team.get(group, resource, "hedgerow-default").await.is_some(), "{resource}");
    }

    delivery.ready(&delivery.commit("the last one", &[("second", None)])).await;
    assert!(team.ours("providerroutes", "second").await.is_none());
    until("the fleet and its children to be gone", SOON, async || {
        let fleet = team.ours("gatewayfleets", "default").await.is_none();
        let mut left = 0;
        for (group, resource) in children {
            left += usize::from(team.get(group, resource, "hedgerow-default").await.is_some());
        }
        (fleet && left == 0).then_some(())
    })
    .await;
    assert!(team.get("v1", "configmaps", "other").await.is_some(), "what Git has stays");
}
