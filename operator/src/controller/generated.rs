//! Fleets that exist by themselves: made when a route names one that is not there, collected when no route does any more.
//!
//! A generated fleet carries a label and an empty spec, and is the owner of its children like any other; so its Service
//! keeps its address while routes are renamed. It goes when it had no route for `generatedFleetTtl` (an Event first). What an
//! author wrote, or took the label off, stays until its author deletes it: an author who applies a spec over the empty one
//! leaves our label where it is, since apply takes nothing away that another manager wrote.

use hedgerow_crds::{API_VERSION, Kind, LABEL_GENERATED, v1alpha1::GatewayFleet};
use hedgerow_policy::time::Moment;
use kube::{
    Api,
    api::{DeleteParams, DynamicObject, PostParams, Preconditions},
    core::{ApiResource, ObjectMeta},
};
use serde_json::json;

use super::Context;
use crate::{
    cluster::{CallError, FleetId, bounded, manager},
    domain::Notice,
};

/// Whether the operator made a fleet by itself, and nobody has written a spec since: its generation is still the first.
pub(super) fn is_generated(metadata: &ObjectMeta) -> bool {
    let labelled = metadata.labels.as_ref().is_some_and(|labels| labels.contains_key(LABEL_GENERATED));
    labelled && metadata.generation == Some(1)
}

/// Makes a fleet.
pub(super) async fn create(context: &Context, id: &FleetId) -> Result<(), CallError> {
    let resource = ApiResource::erase::<GatewayFleet>(&());
    let api: Api<DynamicObject> = Api::namespaced_with(context.client.clone(), &id.namespace, &resource);
    let object = json!({
        "apiVersion": API_VERSION,
        "kind": Kind::GatewayFleet.as_str(),
        "metadata": { "name": id.name, "namespace": id.namespace, "labels": { LABEL_GENERATED: "true" } },
        "spec": {},
    });
    let object = serde_json::from_value(object).map_err(|error| CallError::Unreachable(error.to_string()))?;
    let params = PostParams { field_manager: Some(manager::CHILDREN.to_owned()), ..PostParams::default() };
    match bounded(api.create(&params, &object)).await {
        // It is there; the watch will say so.
        Err(error) if error.is_conflict() => Ok(()),
        Err(error) => Err(error),
        Ok(_) => {
            context.metrics.wrote("gatewayfleets");
            tracing::info!(namespace = id.namespace, fleet = id.name, "made a fleet that a route names");
            Ok(())
        }
    }
}

/// Deletes a generated fleet, and with it its children.
pub(super) async fn collect(context: &Context, id: &FleetId, metadata: &ObjectMeta) -> Result<(), CallError> {
    let notice = Notice {
        warning: false,
        reason: "FleetCollected",
        action: "Collect".to_owned(),
        note: "no route names this fleet any more; it was made by itself and goes by itself".to_owned(),
    };
    let uid = metadata.uid.clone().unwrap_or_default();
    if let Err(error) =
        context.events.publish(Kind::GatewayFleet, &id.namespace, &id.name, &uid, &notice).await
    {
        tracing::warn!(namespace = id.namespace, fleet = id.name, %error, "an Event was not written");
    }
    let resource = ApiResource::erase::<GatewayFleet>(&());
    let api: Api<DynamicObject> = Api::namespaced_with(context.client.clone(), &id.namespace, &resource);
    let exactly = Preconditions { uid: Some(uid), ..Preconditions::default() };
    match bounded(api.delete(&id.name, &DeleteParams::background().preconditions(exactly))).await {
        Err(error) if !error.is_not_found() => Err(error),
        _ => {
            context.metrics.wrote("gatewayfleets");
            tracing::info!(namespace = id.namespace, fleet = id.name, "deleted a fleet that no route names");
            Ok(())
        }
    }
}

/// Since when a fleet has had no route, and whether that is long enough.
#[derive(Debug, Default)]
pub(super) struct Idle(Option<Moment>);

impl Idle {
    /// Looks once; true where it has been idle for `ttl`.
    pub(super) fn look(&mut self, idle: bool, ttl: std::time::Duration, now: Moment) -> bool {
        if !idle {
            self.0 = None;
            return false;
        }
        now.since(*self.0.get_or_insert(now)) >= ttl
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_generated_fleet_is_its_authors_from_their_first_spec_on() {
        let labels = [(LABEL_GENERATED.to_owned(), "true".to_owned())];
        let fleet = |labels: &[(String, String)], generation| ObjectMeta {
            labels: Some(labels.iter().cloned().collect()),
            generation: Some(generation),
            ..ObjectMeta::default()
        };
        assert!(is_generated(&fleet(&labels, 1)));
        assert!(!is_generated(&fleet(&labels, 2)) && !is_generated(&fleet(&[], 1)));
    }

    #[test]
    fn a_fleet_is_idle_from_its_last_route_on_and_a_new_route_ends_that() {
        let (mut idle, ttl) = (Idle::default(), Duration::from_mins(1));
        let mut look = |none: bool, at: u64| idle.look(none, ttl, Moment::from_secs(at));
        assert!(!look(true, 100) && !look(true, 159) && !look(false, 159));
        assert!(!look(true, 160) && !look(true, 219) && look(true, 220));
    }
}
