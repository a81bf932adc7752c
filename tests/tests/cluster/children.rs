//! Who else writes children: what is ours is put back, what is theirs is left alone.

use crate::{
    installation::Installation,
    team::{SOON, Team, until},
};

#[tokio::test]
async fn deleted_and_edited_children_are_put_back_and_foreign_fields_are_left_alone() {
    let team = Team::new("children");
    let _operator = Installation::of(&team, 1, &[]);
    team.provider();
    team.apply(&team.route("only", ""));
    team.condition("gatewayfleets", "default", ["Ready", "True", "Ready"]).await;

    let before = team.get("v1", "services", "hedgerow-default").await.unwrap();
    team.kubectl(&["delete", "service", "hedgerow-default"]);
    until("the deleted Service to be there again", SOON, async || {
        let service = team.get("v1", "services", "hedgerow-default").await?;
        (service["metadata"]["uid"] != before["metadata"]["uid"]).then_some(())
    })
    .await;

    let patch = r#"{"metadata":{"annotations":{"team":"theirs"}},"spec":{"maxUnavailable":2}}"#;
    team.kubectl(&["patch", "pdb", "hedgerow-default", "--type=merge", "--patch", patch]);
    let budget = until("the edited budget to be put back", SOON, async || {
        let budget = team.get("policy/v1", "poddisruptionbudgets", "hedgerow-default").await?;
        (budget["spec"]["maxUnavailable"] == 1).then_some(budget)
    })
    .await;
    assert_eq!(budget["metadata"]["annotations"]["team"], "theirs");
}

#[tokio::test]
async fn a_foreign_object_with_the_name_of_a_child_is_left_alone_and_named() {
    let team = Team::new("foreign");
    team.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: hedgerow-default}, data: {mine: 'yes'}}");
    let _operator = Installation::of(&team, 1, &[]);
    team.apply(&team.route("only", ""));

    let condition = team.condition("gatewayfleets", "default", ["Programmed", "False", "NameConflict"]).await;
    let message = condition["message"].as_str().unwrap();
    assert!(message.contains("ConfigMap hedgerow-default"), "{message}");
    team.condition("gatewayfleets", "default", ["Stalled", "True", "NameConflict"]).await;
    team.condition("providerroutes", "only", ["Programmed", "False", "NameConflict"]).await;
    let foreign = team.get("v1", "configmaps", "hedgerow-default").await.unwrap();
    assert_eq!(foreign["data"]["mine"], "yes");
    assert!(foreign["metadata"]["ownerReferences"].is_null());

    team.kubectl(&["delete", "configmap", "hedgerow-default"]);
    team.condition("providerroutes", "only", ["Programmed", "True", "Programmed"]).await;
}
