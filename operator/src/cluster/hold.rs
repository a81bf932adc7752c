//! Holds by hand in a cluster: `hedgerow resume|suspend ... -n NAMESPACE`.
//!
//! Input: a policy, a cohort, a [`Request`]. Output: an annotation on the policy, under a field manager of its own, with the
//! rights of whoever asks. The operator reads it within a second and copies it into status, so that it may vanish again.

use std::collections::BTreeMap;

use hedgerow_crds::{ALL_COHORTS, v1alpha1::HedgePolicy};
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
};
use serde_json::{Map, Value, json};

use super::{
    call::{CallError, bounded},
    manager,
};
use crate::domain::guardrail::Request;

/// Why a request could not be left.
#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    /// No such policy.
    #[error("there is no HedgePolicy {policy:?} in namespace {namespace}: see kubectl get hp -n {namespace}")]
    UnknownPolicy {
        /// Policy.
        policy: String,
        /// Namespace.
        namespace: String,
    },
    /// The policy has no such cohort.
    #[error("HedgePolicy {policy:?} has no cohort {cohort:?}; it has {known}, or use `all`")]
    UnknownCohort {
        /// Policy.
        policy: String,
        /// Cohort.
        cohort: String,
        /// What it has.
        known: String,
    },
    /// The API server did not take it.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// Leaves a request for the operator. `cohort` may be `all`.
///
/// # Errors
/// See [`HoldError`].
pub async fn hold(
    client: Client,
    namespace: &str,
    policy: &str,
    cohort: &str,
    request: &Request,
) -> Result<(), HoldError> {
    let api: Api<HedgePolicy> = Api::namespaced(client, namespace);
    let stored = match bounded(api.get(policy)).await {
        Err(error) if error.is_not_found() => {
            let (policy, namespace) = (policy.to_owned(), namespace.to_owned());
            return Err(HoldError::UnknownPolicy { policy, namespace });
        }
        answer => answer?,
    };
    let known: Vec<&str> = stored.spec.cohorts.iter().map(|cohort| cohort.name.as_ref()).collect();
    if cohort != ALL_COHORTS && !known.contains(&cohort) {
        let (policy, cohort, known) = (policy.to_owned(), cohort.to_owned(), known.join(", "));
        return Err(HoldError::UnknownCohort { policy, cohort, known });
    }
    let annotations: BTreeMap<String, String> = stored.metadata.annotations.clone().unwrap_or_default();
    let params = PatchParams { field_manager: Some(manager::HOLD.to_owned()), ..PatchParams::default() };
    let patch = json!({ "metadata": { "annotations": change(request, &annotations, cohort) } });
    bounded(api.patch(policy, &params, &Patch::Merge(patch))).await?;
    Ok(())
}

/// The change as a merge patch: null removes.
fn change(request: &Request, annotations: &BTreeMap<String, String>, cohort: &str) -> Map<String, Value> {
    let ((name, value), removed) = request.change(annotations, cohort);
    let removed = removed.into_iter().map(|name| (name.to_owned(), Value::Null));
    removed.chain([(name, Value::String(value))]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    #[test]
    fn a_resume_sets_its_annotation_and_removes_the_hold_of_the_same_cohort() {
        let annotations = BTreeMap::from(
            ["suspend.chat", "suspend.json", "other"]
                .map(|name| (format!("hedgerow.dev/{name}"), "x".to_owned())),
        );
        let request = Request::Resume { asked: Timestamp::UNIX_EPOCH };
        let expected = json!({
            "hedgerow.dev/resume.chat": "1970-01-01T00:00:00Z", "hedgerow.dev/suspend.chat": null,
        });
        assert_eq!(Value::Object(change(&request, &annotations, "chat")), expected);
        let all = change(&request, &annotations, "all");
        assert!(all["hedgerow.dev/suspend.json"].is_null() && all.len() == 3, "{all:?}");
    }
}
