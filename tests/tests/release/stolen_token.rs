//! What the operator's token is worth to a thief: children of fleets, and nothing else.

use crate::stand::Stand;

const OPERATOR: &str = "system:serviceaccount:hedgerow-system:hedgerow";
const LABELS: &str = "{app.kubernetes.io/managed-by: hedgerow}";

fn deployment(name: &str, image: &str, more: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, labels: {LABELS}}}\nspec:\n  replicas: 0\n  \
         selector: {{matchLabels: {{a: b}}}}\n  template:\n    metadata: {{labels: {{a: b}}}}\n    spec:\n      \
         automountServiceAccountToken: false\n      containers: [{{name: x, image: '{image}'}}]\n{more}"
    )
}

fn configmap(name: &str, labels: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, labels: {labels}}}\n")
}

#[test]
fn the_operator_writes_only_children_of_fleets() {
    let stand = Stand::installed();
    let good = [
        configmap("hedgerow-x", LABELS),
        deployment(
            "hedgerow-x",
            "hedgerow-gateway:0.1.0",
            "      volumes: [{name: k, secret: {secretName: hedgerow-default-keys}}]\n",
        ),
    ];
    for object in good {
        stand.apply(OPERATOR, &object).unwrap();
    }
    stand.write(&configmap("theirs", "{}"));
    stand.write(&configmap("hedgerow-foreign", "{}"));
    let gateway = "hedgerow-gateway:0.1.0";
    let bad = [
        (configmap("settings", LABELS), "names start with hedgerow-"),
        (configmap("theirs", LABELS), "names start with hedgerow-"),
        (configmap("hedgerow-y", "{}"), "labelled app.kubernetes.io/managed-by=hedgerow"),
        (configmap("hedgerow-foreign", LABELS), "labelled app.kubernetes.io/managed-by=hedgerow"),
        (deployment("hedgerow-y", "busybox:1", ""), "only the image gatewayImage.repository"),
        (
            deployment("hedgerow-y", "hedgerow-gateway.evil.example.com/x:1", ""),
            "only the image gatewayImage.repository",
        ),
        (deployment("hedgerow-y", gateway, "      hostNetwork: true\n"), "nothing of the host"),
        (deployment("hedgerow-y", gateway, "      serviceAccountName: default\n"), "no other account"),
        (
            deployment("hedgerow-y", gateway, "")
                .replace("automountServiceAccountToken: false", "automountServiceAccountToken: true"),
            "no API token",
        ),
        (
            deployment("hedgerow-y", gateway, "      volumes: [{name: h, hostPath: {path: /}}]\n"),
            "nothing of the host",
        ),
        (
            deployment(
                "hedgerow-y",
                gateway,
                "      volumes: [{name: t, projected: {sources: [{serviceAccountToken: {path: t}}]}}]\n",
            ),
            "no token",
        ),
        (
            deployment(
                "hedgerow-y",
                gateway,
                "      initContainers: [{name: i, image: hedgerow-gateway:0.1.0}]\n",
            ),
            "only the image",
        ),
    ];
    for (object, words) in bad {
        let refusal = stand.apply(OPERATOR, &object).expect_err(&object);
        assert!(refusal.contains(words), "{refusal}\n{object}");
    }
}

#[test]
fn of_a_pod_the_operator_may_change_its_own_annotations_only() {
    let stand = Stand::installed();
    let pod = |name: &str, app: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, labels: {{app.kubernetes.io/name: {app}}}}}\nspec:\n  \
             schedulingGates: [{{name: hedgerow.dev/never}}]\n  containers: [{{name: x, image: 'hedgerow-gateway:0.1.0'}}]\n"
        )
    };
    stand.write(&format!("{}---\n{}", pod("gateway", "hedgerow-gateway"), pod("theirs", "web")));
    let apply = |pod: &str, metadata: &str, spec: &str| {
        stand.apply(
            OPERATOR,
            &format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: {pod}, {metadata}}}\n{spec}"),
        )
    };
    let digest = "annotations: {hedgerow.dev/config-digest: 4be1c09a}";
    apply("gateway", digest, "").unwrap();
    let refusal = apply("theirs", digest, "").unwrap_err();
    assert!(refusal.contains("pods of gateways only"), "{refusal}");
    for (metadata, spec) in [
        ("annotations: {example.com/x: why}", ""),
        ("labels: {app.kubernetes.io/name: web}", ""),
        ("finalizers: [example.com/x]", ""),
        (
            "labels: {app.kubernetes.io/name: hedgerow-gateway}",
            "spec: {containers: [{name: x, image: 'busybox:1'}]}\n",
        ),
    ] {
        let refusal = apply("gateway", metadata, spec).expect_err(metadata);
        assert!(refusal.contains("nothing of a pod but its annotations hedgerow.dev/"), "{refusal}");
    }
}

#[test]
fn the_operator_has_no_verb_on_secrets_and_no_way_into_pods() {
    let stand = Stand::installed();
    for question in [
        &["get", "secrets"][..],
        &["list", "secrets"],
        &["create", "secrets"],
        &["create", "pods"],
        &["delete", "pods"],
        &["create", "pods", "--subresource=exec"],
        &["create", "serviceaccounts", "--subresource=token"],
        &["create", "clusterroles.rbac.authorization.k8s.io"],
        &["update", "providerroutes.hedgerow.dev"],
        &["impersonate", "users"],
    ] {
        let answer = stand.attempt(OPERATOR, &[&["-n", &stand.team, "auth", "can-i"], question].concat());
        assert!(answer.is_err(), "the operator may {question:?}");
    }
    // The question itself is answered: it does have the rights that it uses.
    stand.attempt(OPERATOR, &["-n", &stand.team, "auth", "can-i", "patch", "pods"]).unwrap();
}
