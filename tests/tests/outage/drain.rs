//! `kubectl drain` of the node on which all gateways are: nothing is cut, and the disruption budget decides how fast it goes.
//!
//! With one node the place of the first gateway stays empty as long as the node takes no pods, so the budget holds the second
//! one, and the drain waits; it goes on by itself once the node takes pods again.

use std::{
    io::Read as _,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    api::{kubectl, root},
    installation::Installation,
    load::{Load, busy_team},
    right::right_again,
    team::{SOON, Team, condition, until},
};

/// Longest drain: two gateways that end one after the other.
const DRAIN: Duration = Duration::from_mins(3);

#[tokio::test]
async fn a_drained_node_loses_one_gateway_after_another_and_no_stream() {
    let team = Team::new("drained");
    let _operator = Installation::of(&team, 1, &["fleetDefaults.drain.endpointDelay=10s"]);
    // So that the drain finds these pods only.
    let fleet = FLEET.replace("NAMESPACE", &team.namespace);
    team.apply(&fleet);
    busy_team(&team, "default").await;
    let load = Load::start(&team, "default").await;
    let before = team.pods().await;
    assert_eq!(before.len(), 2);

    let mut drain = Drain::start(&team);
    let gone = until("the first gateway to have gone", SOON, async || {
        let left: Vec<String> = uids(&team, true).await;
        before.iter().map(|pod| pod.1.clone()).find(|uid| !left.contains(uid))
    })
    .await;
    let held = before.iter().find(|pod| pod.1 != gone).unwrap();
    let pod = team.get("v1", "pods", &held.0).await.unwrap();
    assert!(pod["metadata"]["deletionTimestamp"].is_null(), "the budget holds the second: {pod:#}");
    until("the fleet to say that a gateway has no place", SOON, async || {
        let fleet = team.ours("gatewayfleets", "default").await?;
        let programmed = condition(&fleet, "Programmed")?;
        let said = programmed["message"].as_str()?.contains("unschedulable");
        (programmed["status"] == "False" && said).then_some(())
    })
    .await;
    assert!(drain.process.try_wait().unwrap().is_none(), "it waits for the second");
    load.turn_over().await;

    kubectl(&["uncordon", NODE]);
    let said = drain.ended().await;
    assert!(said.contains("disruption budget") && said.contains("drained"), "{said}");
    until("two other pods", SOON, async || {
        let now = uids(&team, false).await;
        (now.len() == 2 && before.iter().all(|pod| !now.contains(&pod.1))).then_some(())
    })
    .await;
    team.kubectl(&["rollout", "status", "deployment/hedgerow-default", "--timeout=90s"]);
    println!("drained: right after {:.1?}", right_again(&team, Instant::now()).await);
    load.turn_over().await;
    load.was_unharmed("a drained node").await;
}

/// Uids of the gateway pods, with those that leave or without.
async fn uids(team: &Team, leaving: bool) -> Vec<String> {
    let selector = "labelSelector=app.kubernetes.io/name%3Dhedgerow-gateway";
    let path = format!("/api/v1/namespaces/{}/pods?{selector}", team.namespace);
    let list = team.api.get(&path).await.unwrap();
    let stays = |pod: &&Value| leaving || pod["metadata"]["deletionTimestamp"].is_null();
    let pods = list["items"].as_array().unwrap().iter().filter(stays);
    pods.map(|pod| pod["metadata"]["uid"].as_str().unwrap().to_owned()).collect()
}

/// `kubectl drain` while it works; the node takes pods again when it is dropped.
struct Drain {
    process: Child,
}

impl Drain {
    fn start(team: &Team) -> Self {
        let process = Command::new(root().join("tests/cluster/kubectl"))
            .args(["drain", NODE, "--ignore-daemonsets", "--delete-emptydir-data"])
            .arg(format!("--pod-selector=scenario={}", team.namespace))
            .arg(format!("--timeout={}s", DRAIN.as_secs()))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self { process }
    }

    /// What it said, once it has ended well.
    async fn ended(&mut self) -> String {
        let status = until("the drain to end", DRAIN, async || self.process.try_wait().unwrap()).await;
        let mut said = String::new();
        self.process.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        self.process.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(status.success(), "{status}: {said}");
        said
    }
}

impl Drop for Drain {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = Command::new(root().join("tests/cluster/kubectl")).args(["uncordon", NODE]).output();
    }
}

const NODE: &str = "node";

const FLEET: &str = "
apiVersion: hedgerow.dev/v1alpha1
kind: GatewayFleet
metadata: {name: default}
spec: {template: {labels: {scenario: NAMESPACE}}}
";
