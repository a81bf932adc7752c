//! A change of a policy reaches every pod while it runs.

use std::time::Duration;

use crate::{
    installation::Installation,
    team::{Team, until},
};

/// A machine that runs several scenarios at once is slower than the 3 s that hold on an idle one.
const WITHIN: Duration = Duration::from_secs(15);

#[tokio::test]
async fn a_changed_policy_is_taken_up_by_every_pod_without_a_restart() {
    let team = Team::new("change");
    let _operator = Installation::of(&team, 1, &[]);
    team.provider();
    team.apply(&team.route("only", ""));
    team.apply(POLICY);
    team.condition("hedgepolicies", "chat", ["Programmed", "True", "Programmed"]).await;
    until("two pods", WITHIN, async || (team.pods().await.len() == 2).then_some(())).await;
    let (pods, fleet) = (team.pods().await, team.ours("gatewayfleets", "default").await.unwrap());

    team.kubectl(&["patch", "hp", "chat", "--type=merge", "--patch", r#"{"spec":{"holdoutPercent":7}}"#]);
    until("every pod to report the new digest", WITHIN, async || {
        let policy = team.ours("hedgepolicies", "chat").await?;
        let programmed = crate::team::condition(&policy, "Programmed")?;
        (programmed["status"] == "True" && programmed["observedGeneration"] == 2).then_some(())
    })
    .await;

    until("the fleet to say so", WITHIN, async || {
        let after = team.ours("gatewayfleets", "default").await?;
        let other = fleet["status"]["digest"] != after["status"]["digest"];
        (other && after["status"]["pods"]["programmed"] == 2).then_some(())
    })
    .await;
    assert_eq!(team.pods().await, pods, "the same pods, not restarted");
}

const POLICY: &str = "
apiVersion: hedgerow.dev/v1alpha1
kind: HedgePolicy
metadata: {name: chat}
spec: {mode: Enforce, cohorts: [{name: all}]}
";
