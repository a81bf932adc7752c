//! How soon every gateway has taken up what was decided or changed.
//!
//! Read from the programs' own log lines: the operator says when it decided and when it wrote a configuration, each gateway
//! when it took it up. All run on one machine, so it is one clock; and whoever looks may come late, the lines do not.

use std::time::{Duration, Instant};

use hedgerow_tests::audit::{Entry, Log};
use jiff::Timestamp;
use serde_json::Value;

use crate::{
    api::run_folder,
    installation::Installation,
    team::{SOON, Team, until},
};

/// What is promised.
const PROMISED: Duration = Duration::from_secs(3);
/// What changes a policy, in the audit log: a busy machine may take long to start who asks for it.
const CHANGE: &str = "patch hedgepolicies.hedgerow.dev";
/// Decisions and changes of each kind.
const TIMES: usize = 5;

/// From the decision with that number, of a policy with one cohort, to when every gateway had it in force.
pub(crate) async fn of_decision(team: &Team, operator: &Installation, transition: &Value) -> Duration {
    let lines = lines(&operator.kubectl(&["logs", &operator.leader()]));
    let line = lines.iter().find(|line| line["transition"] == *transition && !line["cohort"].is_null());
    let decided = at(line.unwrap_or_else(|| panic!("the leader did not decide {transition}")));
    in_force(team, operator, decided).await
}

/// From `began` to when every gateway had the first configuration in force that was written afterwards.
pub(crate) async fn in_force(team: &Team, operator: &Installation, began: Timestamp) -> Duration {
    let (leader, mut taken) = (operator.leader(), Duration::ZERO);
    let digest = until("a configuration", SOON, async || {
        let lines = lines(&operator.kubectl(&["logs", &leader]));
        let written = |line: &&Value| says(line, "configuration written") && at(line) >= began;
        lines.iter().find(written).map(|line| line["digest"].clone())
    })
    .await;
    for (pod, ..) in team.pods().await {
        let last = until(&format!("{pod} to have it in force"), SOON, async || {
            let lines = lines(&team.kubectl(&["logs", &pod]));
            let ours = |line: &&Value| {
                says(line, "configuration in force") && line["digest"] == digest && at(line) >= began
            };
            lines.iter().find(ours).map(at)
        })
        .await;
        taken = taken.max(last.duration_since(began).unsigned_abs());
    }
    taken
}

fn lines(log: &str) -> Vec<Value> {
    log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn says(line: &Value, message: &str) -> bool {
    line["message"] == message
}

fn at(line: &Value) -> Timestamp {
    line["timestamp"].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn every_gateway_takes_up_decisions_and_changes_within_seconds() {
    let team = Team::new("acknowledgement");
    let operator = Installation::of(&team, 1, &[]);
    team.provider();
    team.apply("{apiVersion: hedgerow.dev/v1alpha1, kind: GatewayFleet, metadata: {name: default}, spec: {replicas: 3}}");
    team.apply(&team.route("only", ""));
    team.apply(POLICY);
    team.condition("hedgepolicies", "chat", ["Programmed", "True", "Programmed"]).await;
    team.condition("gatewayfleets", "default", ["Ready", "True", "Ready"]).await;
    assert_eq!(team.pods().await.len(), 3);
    let mut cohort = team.cohort("Active").await;

    let (mut decided, mut changed, mut programmed) = (Vec::new(), Vec::new(), Vec::new());
    for time in 0..TIMES {
        for (state, set, gone) in [
            ("Suspended", "suspend.stream=2100-01-01T00:00:00Z".to_owned(), "resume.stream-"),
            ("Active", format!("resume.stream={time}"), "suspend.stream-"),
        ] {
            let [set, gone] = [&*set, gone].map(|annotation| format!("hedgerow.dev/{annotation}"));
            team.kubectl(&["annotate", "hp", "chat", "--overwrite", &set, &gone]);
            cohort = team.cohort(state).await;
            decided.push(of_decision(&team, &operator, &cohort["transition"]).await);
        }
        let mut log = Log::from_now_on(&run_folder().join("audit.log")).unwrap();
        let clock = Instant::now();
        let patch = format!(r#"{{"spec":{{"holdoutPercent":{}}}}}"#, time + 6);
        team.kubectl(&["patch", "hp", "chat", "--type=merge", "--patch", &patch]);
        team.condition("hedgepolicies", "chat", ["Programmed", "True", "Programmed"]).await;
        programmed.push(clock.elapsed());
        let asked = |entry: &Entry| entry.namespace == team.namespace && entry.right() == CHANGE;
        let began = log.more(asked).unwrap().first().expect("the audit log has it").received;
        changed.push(in_force(&team, &operator, began).await);
    }
    println!("from a decision to every gateway: {decided:.2?}");
    println!(
        "from a change to every gateway: {changed:.2?}; to Programmed as seen from outside: {programmed:.2?}"
    );
    for took in decided.iter().chain(&changed) {
        assert!(*took <= PROMISED, "{took:.2?}");
    }
    assert_eq!(cohort["state"], "Active");
}

const POLICY: &str = "
apiVersion: hedgerow.dev/v1alpha1
kind: HedgePolicy
metadata: {name: chat}
spec: {mode: Enforce, cohorts: [{name: stream}], ramp: {startPercent: 100, every: 1s}}
";
