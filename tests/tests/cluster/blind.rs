//! Hedging that nobody watches ends: the operator cannot read the gateways, or there is no operator.

use std::process::{Command, Output};

use serde_json::Value;

use crate::{
    api::root,
    installation::Installation,
    team::{SOON, Team, until},
};

const POLICY: &str = "
apiVersion: hedgerow.dev/v1alpha1
kind: HedgePolicy
metadata: {name: chat}
spec:
  mode: Enforce
  cohorts: [{name: all}]
  ramp: {startPercent: 100, every: 1s}
  guardrails:
    window: 30s
    minRequests: 20
    cooldown: 5s
    trialFor: 5s
    blind: {after: 10s}
";

fn inside(arguments: &[&str]) -> Output {
    Command::new(root().join("tests/cluster/exec")).args(arguments).output().unwrap()
}

/// Drops what one pod sends to the admin ports of others, until it is dropped itself.
struct Cut(String);

impl Cut {
    fn of(address: &str) -> Self {
        let cut = Self(address.to_owned());
        let done = cut.rule("--insert");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        cut
    }

    fn rule(&self, what: &str) -> Output {
        inside(&[
            "iptables", what, "FORWARD", "--source", &self.0, "-p", "tcp", "--dport", "9090", "-j", "DROP",
        ])
    }
}

impl Drop for Cut {
    fn drop(&mut self) {
        let _ = self.rule("--delete");
    }
}

async fn running(team: &Team) {
    team.provider();
    team.apply(&team.route("a", "  rampUp: {startPercent: 100}\n"));
    team.apply(&team.route("b", "  rampUp: {startPercent: 100}\n"));
    team.apply(POLICY);
    team.answered().await;
    team.cohort("Active").await;
}

#[tokio::test]
async fn an_operator_that_cannot_read_the_gateways_suspends_hedging_until_it_can() {
    let team = Team::new("blind");
    let operator = Installation::of(&team, 1, &[]);
    running(&team).await;
    let address = operator.kubectl(&["get", "pods", "--output=jsonpath={.items[0].status.podIP}"]);
    let cut = Cut::of(&address);
    let cohort = team.cohort("Suspended").await;
    assert_eq!(cohort["reason"], "Blind");
    assert!(cohort["message"].as_str().unwrap().contains("reaches port 9090"), "{cohort:#}");
    team.condition("hedgepolicies", "chat", ["GuardrailBreached", "True", "Blind"]).await;
    team.answered().await;
    drop(cut);
    team.cohort("Trial").await;
    until("the trial to have passed", SOON, async || {
        team.ask().await?;
        let policy = team.ours("hedgepolicies", "chat").await?;
        (policy["status"]["cohorts"][0]["state"] == "Active").then_some(())
    })
    .await;
}

/// What a gateway does with the cohort.
fn state(team: &Team) -> Option<Value> {
    let names = team.kubectl(&[
        "get",
        "pods",
        "--selector=app.kubernetes.io/name=hedgerow-gateway",
        "--output=jsonpath={.items[0].status.podIP}",
    ]);
    let output = inside(&["curl", "--silent", "--max-time", "5", &format!("http://{names}:9090/state")]);
    let state: Value = serde_json::from_slice(&output.stdout).ok()?;
    Some(state["cohorts"][0]["state"].clone())
}

#[tokio::test]
async fn gateways_whose_operator_is_gone_suspend_hedging_by_themselves() {
    let team = Team::new("blind-gateways");
    let operator = Installation::of(&team, 1, &[]);
    running(&team).await;
    until("the gateway to hedge", SOON, async || (state(&team)? == "Active").then_some(())).await;
    operator.scale(0);
    until("the gateway to have stopped", SOON, async || (state(&team)? == "Suspended").then_some(())).await;
    team.answered().await;
    operator.scale(1);
    until("it to go on", SOON, async || (state(&team)? == "Active").then_some(())).await;
}
