//! Whether an operator does its work: a lane that starts nothing, and what is said of it.
//!
//! Why: `helm test` and people want one answer to "does it work here?" that costs nothing. Input: a namespace that the
//! operator watches. What happens: a `PriorityLane` of a fleet without routes is created, which starts no pod; the API
//! server has to take it (CRDs, admission), the leading operator has to see it and write its status (watch, rights, Lease);
//! then it is deleted, whatever the outcome. Output: what the status said. The fleet's name is reserved for this.

use std::time::Duration;

use hedgerow_crds::{
    API_VERSION, Kind,
    condition::{self, ConditionType},
    v1alpha1::PriorityLane,
};
use kube::{
    Api, Client,
    api::{DeleteParams, PostParams},
};
use serde_json::json;
use tokio::time;

use super::call::{CallError, bounded};

/// Fleet of the lane, and beginning of its name. No route may name it, so it never has pods.
const NAME: &str = "hedgerow-check";
/// Between two looks at the status.
const EVERY: Duration = Duration::from_millis(500);

/// Why an operator cannot be said to work.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The lane was not taken.
    #[error(
        "a PriorityLane cannot be created in namespace {namespace}: {source}: are the CRDs installed, and may you create one?"
    )]
    Create {
        /// Where.
        namespace: String,
        /// The API server's answer.
        source: CallError,
    },
    /// Nobody reported on the lane.
    #[error(
        "no operator has reported on prioritylane/{name} in namespace {namespace} within {}s: does one watch this namespace \
         (watchNamespaces), and does one hold the Lease hedgerow-operator?",
        within.as_secs()
    )]
    Silent {
        /// The lane.
        name: String,
        /// Where.
        namespace: String,
        /// How long it was waited for.
        within: Duration,
    },
    /// The lane could not be read or deleted.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// Asks the operator that watches `namespace` to report on a lane, and says in a sentence what it reported.
///
/// # Errors
/// The lane was refused, or nobody reported on it `within` that time.
pub async fn check(client: Client, namespace: &str, within: Duration) -> Result<String, CheckError> {
    let api: Api<PriorityLane> = Api::namespaced(client, namespace);
    let lane = create(&api, namespace).await?;
    let name = lane.metadata.name.unwrap_or_default();
    let generation = lane.metadata.generation;
    let outcome = time::timeout(within, reported(&api, &name, generation)).await;
    let deleted = bounded(api.delete(&name, &DeleteParams::default())).await;
    let said =
        outcome.map_err(|_| CheckError::Silent { name, namespace: namespace.to_owned(), within })??;
    deleted?;
    Ok(said)
}

/// A lane of a fleet without routes.
async fn create(api: &Api<PriorityLane>, namespace: &str) -> Result<PriorityLane, CheckError> {
    let lane = serde_json::from_value(json!({
        "apiVersion": API_VERSION, "kind": Kind::PriorityLane.as_str(),
        "metadata": { "generateName": format!("{NAME}-") }, "spec": { "gateway": NAME },
    }));
    let lane: PriorityLane = lane.expect("a lane needs nothing but its fleet");
    let created = bounded(api.create(&PostParams::default(), &lane)).await;
    created.map_err(|source| CheckError::Create { namespace: namespace.to_owned(), source })
}

/// Waits until the status is about this generation.
async fn reported(api: &Api<PriorityLane>, name: &str, generation: Option<i64>) -> Result<String, CallError> {
    loop {
        let status = bounded(api.get(name)).await?.status.unwrap_or_default();
        let accepted = condition::find(&status.conditions, ConditionType::Accepted);
        if let Some(accepted) = accepted.filter(|_| status.observed_generation == generation) {
            return Ok(format!("prioritylane/{name}: Accepted={}/{}", accepted.status, accepted.reason));
        }
        time::sleep(EVERY).await;
    }
}
