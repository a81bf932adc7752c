//! Objects that cannot be read: they say so themselves, and nothing else notices them.
//!
//! Such an object was stored under another version of the CRD, or by a newer one with values that this one does not know.
//! Its status gets `Accepted=False/Invalid`, `Ready=False` and `Stalled`, once for each generation and cause.

use std::collections::BTreeMap;

use hedgerow_crds::{
    Kind,
    condition::{self, Condition, ConditionStatus, ConditionType, Observation, Reason},
};
use jiff::Timestamp;
use serde_json::json;

use super::Context;
use crate::{
    cluster::{StatusError, Undecodable},
    domain::figure,
    runtime::clock,
};

/// What was said about which object.
#[derive(Debug, Default)]
pub(super) struct Refusals(BTreeMap<(Kind, String, String), (i64, String)>);

impl Refusals {
    /// Says it where it was not said yet.
    pub(super) async fn report(&mut self, context: &Context) {
        let found = context.stores.undecodable();
        let key = |object: &Undecodable| (object.kind, object.namespace.clone(), object.name.clone());
        self.0.retain(|known, _| found.iter().any(|object| key(object) == *known));
        for object in found {
            let said = (object.generation, object.error.clone());
            if self.0.get(&key(&object)) == Some(&said) {
                continue;
            }
            tracing::warn!(
                kind = object.kind.as_str(),
                namespace = object.namespace,
                name = object.name,
                error = object.error,
                "an object cannot be read"
            );
            let conditions = conditions(&object, figure::timestamp(clock::now()));
            let status = json!({ "observedGeneration": object.generation, "conditions": conditions });
            let answer =
                context.statuses.write(object.kind, &object.namespace, &object.name, None, &status).await;
            match answer {
                Ok(_) | Err(StatusError::Gone) => drop(self.0.insert(key(&object), said)),
                Err(error) => {
                    context.metrics.failed("status");
                    tracing::warn!(%error, name = object.name, "a status was not written");
                }
            }
        }
    }
}

fn conditions(object: &Undecodable, now: Timestamp) -> Vec<Condition> {
    let message = format!(
        "this version of the operator cannot read it: {}; correct the field, or upgrade the operator",
        object.error
    );
    let mut conditions = Vec::new();
    for (type_, status) in [
        (ConditionType::Accepted, ConditionStatus::False),
        (ConditionType::Ready, ConditionStatus::False),
        (ConditionType::Stalled, ConditionStatus::True),
    ] {
        let observed = Observation {
            type_,
            status,
            reason: Reason::Invalid,
            message: message.clone(),
            observed_generation: object.generation,
        };
        condition::set(&mut conditions, observed, now);
    }
    conditions
}
