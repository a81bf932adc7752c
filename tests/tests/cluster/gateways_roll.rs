//! What restarts gateways: other resources, and a Secret that is mounted for the first time. Nobody who streams notices.

use std::{collections::BTreeSet, time::Instant};

use crate::{
    installation::Installation,
    load::{Load, busy_team},
    right::right_again,
    team::{SOON, Team, condition, until},
};

#[tokio::test]
async fn gateways_roll_for_new_resources_and_for_a_new_secret_without_cutting_a_stream() {
    let team = Team::new("roll");
    let _operator = Installation::of(&team, 1, &["fleetDefaults.drain.endpointDelay=10s"]);
    busy_team(&team, "default").await;
    let load = Load::start(&team, "default").await;

    let before = uids(&team).await;
    team.kubectl(&["patch", "gf", "default", "--type=merge", "--patch", RESOURCES]);
    let middle = replaced(&team, before).await;
    println!("new resources: right after {:.1?}", right_again(&team, Instant::now()).await);
    assert_eq!(templates(&team).await, 2, "one roll");

    team.kubectl(&["create", "secret", "generic", "hedgerow-extra", "--from-literal=provider=sk"]);
    team.apply(
        &team.route("keyed", "  auth: {type: Bearer, secretRef: {name: hedgerow-extra, key: provider}}\n"),
    );
    let after = replaced(&team, middle).await;
    println!("a new Secret: right after {:.1?}", right_again(&team, Instant::now()).await);
    assert_eq!(templates(&team).await, 3, "one more roll");
    load.turn_over().await;
    assert_eq!(uids(&team).await, after, "and no further one");

    let events = ["get", "events", "--field-selector=reason=RollingOut", "--output=name"];
    assert_eq!(team.kubectl(&events).lines().count(), 2, "each is told");
    load.was_unharmed("two rolls").await;
}

/// Waits until none of the pods is there any more, also not as one that leaves, and new ones serve. Nobody is told meanwhile
/// to create the Secret that only new pods mount.
pub(crate) async fn replaced(team: &Team, before: BTreeSet<String>) -> BTreeSet<String> {
    until("other pods", SOON, async || {
        let now = uids(team).await;
        if let Some(route) = team.ours("providerroutes", "keyed").await
            && let Some(resolved) = condition(&route, "ResolvedRefs")
        {
            assert_ne!(resolved["reason"], "SecretNotFound", "{resolved}");
        }
        (now.len() == before.len() && now.is_disjoint(&before)).then_some(())
    })
    .await;
    team.kubectl(&["rollout", "status", "deployment/hedgerow-default", "--timeout=90s"]);
    uids(team).await
}

pub(crate) async fn uids(team: &Team) -> BTreeSet<String> {
    team.pods().await.into_iter().map(|(_, uid, _)| uid).collect()
}

/// How many pod templates the fleet has had.
async fn templates(team: &Team) -> usize {
    let path = format!("/apis/apps/v1/namespaces/{}/replicasets", team.namespace);
    let sets = team.api.get(&path).await.unwrap();
    let name = |set: &serde_json::Value| set["metadata"]["name"].as_str().unwrap().to_owned();
    sets["items"].as_array().unwrap().iter().filter(|set| name(set).starts_with("hedgerow-")).count()
}

/// Other resources, for which pods have to be replaced.
pub(crate) const RESOURCES: &str = r#"{"spec":{"resources":{"requests":{"memory":"65Mi"}}}}"#;
