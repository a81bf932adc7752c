//! Status of a `GatewayFleet`.

use hedgerow_config::{digest, gateway::ObjectRef};
use hedgerow_crds::{
    condition::ConditionType,
    v1alpha1::{
        GatewayFleetStatus,
        gateway_fleet::{FleetSummary, Pods as PodCounts},
    },
};

use super::{
    conditions::{self, Said, set_all},
    pods::Pods,
};
use crate::domain::{Verdict, figure};

/// What a fleet's status is made from.
#[derive(Clone, Debug)]
pub struct FleetFacts<'a> {
    /// What the compiler said.
    pub verdict: &'a Verdict,
    /// The object, if an author wrote one; a fleet that exists by itself is in force with its configuration.
    pub object: Option<&'a ObjectRef>,
    /// Its pods.
    pub pods: &'a Pods<'a>,
    /// Where clients connect.
    pub address: &'a str,
    /// Why the first failing pod fails.
    pub failure: Option<String>,
}

/// The status now.
pub fn fleet(old: &GatewayFleetStatus, facts: &FleetFacts<'_>) -> GatewayFleetStatus {
    let pods = facts.pods;
    let desired = pods.desired.unwrap_or(pods.members.len());
    // What is wrong with any of its objects or pods is said here, even while others serve.
    let programmed = match &pods.trouble {
        Some(trouble) if facts.verdict.accepted() && facts.verdict.not_programmed.is_none() => {
            Said::no(trouble.reason, trouble.message.clone())
        }
        _ => conditions::programmed(&old.conditions, facts.verdict, facts.object, pods),
    };
    let mut status = old.clone();
    status.observed_generation = Some(facts.verdict.generation);
    set_all(
        &mut status.conditions,
        vec![
            (ConditionType::Accepted, conditions::accepted(facts.verdict)),
            (ConditionType::Programmed, programmed),
        ],
        &[],
        facts.verdict.generation,
        figure::timestamp(pods.now),
    );
    let ready = pods.ready().count();
    let version = pods.ready().next().map(|state| state.pod.version.clone());
    status.summary = Some(FleetSummary {
        address: facts.address.to_owned(),
        pods: format!("{ready}/{desired}"),
        version: version.clone().unwrap_or_default(),
        config: digest::short(pods.digest).to_owned(),
    });
    status.address = Some(facts.address.to_owned());
    status.pods = Some(PodCounts {
        desired: count(desired),
        ready: count(ready),
        programmed: count(pods.programmed()),
    });
    status.version = version;
    status.digest = Some(pods.digest.to_owned());
    status.failure.clone_from(&facts.failure);
    status
}

fn count(pods: usize) -> i32 {
    i32::try_from(pods).unwrap_or(i32::MAX)
}
