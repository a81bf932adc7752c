//! A provider's key is replaced while answers stream.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{
    installation::Installation,
    load::{Load, busy_team},
    right::right_again,
    team::{SOON, Team, until},
};

/// Twice the kubelet's period.
const KUBELET: Duration = Duration::from_mins(3);

#[tokio::test]
async fn a_rotated_key_reaches_every_gateway_without_a_restart_while_answers_stream() {
    let team = Team::new("rotated");
    let _operator = Installation::of(&team, 1, &[]);
    team.kubectl(&["create", "secret", "generic", "hedgerow-default-keys", "--from-literal=provider=sk-old"]);
    team.apply(&team.route("keyed", "  auth: {type: Bearer, secretRef: {key: provider}}\n"));
    busy_team(&team, "default").await;
    let load = Load::start(&team, "default").await;
    let before = until("both gateways to hold the first key", SOON, async || held_by_both(&team).await).await;
    let pods = team.pods().await;

    let patch = r#"{"stringData":{"provider":"sk-new"}}"#;
    team.kubectl(&["patch", "secret", "hedgerow-default-keys", "--type=merge", "--patch", patch]);
    let rotated = Instant::now();
    until("both gateways to hold the second key", KUBELET, async || {
        (held_by_both(&team).await? != before).then_some(())
    })
    .await;
    println!("a new key is everywhere after {:.1?}", rotated.elapsed());
    println!("a new key: right after {:.1?}", right_again(&team, Instant::now()).await);
    assert_eq!(team.pods().await, pods, "the same pods, not restarted");
    load.turn_over().await;
    load.was_unharmed("a new key").await;
}

/// The fingerprint of the key that both pods hold, as the route's status says.
async fn held_by_both(team: &Team) -> Option<Value> {
    let route = team.ours("providerroutes", "keyed").await?;
    let credentials = &route["status"]["credentials"];
    (credentials["pods"] == "2/2").then(|| credentials["fingerprint"].clone())
}
