//! Whether everything that statuses say is right: about the present generation, nothing missing, as many pods as there are.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::time;

use crate::team::{Team, condition};

/// How long beyond the time statuses are looked at, so that the failure says how late they were.
const LATE: Duration = Duration::from_mins(1);
/// Pause between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// The kinds with a status of ours.
const KINDS: [&str; 4] = ["providerroutes", "hedgepolicies", "prioritylanes", "gatewayfleets"];

/// Waits until everything is right, which is to be so within the [`crate::AGAIN`] of this target after `ended`; says how long
/// it took.
pub(crate) async fn right_again(team: &Team, ended: Instant) -> Duration {
    right_within(team, ended, crate::AGAIN).await
}

/// Waits until everything is right, which is to be so within a time after `ended`; says how long it took.
pub(crate) async fn right_within(team: &Team, ended: Instant, within: Duration) -> Duration {
    let mut last = String::new();
    while let Some(wrong) = wrong(team).await {
        assert!(ended.elapsed() < within + LATE, "{:.1?} after the end: {wrong}", ended.elapsed());
        last = wrong;
        time::sleep(LOOK).await;
    }
    let took = ended.elapsed();
    assert!(
        took <= within,
        "statuses were right {took:.1?} after the end, not within {within:?}; last was: {last}"
    );
    took
}

/// The first thing that is not right, in words.
pub(crate) async fn wrong(team: &Team) -> Option<String> {
    let mut fleets = Vec::new();
    for kind in KINDS {
        let path = format!("/apis/hedgerow.dev/v1alpha1/namespaces/{}/{kind}", team.namespace);
        let Some(list) = team.api.answer(&path).await else {
            return Some(format!("{kind} cannot be listed"));
        };
        for object in list["items"].as_array().unwrap() {
            if let Some(wrong) = wrong_conditions(object) {
                return Some(format!("{kind}/{}: {wrong}", object["metadata"]["name"]));
            }
            if kind == "gatewayfleets" {
                fleets.push(object.clone());
            }
        }
    }
    for fleet in fleets {
        if let Some(wrong) = wrong_pods(team, &fleet).await {
            return Some(format!("gatewayfleets/{}: {wrong}", fleet["metadata"]["name"]));
        }
    }
    None
}

fn wrong_conditions(object: &Value) -> Option<String> {
    let generation = &object["metadata"]["generation"];
    for type_ in ["Accepted", "Programmed", "Ready"] {
        let Some(found) = condition(object, type_) else { return Some(format!("{type_} is missing")) };
        if found["status"] != "True" || found["observedGeneration"] != *generation {
            return Some(format!("generation {generation}, {found}"));
        }
        let unsure = ["just started", "cannot be read"];
        if unsure.iter().any(|words| found["message"].as_str().is_some_and(|said| said.contains(words))) {
            return Some(found["message"].to_string());
        }
    }
    (object["status"]["observedGeneration"] != *generation).then(|| "observedGeneration".to_owned())
}

/// Compares what a fleet says about its pods with its Deployment and with the pods themselves.
async fn wrong_pods(team: &Team, fleet: &Value) -> Option<String> {
    let name = fleet["metadata"]["name"].as_str().unwrap();
    let namespace = &team.namespace;
    let deployment = format!("/apis/apps/v1/namespaces/{namespace}/deployments/hedgerow-{name}");
    let pods = format!("/api/v1/namespaces/{namespace}/pods?labelSelector=hedgerow.dev%2Ffleet%3D{name}");
    let Some(deployment) = team.api.answer(&deployment).await else {
        return Some("no Deployment".to_owned());
    };
    let Some(pods) = team.api.answer(&pods).await else { return Some("no pods".to_owned()) };
    let stays = |pod: &&Value| pod["metadata"]["deletionTimestamp"].is_null();
    let live = pods["items"].as_array().unwrap().iter().filter(stays).count();
    let wanted = &deployment["spec"]["replicas"];
    let said = &fleet["status"]["pods"];
    let agree = ["desired", "ready", "programmed"].iter().all(|figure| said[figure] == *wanted);
    (!agree || *wanted != live)
        .then(|| format!("it says {said}, the Deployment asks for {wanted}, {live} stay"))
}
