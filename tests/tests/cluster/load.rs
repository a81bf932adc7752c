//! Users who do not stop while something is done to the cluster: sessions that stream answers through a fleet's Service,
//! and a provider that takes seconds for each.
//!
//! Inputs: a team with a provider and routes. Outputs: what was answered, cut and refused, as `hedgerow-sim traffic` counts
//! it. An answer is whole only with the terminal event of its dialect, all its tokens and those of one attempt. Every third
//! request of a connection is its last one, so that kept connections and the Service's choice of a pod are both in play.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::{
    api::root,
    installation::folder,
    team::{SOON, Team, until},
};

/// Sessions of one load, nearly all of which stream at any time.
pub(crate) const STREAMS: u64 = 50;
/// Requests that one connection carries.
const PER_CONNECTION: &str = "3";
/// A load that nobody ends; the longest scenario takes seven minutes.
const LONGEST: &str = "900";
/// Loads at the same time. Scenarios run in parallel, and what a starved machine does to a request proves nothing.
static ROOM: Semaphore = Semaphore::const_new(3);
/// What is under way at the end takes no longer than the longest answer, even on a slow machine.
const LAST_ANSWERS: Duration = Duration::from_secs(90);

/// Traffic that runs; killed when it is dropped.
pub(crate) struct Load {
    client: Child,
    /// The last line that it printed.
    said: Arc<Mutex<Value>>,
    reader: Option<thread::JoinHandle<()>>,
    _room: SemaphorePermit<'static>,
}

impl Load {
    /// Starts sessions against the Service of a fleet, and returns when each has been answered about once.
    pub(crate) async fn start(team: &Team, fleet: &str) -> Self {
        let room = ROOM.acquire().await.unwrap();
        let service = team.get("v1", "services", &format!("hedgerow-{fleet}")).await.unwrap();
        let address = service["spec"]["clusterIP"].as_str().unwrap();
        // The node's proxy hears of a new Service a little later than the operator of its pods.
        until("an answer through the Service", SOON, async || answers(address).then_some(())).await;
        let mut client = Command::new(root().join("tests/cluster/exec"))
            .arg(folder().join("sim/hedgerow-sim"))
            .args(["traffic", "--progress", "--model", "model", "--target", &format!("{address}:8080")])
            .args(["--sessions", &STREAMS.to_string(), "--requests-per-connection", PER_CONNECTION])
            .args(["--seconds", LONGEST])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = Arc::new(Mutex::new(Value::Null));
        let (lines, last) = (BufReader::new(client.stdout.take().unwrap()).lines(), said.clone());
        let reader = thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                *last.lock().unwrap() = serde_json::from_str(&line).unwrap();
            }
        });
        let load = Self { client, said, reader: Some(reader), _room: room };
        until("every session to be answered", SOON, async || (load.answered() >= STREAMS).then_some(()))
            .await;
        load
    }

    /// Answers so far.
    pub(crate) fn answered(&self) -> u64 {
        self.said.lock().unwrap()["answered"].as_u64().unwrap_or(0)
    }

    /// Waits until so many more were answered as there are sessions: requests that began before are over then.
    pub(crate) async fn turn_over(&self) {
        let before = self.answered();
        until("another round of answers", SOON, async || (self.answered() >= before + STREAMS).then_some(()))
            .await;
    }

    /// Ends the sessions after their last answers. Every one of them was whole, and no request was refused.
    pub(crate) async fn was_unharmed(mut self, what: &str) {
        let pid = self.client.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        let status = until("the last answers", LAST_ANSWERS, async || self.client.try_wait().unwrap()).await;
        assert!(status.success(), "{status}");
        self.reader.take().unwrap().join().unwrap();
        let said = self.said.lock().unwrap().clone();
        println!("{what}: {said}");
        assert!(said["requests"].as_u64().unwrap() >= 2 * STREAMS, "too little to prove anything: {said}");
        assert_eq!(said["requests"], said["answered"], "{what}: {said:#}");
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.client.kill();
        let _ = self.client.wait();
    }
}

/// Whether a provider's answer comes back through a Service: its name, too, is heard of a little later than it is made.
fn answers(address: &str) -> bool {
    let mut ask = Command::new(root().join("tests/cluster/exec"));
    ask.args(["curl", "--silent", "--fail", "--max-time", "20", "--output", "/dev/null"]);
    ask.args(["--header", "content-type: application/json", "--data"]);
    ask.arg(r#"{"model":"model","messages":[{"role":"user","content":"hello"}]}"#);
    ask.arg(format!("http://{address}:8080/v1/chat/completions")).status().unwrap().success()
}

/// A provider whose answers take two to eight seconds, and what a fleet needs for fifty of them: two routes to it, a policy
/// that hedges, and a lane that lets all of them in even through one pod.
pub(crate) async fn busy_team(team: &Team, fleet: &str) {
    team.provider_with(&[PROFILE]);
    let gateway = format!("  gateway: {fleet}\n");
    for name in ["near", "far"] {
        team.apply(&team.route(&format!("{fleet}-{name}"), &gateway));
    }
    team.apply(&POLICY.replace("FLEET", fleet));
    team.apply(&LANE.replace("FLEET", fleet));
    crate::right::right_within(team, Instant::now(), SOON).await;
}

const PROFILE: &str = r#"--profile={"firstToken":{"lognormal":{"medianMs":300,"sigma":0.3}},"gap":{"fixed":{"ms":200}},"outputTokens":{"min":10,"max":40}}"#;

const POLICY: &str = "
apiVersion: hedgerow.dev/v1alpha1
kind: HedgePolicy
metadata: {name: FLEET-chat}
spec: {gateway: FLEET, mode: Enforce, cohorts: [{name: all}]}
";

const LANE: &str = "
apiVersion: hedgerow.dev/v1alpha1
kind: PriorityLane
metadata: {name: FLEET-everyone}
spec: {gateway: FLEET, concurrency: {algorithm: Fixed, initial: 200}}
";
