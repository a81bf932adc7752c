//! Two fleets have to be restarted at the same time: one waits for the other, and says so.

use std::{collections::BTreeSet, time::Instant};

use serde_json::Value;

use crate::{
    gateways_roll::RESOURCES,
    installation::Installation,
    load::{Load, busy_team},
    right::right_again,
    team::{SOON, Team, condition, until},
};

const FLEETS: [&str; 2] = ["one", "other"];

#[tokio::test]
async fn two_fleets_that_have_to_roll_do_so_one_after_another() {
    let team = Team::new("turns");
    let _operator = Installation::of(&team, 1, &["fleetDefaults.drain.endpointDelay=5s"]);
    let mut loads = Vec::new();
    for fleet in FLEETS {
        busy_team(&team, fleet).await;
        loads.push(Load::start(&team, fleet).await);
    }
    let before = [template(&team, "one").await, template(&team, "other").await];

    team.kubectl(&["patch", "gf", "one", "other", "--type=merge", "--patch", RESOURCES]);
    let (mut order, mut looks, mut waited) = (Vec::new(), 0, BTreeSet::new());
    until("both fleets to have rolled", 2 * SOON, async || {
        let mut rolling = Vec::new();
        let mut done = 0;
        for (fleet, before) in FLEETS.iter().zip(&before) {
            let deployment = team.get("apps/v1", "deployments", &format!("hedgerow-{fleet}")).await?;
            if bootstrap(&deployment) == *before {
                if waits(&team, fleet).await? {
                    waited.insert(*fleet);
                }
                continue;
            }
            if is_rolled_out(&deployment) {
                done += 1;
            } else {
                rolling.push(*fleet);
            }
        }
        assert!(rolling.len() < 2, "both roll at the same time");
        looks += usize::from(!rolling.is_empty());
        if let [fleet] = rolling[..]
            && order.last() != Some(&fleet)
        {
            order.push(fleet);
        }
        (done == FLEETS.len()).then_some(())
    })
    .await;
    println!("rolled in the order {order:?}, seen {looks} times while rolling");
    assert_eq!(order.len(), 2, "each was seen rolling, once: {order:?}");
    assert_eq!(waited, BTreeSet::from([order[1]]), "the second one said that it waits");
    println!("two rolls: right after {:.1?}", right_again(&team, Instant::now()).await);
    for load in loads {
        load.turn_over().await;
        load.was_unharmed("a fleet that rolled in turn").await;
    }
}

/// Whether a fleet says that it waits for its turn: it alone, and nothing else of it is worse for that.
async fn waits(team: &Team, fleet: &str) -> Option<bool> {
    let object = team.ours("gatewayfleets", fleet).await?;
    let programmed = condition(&object, "Programmed")?;
    let waits = programmed["message"].as_str()?.contains("waits for its turn");
    if waits {
        assert_eq!(programmed["status"], "False");
        assert_eq!(programmed["reason"], "Reconciling");
        assert_eq!(programmed["observedGeneration"], object["metadata"]["generation"]);
        assert_eq!(condition(&object, "Reconciling")?["status"], "True");
        assert_eq!(condition(&object, "Accepted")?["status"], "True");
        let [route, policy] = [("providerroutes", "near"), ("hedgepolicies", "chat")];
        for (resource, name) in [route, policy] {
            let other = team.ours(resource, &format!("{fleet}-{name}")).await?;
            assert_eq!(condition(&other, "Ready")?["status"], "True", "{other:#}");
        }
    }
    Some(waits)
}

async fn template(team: &Team, fleet: &str) -> Option<String> {
    bootstrap(&team.get("apps/v1", "deployments", &format!("hedgerow-{fleet}")).await.unwrap())
}

fn bootstrap(deployment: &Value) -> Option<String> {
    let annotations = &deployment["spec"]["template"]["metadata"]["annotations"];
    annotations["hedgerow.dev/bootstrap"].as_str().map(str::to_owned)
}

/// Whether every pod is new, as `kubectl rollout status` finds it.
fn is_rolled_out(deployment: &Value) -> bool {
    let status = &deployment["status"];
    let count = |field: &str| status[field].as_i64().unwrap_or(0);
    status["observedGeneration"] == deployment["metadata"]["generation"]
        && count("updatedReplicas") == 2
        && count("replicas") == 2
        && count("availableReplicas") == 2
}
