//! `Ready` can be waited for, and never speaks of what was not looked at.

use std::process::Command;

use crate::{
    api::root,
    installation::Installation,
    team::{Team, condition},
};

const OBJECTS: &str = "
apiVersion: hedgerow.dev/v1alpha1
kind: HedgePolicy
metadata: {name: fresh}
spec: {cohorts: [{name: chat}]}
---
apiVersion: hedgerow.dev/v1alpha1
kind: PriorityLane
metadata: {name: fresh}
spec: {}
---
apiVersion: hedgerow.dev/v1alpha1
kind: GatewayFleet
metadata: {name: default}
spec: {}
";

const ALL: [(&str, &str); 4] = [
    ("providerroutes", "fresh"),
    ("hedgepolicies", "fresh"),
    ("prioritylanes", "fresh"),
    ("gatewayfleets", "default"),
];

/// `kubectl wait`, whether it came true in time.
fn waited(team: &Team, object: &str, timeout: &str) -> bool {
    Command::new(root().join("tests/cluster/kubectl"))
        .args(["--namespace", &team.namespace, "wait", "--for=condition=Ready", object])
        .arg(format!("--timeout={timeout}"))
        .output()
        .unwrap()
        .status
        .success()
}

#[tokio::test]
async fn every_kind_can_be_waited_for_and_a_change_that_nobody_saw_is_not_ready() {
    let team = Team::new("ready");
    let operator = Installation::of(&team, 1, &[]);
    operator.scale(0);
    team.apply(&team.route("fresh", ""));
    team.apply(OBJECTS);
    for (resource, name) in ALL {
        let object = team.ours(resource, name).await.unwrap();
        assert_eq!(object["status"]["observedGeneration"], -1, "{resource}: nobody has seen it");
        assert!(condition(&object, "Ready").is_none(), "{resource}");
        assert!(!waited(&team, &format!("{resource}/{name}"), "0s"), "{resource}");
    }
    operator.scale(1);
    for (resource, name) in ALL {
        assert!(waited(&team, &format!("{resource}/{name}"), "90s"), "{resource}");
        let object = team.ours(resource, name).await.unwrap();
        assert_eq!(object["status"]["observedGeneration"], object["metadata"]["generation"], "{resource}");
    }

    operator.scale(0);
    for (resource, name, patch) in [
        ("providerroutes", "fresh", r#"{"spec":{"weight":7}}"#),
        ("hedgepolicies", "fresh", r#"{"spec":{"priority":7}}"#),
        ("prioritylanes", "fresh", r#"{"spec":{"priority":7}}"#),
        ("gatewayfleets", "default", r#"{"spec":{"maxInFlight":70}}"#),
    ] {
        team.kubectl(&["patch", resource, name, "--type=merge", "--patch", patch]);
        assert!(
            !waited(&team, &format!("{resource}/{name}"), "0s"),
            "{resource}: Ready is of the generation before"
        );
    }
    operator.scale(1);
    for (resource, name) in ALL {
        assert!(waited(&team, &format!("{resource}/{name}"), "90s"), "{resource}");
    }
}
