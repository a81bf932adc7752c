//! The API server is away for two minutes.
//!
//! It is back when pods reach it through its Service: one that is stopped in an orderly way takes its address out of that
//! Service, and the node's proxy waits for up to half a minute between its attempts to hear that it is in there again.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use tokio::time;

use crate::{
    AGAIN,
    api::root,
    installation::Installation,
    load::{Load, busy_team},
    right::right_within,
    team::{SOON, Team, condition, until},
};

const AWAY: Duration = Duration::from_mins(2);

#[tokio::test]
async fn two_minutes_without_an_api_server_cut_nothing_and_leave_nothing_wrong() {
    let team = Team::new("outage");
    let operator = Installation::of(&team, 2, &[]);
    busy_team(&team, "default").await;
    let load = Load::start(&team, "default").await;
    let (pods, operators) = (team.pods().await, restarts(&operator));

    assert!(
        Command::new(root().join("tests/cluster/stop")).arg("kube-apiserver").status().unwrap().success()
    );
    let gone = Instant::now();
    assert!(team.api.answer("/version").await.is_none(), "it is away");
    load.turn_over().await;
    time::sleep(AWAY.saturating_sub(gone.elapsed())).await;

    let mut up = Command::new(root().join("tests/cluster/up")).spawn().unwrap();
    until("the API server", SOON, async || team.api.answer("/version").await.map(drop)).await;
    let answers = Instant::now();
    let patch = r#"{"spec":{"holdoutPercent":7}}"#;
    team.kubectl(&["patch", "hp", "default-chat", "--type=merge", "--patch", patch]);
    until("pods to reach the API server", SOON, async || pods_reach_it().then_some(())).await;
    println!("API server away: pods reach it {:.1?} after it answers", answers.elapsed());
    let back = Instant::now();
    until("the policy's status to be about what was changed", SOON, async || {
        let policy = team.ours("hedgepolicies", "default-chat").await?;
        let programmed = condition(&policy, "Programmed")?;
        (programmed["observedGeneration"] == 2 && policy["status"]["observedGeneration"] == 2).then_some(())
    })
    .await;
    let took = back.elapsed();
    println!("API server away: statuses are about the present {took:.1?} after it is back");
    assert!(took <= AGAIN, "{took:.1?}");
    // The change itself comes with the kubelet, which waits up to half a minute between its own attempts to watch.
    println!("API server away: the change is in force after {:.1?}", right_within(&team, back, SOON).await);
    assert!(up.wait().unwrap().success(), "tests/cluster/up");
    assert_eq!(team.pods().await, pods, "gateways do not notice");
    assert_eq!(restarts(&operator), operators, "operators wait and do not restart");
    load.turn_over().await;
    load.was_unharmed("two minutes without an API server").await;
}

/// Whether the API server answers at the address that pods know.
fn pods_reach_it() -> bool {
    let mut ask = Command::new(root().join("tests/cluster/exec"));
    ask.args(["curl", "--silent", "--insecure", "--max-time", "1", "--output", "/dev/null"]);
    ask.arg("https://10.96.0.1/version").status().unwrap().success()
}

/// Names of the operators and how often each was restarted.
fn restarts(operator: &Installation) -> String {
    let columns = "custom-columns=:metadata.name,:status.containerStatuses[0].restartCount";
    operator.kubectl(&["get", "pods", "--no-headers", "--output", columns])
}
