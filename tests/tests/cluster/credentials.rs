//! Credentials that are not there, or not under the name that a route gives: said by the pods, which alone see them.

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

#[tokio::test]
async fn a_wrong_key_an_empty_key_and_a_missing_secret_are_told_apart() {
    let team = Team::new("keys");
    let arguments = [
        "create",
        "secret",
        "generic",
        "hedgerow-default-keys",
        "--from-literal=other=sk",
        "--from-literal=empty=",
    ];
    team.kubectl(&arguments);
    let _operator = Installation::of(&team, 1, &[]);
    for (route, reference) in [
        ("good", "{key: other}"),
        ("wrong", "{key: provider}"),
        ("empty", "{key: empty}"),
        ("absent", "{name: hedgerow-absent, key: provider}"),
    ] {
        team.apply(&team.route(route, &format!("  auth: {{type: Bearer, secretRef: {reference}}}\n")));
    }
    for (route, reason, words) in [
        ("wrong", "SecretKeyMissing", "secrets/hedgerow-default-keys/provider: the Secret has no such key"),
        ("empty", "SecretKeyMissing", "secrets/hedgerow-default-keys/empty is there but empty"),
        ("absent", "SecretNotFound", "secrets/hedgerow-absent/provider is missing or empty"),
    ] {
        let resolved = team.condition("providerroutes", route, ["ResolvedRefs", "False", reason]).await;
        let message = resolved["message"].as_str().unwrap();
        assert!(message.contains(words), "{route}: {message}");
        team.condition("providerroutes", route, ["Ready", "False", reason]).await;
    }
    team.condition("providerroutes", "good", ["Ready", "True", "Ready"]).await;
}
