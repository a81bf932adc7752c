//! Who else writes children: what is ours is put back, what is theirs is left alone.

use serde_json::Value;

use crate::{
    golden::compare,
    installation::Installation,
    team::{SOON, Team, until},
};

/// Every child of a fleet without an autoscaler, the one that others need last.
const CHILDREN: [(&str, &str, &str); 7] = [
    ("v1", "configmaps", "hedgerow-default"),
    ("v1", "configmaps", "hedgerow-default-fleet"),
    ("v1", "services", "hedgerow-default"),
    ("v1", "serviceaccounts", "hedgerow-default"),
    ("policy/v1", "poddisruptionbudgets", "hedgerow-default"),
    ("networking.k8s.io/v1", "networkpolicies", "hedgerow-default"),
    ("apps/v1", "deployments", "hedgerow-default"),
];

#[tokio::test]
async fn deleted_and_edited_children_are_put_back_and_foreign_fields_are_left_alone() {
    let team = Team::new("children");
    let _operator = Installation::of(&team, 1, &[]);
    team.provider();
    team.apply(&team.route("only", ""));
    team.condition("gatewayfleets", "default", ["Ready", "True", "Ready"]).await;

    for (group, resource, name) in CHILDREN {
        let before = team.get(group, resource, name).await.unwrap_or_else(|| panic!("no {resource}/{name}"));
        team.kubectl(&["delete", resource, name, "--wait=false"]);
        until(&format!("the deleted {resource}/{name} to be there again"), SOON, async || {
            let child = team.get(group, resource, name).await?;
            (child["metadata"]["uid"] != before["metadata"]["uid"]).then_some(())
        })
        .await;
    }

    println!("NetworkPolicies: the object is compared; the bridge of this cluster enforces none");
    for resource in ["networkpolicies", "poddisruptionbudgets"] {
        let (group, _, name) = CHILDREN.into_iter().find(|(_, kind, _)| *kind == resource).unwrap();
        let child = team.get(group, resource, name).await.unwrap();
        let spec =
            serde_json::to_string_pretty(&child["spec"]).unwrap().replace(&team.namespace, "NAMESPACE");
        compare(&format!("children/{resource}.json"), &format!("{spec}\n"));
    }

    for (resource, patch, right) in EDITS {
        let (group, _, name) = CHILDREN.into_iter().find(|(_, kind, _)| *kind == resource).unwrap();
        let before = team.get(group, resource, name).await.unwrap();
        team.kubectl(&["patch", resource, name, "--type=merge", "--patch", patch]);
        until(&format!("the edited {resource} to be put back"), SOON, async || {
            let child = team.get(group, resource, name).await?;
            let edited = child["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"];
            (edited && child.pointer(right) == before.pointer(right)).then_some(())
        })
        .await;
    }

    let patch = r#"{"metadata":{"annotations":{"team":"theirs"}},"spec":{"maxUnavailable":2}}"#;
    team.kubectl(&["patch", "pdb", "hedgerow-default", "--type=merge", "--patch", patch]);
    let budget = until("the edited budget to be put back", SOON, async || {
        let budget = team.get("policy/v1", "poddisruptionbudgets", "hedgerow-default").await?;
        (budget["spec"]["maxUnavailable"] == 1).then_some(budget)
    })
    .await;
    assert_eq!(budget["metadata"]["annotations"]["team"], "theirs");
    let service: Value = team.get("v1", "services", "hedgerow-default").await.unwrap();
    assert_eq!(service["spec"]["sessionAffinity"], "ClientIP", "a field that we have no opinion on");
}

/// Fields of ours that somebody sets by hand, and where they are; the Service gets one of theirs besides.
const EDITS: [(&str, &str, &str); 4] = [
    ("configmaps", r#"{"data":{"gateway.json":"{}"}}"#, "/data"),
    (
        "services",
        r#"{"spec":{"sessionAffinity":"ClientIP","selector":{"app.kubernetes.io/name":"other"}}}"#,
        "/spec/selector",
    ),
    ("networkpolicies", r#"{"spec":{"egress":[{}]}}"#, "/spec/egress"),
    (
        "deployments",
        r#"{"spec":{"template":{"spec":{"terminationGracePeriodSeconds":1}}}}"#,
        "/spec/template/spec/terminationGracePeriodSeconds",
    ),
];

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
