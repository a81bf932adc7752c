//! `hedgerow suspend` and `hedgerow resume` as somebody on call runs them.

use std::process::{Command, Output};

use serde_json::Value;

use crate::{
    api::root,
    installation::Installation,
    team::{SOON, Team, until},
};

/// The command, where the cluster's network and the administrator's kubeconfig are.
fn hedgerow(team: &Team, arguments: &[&str]) -> Output {
    Command::new(root().join("tests/cluster/exec"))
        .arg(env!("CARGO_BIN_EXE_test-hedgerow"))
        .args(arguments)
        .args(["--namespace", &team.namespace])
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

async fn states(team: &Team, expected: [&str; 2]) -> Value {
    until(&format!("the cohorts to be {expected:?}"), SOON, async || {
        let policy = team.ours("hedgepolicies", "chat").await?;
        let cohorts = policy["status"]["cohorts"].as_array()?.iter();
        cohorts
            .map(|cohort| cohort["state"].as_str().unwrap_or_default())
            .eq(expected)
            .then(|| policy.clone())
    })
    .await
}

#[tokio::test]
async fn a_cohort_is_held_and_let_go_by_the_commands_that_messages_print() {
    let team = Team::new("hold");
    let _operator = Installation::of(&team, 1, &[]);
    team.apply(&team.route("only", ""));
    team.apply(POLICY);
    states(&team, ["Ramping", "Ramping"]).await;

    let answer = hedgerow(&team, &["suspend", "hp/chat", "stream", "--for", "2h"]);
    assert!(answer.status.success(), "{}", said(&answer));
    assert!(said(&answer).starts_with("hp/chat stream: hedging stays off until 2"), "{}", said(&answer));
    let held = states(&team, ["Suspended", "Ramping"]).await;
    let fields = held["metadata"]["managedFields"].as_array().unwrap();
    let ours = fields.iter().find(|entry| entry["manager"] == "hedgerow-resume").unwrap();
    assert!(ours.to_string().contains("hedgerow.dev/suspend.stream"), "{ours}");
    let cohort = &held["status"]["cohorts"][0];
    assert!(cohort["hold"]["until"].is_string(), "{cohort}");
    let resume = format!("hedgerow resume hp/chat stream -n {}", team.namespace);
    assert!(cohort["message"].as_str().unwrap().contains(&resume), "{cohort}");

    let answer = hedgerow(&team, &["resume", "hp/chat", "stream"]);
    assert!(answer.status.success(), "{}", said(&answer));
    let resumed = states(&team, ["Ramping", "Ramping"]).await;
    assert!(resumed["metadata"]["annotations"]["hedgerow.dev/suspend.stream"].is_null());

    for (arguments, words) in [
        (["resume", "hp/chat", "json-stream"], "it has stream, json"),
        (["resume", "hp/other", "all"], "there is no HedgePolicy \"other\""),
    ] {
        let answer = hedgerow(&team, &arguments);
        assert!(!answer.status.success() && said(&answer).contains(words), "{}", said(&answer));
    }
}

const POLICY: &str = "
apiVersion: hedgerow.dev/v1alpha1
kind: HedgePolicy
metadata: {name: chat}
spec: {mode: Enforce, cohorts: [{name: stream, match: {stream: true}}, {name: json}]}
";
