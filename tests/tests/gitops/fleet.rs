//! A fleet that exists by itself is Git's from the first spec on that Git gives it.

use crate::{
    delivery::Delivery,
    installation::Installation,
    team::{SOON, Team, until},
};

const FLEET: &str = "
apiVersion: hedgerow.dev/v1alpha1
kind: GatewayFleet
metadata: {name: default}
spec: {replicas: 1}
";

#[tokio::test]
async fn a_generated_fleet_that_git_takes_over_keeps_its_children_and_outlives_its_routes() {
    let team = Team::new("fleet");
    let _operator = Installation::of(&team, 1, &["generatedFleetTtl=10s"]);
    // Less than the usual wait: a fleet without routes is not ready, and its delivery has to end.
    let delivery = Delivery::patient(&team, "30s");
    let route = team.route("only", "");
    let other = team.route("other", "  gateway: other\n");
    delivery.commit("two fleets", &[("route", Some(&route)), ("other", Some(&other))]);
    team.condition("providerroutes", "only", ["Programmed", "True", "Programmed"]).await;
    team.condition("providerroutes", "other", ["Programmed", "True", "Programmed"]).await;
    let fleet = team.ours("gatewayfleets", "default").await.unwrap();
    let deployment = team.get("apps/v1", "deployments", "hedgerow-default").await.unwrap();

    delivery.commit("one of them as we want it", &[("fleet", Some(FLEET))]);
    until("the spec of Git", SOON, async || {
        let fleet = team.ours("gatewayfleets", "default").await?;
        (fleet["spec"]["replicas"] == 1).then_some(())
    })
    .await;
    team.condition("gatewayfleets", "default", ["Ready", "True", "Ready"]).await;
    let after = team.get("apps/v1", "deployments", "hedgerow-default").await.unwrap();
    assert_eq!(after["metadata"]["uid"], deployment["metadata"]["uid"]);

    delivery.commit("no routes", &[("route", None), ("other", None)]);
    // The other one shows when a fleet that nobody wrote would have gone.
    until("the generated fleet to be gone", SOON, async || {
        team.ours("gatewayfleets", "other").await.is_none().then_some(())
    })
    .await;
    let kept = team.ours("gatewayfleets", "default").await.expect("what Git wrote stays");
    assert_eq!(kept["metadata"]["uid"], fleet["metadata"]["uid"]);
}
