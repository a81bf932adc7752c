//! Gateways are replaced under load: the new ones take over the limit that the fleet has found, so that nobody is shed for a
//! limit that was only forgotten. Beside it what the same roll does without `fleet.json`.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::Value;

use crate::{
    api::root,
    gateways_roll::{RESOURCES, replaced, uids},
    installation::{Installation, folder},
    team::{SOON, Team, until},
};

/// Seconds in which the promise is kept, and over which goodput is told.
const WINDOW: usize = 10;
/// Answers take a second, so this is also how many are under way.
const RATE: u32 = 60;
/// A pod that knows nothing lets so few in; two of them need 30 each.
const INITIAL: u64 = 4;

#[tokio::test]
async fn a_fleet_that_is_replaced_serves_on_with_the_limit_that_it_had_found() {
    let team = Team::new("warm");
    let operator = Installation::of(&team, 1, &[]);
    team.provider_with(&[PROFILE]);
    team.apply(&team.route("only", ""));
    team.apply(&LANE.replace("INITIAL", &INITIAL.to_string()));
    team.condition("prioritylanes", "everyone", ["Programmed", "True", "Programmed"]).await;
    team.answered().await;
    let load = Load::start(&team.address().await.unwrap());
    until("the limit to be found", SOON, async || {
        (load.goodput_since(load.seconds().checked_sub(WINDOW)?) > 0.99).then_some(())
    })
    .await;
    until("the fleet to remember it", SOON, async || (remembered(&team).await? > 30).then_some(())).await;

    let (before, began) = (uids(&team).await, load.seconds());
    team.kubectl(&["patch", "gatewayfleet", "default", "--type=merge", "--patch", RESOURCES]);
    let before_cold = replaced(&team, before).await;
    let warm = load.worst_since(began).await;

    operator.scale(0);
    let patch = r#"{"data":{"fleet.json":"{\"schema\":\"hedgerow.dev/fleet/v1\",\"readyReplicas\":2,\"heartbeatUnixMs\":1}"}}"#;
    team.kubectl(&["patch", "configmap", "hedgerow-default-fleet", "--type=merge", "--patch", patch]);
    let began = load.seconds();
    team.kubectl(&["rollout", "restart", "deployment/hedgerow-default"]);
    replaced(&team, before_cold).await;
    let cold = load.worst_since(began).await;

    println!(
        "goodput in the worst {WINDOW} s of a roll: {:.1} % warm, {:.1} % cold",
        100.0 * warm,
        100.0 * cold
    );
    assert!(warm >= 0.9, "{warm:.3} with what the fleet knew, {cold:.3} without");
    assert!(cold < warm, "without it nothing is lost, so nothing is proven: {cold:.3} and {warm:.3}");
}

/// The limit that `fleet.json` tells new pods.
async fn remembered(team: &Team) -> Option<u64> {
    let map = team.get("v1", "configmaps", "hedgerow-default-fleet").await?;
    let file: Value = serde_json::from_str(map["data"]["fleet.json"].as_str()?).unwrap();
    file["lanes"]["everyone"]["limit"].as_u64()
}

/// Requests at a rate, whatever becomes of them; each second's sums are kept. Ended when it is dropped.
struct Load {
    client: Child,
    /// Requests that have ended and those of them that were answered, second by second.
    seconds: Arc<Mutex<Vec<(u64, u64)>>>,
}

impl Load {
    fn start(address: &str) -> Self {
        let mut client = Command::new(root().join("tests/cluster/exec"))
            .arg(folder().join("sim/hedgerow-sim"))
            .args(["traffic", "--progress", "--kind", "chat-json", "--model", "model", "--target", address])
            .args(["--rps", &RATE.to_string(), "--requests-per-connection", "1", "--seconds", "600"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let seconds = Arc::new(Mutex::new(Vec::new()));
        let (lines, kept) = (BufReader::new(client.stdout.take().unwrap()).lines(), seconds.clone());
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let sums: Value = serde_json::from_str(&line).unwrap();
                let sum = |name: &str| sums[name].as_u64().unwrap();
                kept.lock().unwrap().push((sum("requests"), sum("answered")));
            }
        });
        Self { client, seconds }
    }

    fn seconds(&self) -> usize {
        self.seconds.lock().unwrap().len()
    }

    /// Share of the requests that were answered, of those that ended after this second.
    fn goodput_since(&self, second: usize) -> f64 {
        let seconds = self.seconds.lock().unwrap();
        seconds.get(second).zip(seconds.last()).map_or(0.0, |(from, to)| share(*from, *to))
    }

    /// The worst share of a window after this second, once the last window has passed.
    async fn worst_since(&self, second: usize) -> f64 {
        let end = self.seconds() + WINDOW;
        until("the last window", SOON, async || (self.seconds() > end).then_some(())).await;
        let seconds = self.seconds.lock().unwrap();
        let windows = seconds[second..].windows(WINDOW + 1);
        windows.map(|window| share(window[0], window[WINDOW])).fold(1.0, f64::min)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.client.kill();
        let _ = self.client.wait();
    }
}

fn share(from: (u64, u64), to: (u64, u64)) -> f64 {
    (to.1 - from.1) as f64 / (to.0 - from.0).max(1) as f64
}

const PROFILE: &str = r#"--profile={"firstToken":{"fixed":{"ms":1000}},"gap":{"fixed":{"ms":0}},"outputTokens":{"min":10,"max":10}}"#;

const LANE: &str = "
apiVersion: hedgerow.dev/v1alpha1
kind: PriorityLane
metadata: {name: everyone}
spec: {concurrency: {initial: INITIAL, min: INITIAL, max: 400}, queue: {maxWait: 0s}}
";
