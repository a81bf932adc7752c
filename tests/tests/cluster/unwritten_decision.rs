//! A decision that cannot be written down: after some seconds it is in force all the same, and outlives who made it.
//!
//! The order is status first, then gateways; but hedging that costs too much must end also where statuses cannot be written,
//! as with a webhook that is down. An admission policy stands for that here, and the leader dies before it is over.

use serde_json::Value;

use crate::{
    api::kubectl,
    greedy,
    installation::Installation,
    team::{SOON, Team, until},
};

/// Longer than a dead leader's Lease takes on a busy machine.
const COOLDOWN: &str = "2m";

/// Nobody writes the status of a policy in the namespace.
struct Refusal(String);

impl Refusal {
    async fn of(team: &Team) -> Self {
        let name = format!("refusal-{}", team.namespace);
        team.apply(&REFUSAL.replace("NAMESPACE", &team.namespace).replace("NAME", &name));
        // It takes a moment until the API server knows it.
        until("the status to be refused", SOON, async || {
            let patch = ["patch", "hp", "chat", "--subresource=status", "--type=merge", "--dry-run=server"];
            let output = std::process::Command::new(crate::api::root().join("tests/cluster/kubectl"))
                .args([&["--namespace", &team.namespace], patch.as_slice()].concat())
                .arg("--patch={}")
                .output()
                .unwrap();
            String::from_utf8_lossy(&output.stderr).contains(SAID).then_some(())
        })
        .await;
        Self(name)
    }
}

impl Drop for Refusal {
    fn drop(&mut self) {
        for kind in ["validatingadmissionpolicybindings", "validatingadmissionpolicies"] {
            kubectl(&["delete", kind, &self.0]);
        }
    }
}

const SAID: &str = "nothing is written down today";

#[tokio::test]
async fn a_decision_whose_status_cannot_be_written_is_in_force_and_the_next_operator_writes_it_down() {
    let team = Team::new("unwritten");
    let operator = Installation::of(&team, 2, &[]);
    let active = greedy::active(&team, COOLDOWN).await;

    let refusal = Refusal::of(&team).await;
    greedy::breach(&team).await;
    let hedged = greedy::last_hedge(&team).await;
    assert_eq!(team.cohort("Active").await["transition"], active["transition"], "nothing was written");

    operator.kill_leader().await;
    drop(refusal);
    let suspended = team.cohort("Suspended").await;
    let number = |cohort: &Value| cohort["transition"].as_i64().unwrap();
    assert_eq!(number(&suspended), number(&active) + 1, "one transition, by whomever");
    assert_eq!(greedy::stopped(&team).await, Some(hedged), "no hedge of a suspended cohort");
}

const REFUSAL: &str = r#"
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAME}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
      - {apiGroups: [hedgerow.dev], apiVersions: ["*"], operations: [UPDATE], resources: [hedgepolicies/status]}
  validations:
    - {expression: "false", message: "nothing is written down today", reason: Forbidden}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NAME}
spec:
  policyName: NAME
  validationActions: [Deny]
  matchResources:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}
"#;
