//! The Kubernetes objects of one fleet.
//!
//! Input: a [`Plan`], which holds everything that decides how the objects look. Output: one [`Child`] per object, in the
//! order in which they are applied: what pods mount and run as first, the Deployment last, so that one change never
//! restarts pods twice. Invariants:
//! - pure and deterministic: equal plans give equal bytes and equal hashes;
//! - what pods can take up while they run (policies, prices, models, keys, certificates) is not in the Deployment;
//! - an object holds only fields that this module decides; everything else on it belongs to others;
//! - labels of authors reach pods, never the other children.
//!
//! Refuses: reading the cluster. What another owner has done to an object is the business of whoever applies it.

mod autoscaler;
mod child;
mod config;
mod deployment;
mod disruption_budget;
mod fleet_file;
mod history;
mod identity;
mod image;
mod network_policy;
mod service;
mod service_account;
#[cfg(test)]
mod tests;

use hedgerow_crds::v1alpha1::{GatewayFleetSpec, gateway_fleet::AutoscalingMode};
use serde_json::Value;

pub use child::{Child, ChildKind};
pub use config::TooLarge;
pub use deployment::{ANNOTATION_BOOTSTRAP, bootstrap};
pub use history::FILE as HISTORY_FILE;
pub use identity::{Identity, Owner};
pub use image::{Image, PullPolicy};

use super::{Mounts, Reach};

/// Port of pods for traffic.
pub const TRAFFIC_PORT: u16 = 8080;
/// Port of pods for health, metrics and `/state`.
pub const ADMIN_PORT: u16 = 9090;

/// Everything that decides how the objects of a fleet look.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// Whose objects they are.
    pub identity: &'a Identity,
    /// The fleet as it is in force: what its author wrote over what the installation presumes.
    pub spec: &'a GatewayFleetSpec,
    /// The gateway image of the installation.
    pub image: &'a Image,
    /// What pods mount.
    pub mounts: &'a Mounts,
    /// Where pods connect to.
    pub reach: &'a Reach,
    /// `gateway.json`, not compressed.
    pub config: &'a [u8],
    /// `fleet.json`; `None` leaves the object out.
    pub fleet_file: Option<&'a [u8]>,
    /// The operator's own memory of the fleet; `None` leaves the object out.
    pub history: Option<&'a [u8]>,
}

/// All objects that the fleet should have, in the order in which they are applied.
///
/// # Errors
/// The configuration does not fit into a `ConfigMap`: the last good one has to stay.
pub fn children(plan: &Plan<'_>) -> Result<Vec<Child>, TooLarge> {
    let identity = plan.identity;
    let mut children = vec![config::child(identity, plan.config)?];
    children.extend(plan.fleet_file.map(|bytes| fleet_file::child(identity, bytes)));
    children.extend(plan.history.map(|bytes| history::child(identity, bytes)));
    children.extend(surroundings(plan));
    children.push(deployment(plan));
    Ok(children)
}

/// What surrounds the pods: every child that is neither data nor the Deployment.
pub fn surroundings(plan: &Plan<'_>) -> Vec<Child> {
    let identity = plan.identity;
    let mut children = vec![
        service_account::child(identity, plan.spec),
        service::child(identity, plan.spec),
        disruption_budget::child(identity),
        network_policy::child(identity, plan.spec, plan.reach),
    ];
    children.extend(autoscaler::child(identity, &plan.spec.autoscaling));
    children
}

/// The Deployment alone.
pub fn deployment(plan: &Plan<'_>) -> Child {
    deployment::child(plan)
}

/// The `ConfigMap` with `gateway.json` alone.
///
/// # Errors
/// The configuration does not fit.
pub fn config(identity: &Identity, gateway_json: &[u8]) -> Result<Child, TooLarge> {
    config::child(identity, gateway_json)
}

/// The `gateway.json` that a `ConfigMap` of ours has, not compressed, from its JSON; `None` where it has none.
pub fn stored_config(live: &Value) -> Option<Vec<u8>> {
    config::stored(live)
}

/// The `ConfigMap` with `fleet.json` alone, which is written in a rhythm of its own.
pub fn fleet_file(identity: &Identity, fleet_json: &[u8]) -> Child {
    fleet_file::child(identity, fleet_json)
}

/// The `ConfigMap` with the operator's memory alone, which is written in a rhythm of its own.
pub fn history(identity: &Identity, bytes: &[u8]) -> Child {
    history::child(identity, bytes)
}

/// Children that the fleet should not have: to be deleted where the fleet owns one from before.
pub fn unwanted(spec: &GatewayFleetSpec) -> Vec<ChildKind> {
    if spec.autoscaling.mode == AutoscalingMode::Cpu { Vec::new() } else { vec![ChildKind::Autoscaler] }
}
