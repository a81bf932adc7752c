//! Two operators: one works, and the other takes over.

use crate::{installation::Installation, team::Team};

#[tokio::test]
async fn when_the_leader_dies_the_other_operator_goes_on_and_nothing_restarts() {
    let team = Team::new("leader");
    let operator = Installation::of(&team, 2, &[]);
    team.provider();
    team.apply(&team.route("only", ""));
    team.apply(POLICY);
    team.condition("hedgepolicies", "chat", ["Programmed", "True", "Programmed"]).await;
    team.condition("gatewayfleets", "default", ["Ready", "True", "Ready"]).await;
    let pods = team.pods().await;
    let before = team.ours("hedgepolicies", "chat").await.unwrap();

    let second = operator.kill_leader().await;
    team.kubectl(&["patch", "hp", "chat", "--type=merge", "--patch", r#"{"spec":{"holdoutPercent":7}}"#]);
    team.condition("hedgepolicies", "chat", ["Programmed", "True", "Programmed"]).await;
    assert_eq!(operator.leader(), second, "it still leads");
    assert_eq!(team.pods().await, pods, "gateways do not notice");
    let after = team.ours("hedgepolicies", "chat").await.unwrap();
    let transition = |policy: &serde_json::Value| policy["status"]["cohorts"][0]["transition"].clone();
    assert_eq!(transition(&before), transition(&after), "what was decided stays decided");
}

const POLICY: &str = "
apiVersion: hedgerow.dev/v1alpha1
kind: HedgePolicy
metadata: {name: chat}
spec: {mode: Enforce, cohorts: [{name: stream}]}
";
