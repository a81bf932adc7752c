//! Credentials that are not there yet.

use std::time::Duration;

use crate::{
    installation::Installation,
    team::{Team, condition, until},
};

/// Twice the kubelet's period.
const KUBELET: Duration = Duration::from_mins(3);

#[tokio::test]
async fn a_missing_secret_is_named_and_taken_up_without_a_restart_once_it_is_there() {
    let team = Team::new("secret");
    let _operator = Installation::of(&team, 1, &[]);
    team.provider();
    team.apply(&team.route("open", ""));
    team.apply(&team.route("keyed", "  auth: {type: Bearer, secretRef: {key: provider}}\n"));

    let missing =
        team.condition("providerroutes", "keyed", ["ResolvedRefs", "False", "SecretNotFound"]).await;
    let message = missing["message"].as_str().unwrap();
    assert!(message.contains("hedgerow-default-keys/provider"), "{message}");
    team.condition("providerroutes", "open", ["Ready", "True", "Ready"]).await;
    team.answered().await;
    let pods = team.pods().await;

    let secret = ["create", "secret", "generic", "hedgerow-default-keys", "--from-literal=provider=sk"];
    team.kubectl(&secret);
    // A kubelet looks for new Secrets about once a minute, and nudges are for configuration only.
    until("the route to have its key", KUBELET, async || {
        let route = team.ours("providerroutes", "keyed").await?;
        (condition(&route, "Ready")?["status"] == "True").then_some(())
    })
    .await;
    assert_eq!(team.pods().await, pods, "the same pods, not restarted");
}
