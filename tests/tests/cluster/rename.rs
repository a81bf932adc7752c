//! The only route gets another name, which Git does as apply and delete, in either order.

use crate::{
    installation::Installation,
    team::{SOON, Team, until},
};

#[tokio::test]
async fn renaming_the_only_route_keeps_deployment_and_service_with_the_operator_up_or_down() {
    let team = Team::new("rename");
    let operator = Installation::of(&team, 1, &[]);
    team.provider();
    team.apply(&team.route("first", ""));
    team.answered().await;
    let before = team.identity().await;

    team.kubectl(&["delete", "proute", "first"]);
    team.apply(&team.route("second", ""));
    team.condition("providerroutes", "second", ["Programmed", "True", "Programmed"]).await;
    assert_eq!(team.identity().await, before);

    operator.scale(0);
    team.apply(&team.route("third", ""));
    team.kubectl(&["delete", "proute", "second"]);
    operator.scale(1);
    team.condition("providerroutes", "third", ["Programmed", "True", "Programmed"]).await;
    assert_eq!(team.identity().await, before);
    team.answered().await;
}

#[tokio::test]
async fn a_fleet_that_exists_by_itself_goes_some_time_after_its_last_route() {
    let team = Team::new("collected");
    let _operator = Installation::of(&team, 1, &["generatedFleetTtl=10s"]);
    team.apply(&team.route("only", ""));
    team.apply("{apiVersion: hedgerow.dev/v1alpha1, kind: PriorityLane, metadata: {name: all}, spec: {}}");
    until("its Deployment", SOON, async || team.get("apps/v1", "deployments", "hedgerow-default").await)
        .await;
    team.kubectl(&["delete", "proute", "only"]);
    team.condition("prioritylanes", "all", ["Programmed", "False", "NoRoutes"]).await;
    until("the fleet to be gone, and its Deployment after it", SOON, async || {
        let fleet = team.ours("gatewayfleets", "default").await;
        let deployment = team.get("apps/v1", "deployments", "hedgerow-default").await;
        (fleet.is_none() && deployment.is_none()).then_some(())
    })
    .await;
}
