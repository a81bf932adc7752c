//! People on call: they see everything, hold and resume, and change nothing that Git owns.

use crate::stand::Stand;

const POLICY: &str = "
apiVersion: hedgerow.dev/v1alpha1
kind: HedgePolicy
metadata: {name: chat}
spec: {mode: Observe, cohorts: [{name: stream}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: on-call}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: hedgerow-on-call}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: carol}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: edit}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: dora}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: view}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: eve}]
";

#[test]
fn on_call_may_hold_and_resume_and_nothing_else() {
    let stand = Stand::installed();
    stand.write(POLICY);
    let carol = |arguments: &[&str]| stand.attempt("carol", &[&["-n", &stand.team], arguments].concat());
    let hold = "hedgerow.dev/suspend.stream=2030-01-01T00:00:00Z";
    carol(&["annotate", "--field-manager=hedgerow-resume", "hp/chat", hold]).unwrap();
    carol(&["annotate", "--field-manager=hedgerow-resume", "hp/chat", "hedgerow.dev/resume.stream=1"])
        .unwrap();
    carol(&["annotate", "hp/chat", "hedgerow.dev/suspend.stream-"]).unwrap();
    carol(&["describe", "hp/chat"]).unwrap();
    for patch in [
        r#"{"spec":{"mode":"Enforce"}}"#,
        r#"{"metadata":{"labels":{"a":"b"}}}"#,
        r#"{"metadata":{"annotations":{"kubernetes.io/description":"x"}}}"#,
        r#"{"metadata":{"finalizers":["example.com/x"]}}"#,
    ] {
        let refusal = carol(&["patch", "hp/chat", "--type=merge", "--patch", patch]).expect_err(patch);
        assert!(refusal.contains("with the right to patch but not to update policies"), "{refusal}");
    }
    for arguments in [&["delete", "hp/chat"][..], &["create", "configmap", "x"], &["get", "secrets"]] {
        let refusal = carol(arguments).expect_err("no right to it");
        assert!(refusal.contains("Forbidden") || refusal.contains("forbidden"), "{refusal}");
    }
}

#[test]
fn the_built_in_roles_know_our_kinds() {
    let stand = Stand::installed();
    stand.write(POLICY);
    let team = |arguments: &[&'static str]| [&["-n", stand.team.as_str()], arguments].concat();
    stand.attempt("eve", &team(&["get", "hp/chat"])).unwrap();
    let mode = r#"--patch={"spec":{"mode":"Enforce"}}"#;
    stand.attempt("eve", &team(&["patch", "hp/chat", "--type=merge", mode])).unwrap_err();
    stand.attempt("dora", &team(&["patch", "hp/chat", "--type=merge", mode])).unwrap();
    let status = r#"--patch={"status":{"observedGeneration":9}}"#;
    let refusal =
        stand.attempt("dora", &team(&["patch", "hp/chat", "--subresource=status", "--type=merge", status]));
    assert!(refusal.unwrap_err().contains("orbidden"), "status is the operator's");
}
