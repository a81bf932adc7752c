//! The only route gets another name in one commit: Flux applies the new one and prunes the old one.

use crate::{delivery::Delivery, installation::Installation, team::Team};

#[tokio::test]
async fn renaming_the_only_route_in_one_commit_keeps_deployment_service_and_address() {
    let team = Team::new("renamed");
    let _operator = Installation::of(&team, 1, &[]);
    team.provider();
    let delivery = Delivery::of(&team);
    let [first, second] = ["first", "second"].map(|name| team.route(name, ""));
    delivery.ready(&delivery.commit("the only route", &[("route", Some(&first))])).await;
    team.answered().await;
    let (before, pods) = (team.identity().await, team.pods().await);

    delivery.ready(&delivery.commit("another name", &[("route", Some(&second))])).await;
    assert!(team.ours("providerroutes", "first").await.is_none());
    team.condition("providerroutes", "second", ["Programmed", "True", "Programmed"]).await;
    assert_eq!(team.identity().await, before);
    assert_eq!(team.pods().await, pods, "no pod restarts for a name");
    team.answered().await;
}
