//! Somebody deletes the fleet while routes name it.

use crate::{
    installation::Installation,
    team::{SOON, Team, until},
};

#[tokio::test]
async fn a_fleet_deleted_by_hand_is_made_again_with_all_its_children_while_routes_name_it() {
    let team = Team::new("fleet-deleted");
    let _operator = Installation::of(&team, 1, &[]);
    team.provider();
    team.apply(&team.route("only", ""));
    team.answered().await;
    let before = team.ours("gatewayfleets", "default").await.unwrap();
    team.kubectl(&["delete", "gf", "default"]);

    let fleet = until("another fleet", SOON, async || {
        let fleet = team.ours("gatewayfleets", "default").await?;
        (fleet["metadata"]["uid"] != before["metadata"]["uid"]).then_some(fleet)
    })
    .await;
    for (group, resource) in [
        ("v1", "configmaps"),
        ("v1", "services"),
        ("v1", "serviceaccounts"),
        ("policy/v1", "poddisruptionbudgets"),
        ("networking.k8s.io/v1", "networkpolicies"),
        ("apps/v1", "deployments"),
    ] {
        until(&format!("{resource} of the new fleet"), SOON, async || {
            let child = team.get(group, resource, "hedgerow-default").await?;
            (child["metadata"]["ownerReferences"][0]["uid"] == fleet["metadata"]["uid"]).then_some(())
        })
        .await;
    }
    team.condition("providerroutes", "only", ["Ready", "True", "Ready"]).await;
    team.answered().await;
}
