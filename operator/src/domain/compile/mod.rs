//! Objects and latches of one fleet -> `gateway.json`.
//!
//! Input: a [`Snapshot`] and the [`Latches`] of its cohorts. Output: a [`GatewayConfig`] with every default applied, and
//! a verdict for every object. Invariants: pure and deterministic, so equal input gives equal bytes and an equal
//! digest; an object that cannot be used is left out and never spoils the rest.

mod budgets;
mod cohorts;
mod lanes;
mod measure;
mod routes;
mod settings;
#[cfg(test)]
mod tests;

use hedgerow_config::{
    self as config, GatewayConfig,
    gateway::{FleetId, ObjectRef, SCHEMA},
};
use hedgerow_crds::Kind;

use super::{
    attach::{Attachment, attach, is_fallback},
    decision::{self, CohortKey, Latches},
    object::Object,
    snapshot::Snapshot,
    verdict::Verdict,
};

/// A compiled fleet.
#[derive(Clone, Debug, PartialEq)]
pub struct Compiled {
    /// What gateways get.
    pub config: GatewayConfig,
    /// One for every object of the snapshot, by kind and name.
    pub verdicts: Vec<Verdict>,
    /// Whether any route is in force. If not, a fleet that has run before keeps its last good configuration.
    pub usable: bool,
}

/// Compiles one fleet.
pub fn compile(snapshot: &Snapshot, latches: &Latches) -> Compiled {
    let attachment = attach(snapshot);
    let routes: Vec<_> = attachment.routes.iter().map(|route| routes::route(route)).collect();
    let served: Vec<_> = routes.iter().flat_map(|route| &route.models).collect();
    let config = GatewayConfig {
        schema: SCHEMA.to_owned(),
        fleet: FleetId { namespace: snapshot.namespace.clone(), name: snapshot.fleet.clone() },
        objects: objects(&attachment),
        settings: settings::settings(snapshot.spec()),
        cohorts: cohorts(&attachment, snapshot, latches),
        lanes: lanes(&attachment),
        budgets: budgets::budgets(&attachment.policies, &served),
        routes,
    };
    Compiled { usable: !config.routes.is_empty(), verdicts: attachment.verdicts, config }
}

fn cohorts(attachment: &Attachment<'_>, snapshot: &Snapshot, latches: &Latches) -> Vec<config::Cohort> {
    let fleet = Some(snapshot.spec());
    let mut compiled = Vec::new();
    for (policy, cohorts) in &attachment.policies {
        let start = measure::count(policy.spec.ramp.start_percent);
        for cohort in cohorts {
            let key = CohortKey { policy: policy.name.clone(), cohort: cohort.name.to_string() };
            let mode = decision::mode(fleet, &policy.spec, cohort);
            let decision = decision::decision(mode, latches.get(&key), start);
            compiled.push(cohorts::cohort(policy, cohort, mode, decision));
        }
    }
    compiled
}

/// Lanes as requests meet them: the fallback lane last, whatever its priority says about who is served first.
fn lanes(attachment: &Attachment<'_>) -> Vec<config::Lane> {
    let (fallback, others): (Vec<_>, Vec<_>) =
        attachment.lanes.iter().copied().partition(|lane| is_fallback(lane));
    others.into_iter().chain(fallback).map(lanes::lane).collect()
}

/// Every object in force, by kind and name.
fn objects(attachment: &Attachment<'_>) -> Vec<ObjectRef> {
    let mut objects: Vec<_> =
        attachment.settings.iter().map(|fleet| reference(Kind::GatewayFleet, fleet)).collect();
    objects.extend(attachment.routes.iter().map(|route| reference(Kind::ProviderRoute, route)));
    objects.extend(attachment.policies.iter().map(|(policy, _)| reference(Kind::HedgePolicy, policy)));
    objects.extend(attachment.lanes.iter().map(|lane| reference(Kind::PriorityLane, lane)));
    objects.sort();
    objects
}

/// How configuration and status name an object.
pub(crate) fn reference<S>(kind: Kind, object: &Object<S>) -> ObjectRef {
    ObjectRef {
        kind: kind.as_str().to_owned(),
        name: object.name.clone(),
        uid: object.uid.clone(),
        generation: object.generation,
    }
}
