//! Status of a `GatewayFleet`.

use hedgerow_config::{digest, gateway::ObjectRef};
use hedgerow_crds::{
    condition::{self, ConditionStatus, ConditionType, Reason},
    v1alpha1::{
        GatewayFleetSpec, GatewayFleetStatus,
        gateway_fleet::{FleetSummary, Pods as PodCounts},
    },
};

use super::{
    conditions::{self, Said, set_all},
    pods::Pods,
    references,
};
use crate::domain::{Verdict, figure};

/// Pods that the status counts at most.
const MOST_PODS: usize = 100_000;

/// What a fleet's status is made from.
#[derive(Clone, Debug)]
pub struct FleetFacts<'a> {
    /// What is in force of it.
    pub spec: &'a GatewayFleetSpec,
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
    // What is wrong with any of its objects or pods is said here, even while others serve. A certificate that is refused is
    // why pods do not become ready, and not the other way round.
    let refused = references::refused_certificate(facts.spec, pods).filter(|_| facts.verdict.accepted());
    let programmed = match (refused, &pods.trouble) {
        (Some(refused), _) => refused,
        (None, Some(trouble)) if facts.verdict.accepted() && facts.verdict.not_programmed.is_none() => {
            Said::no(trouble.reason, trouble.message.clone())
        }
        _ => match (conditions::programmed(&old.conditions, facts.verdict, facts.object, pods), pods.roll) {
            // The configuration is in force; what only new pods have is not.
            (said, Some(roll)) if said.status == ConditionStatus::True => {
                Said::no(Reason::Reconciling, roll.message())
            }
            (said, _) => said,
        },
    };
    let mut status = old.clone();
    status.observed_generation = Some(facts.verdict.generation);
    let generation = facts.verdict.generation;
    let resolved = references::of_fleet(facts.spec, pods).map(|said| match said.status {
        // Pods that cannot be read for a while change nothing.
        ConditionStatus::Unknown => {
            conditions::kept(&old.conditions, ConditionType::ResolvedRefs, generation).unwrap_or(said)
        }
        _ => said,
    });
    if resolved.is_none() {
        condition::remove(&mut status.conditions, ConditionType::ResolvedRefs);
    }
    let mut said = vec![(ConditionType::Accepted, conditions::accepted(facts.verdict))];
    said.extend(resolved.map(|resolved| (ConditionType::ResolvedRefs, resolved)));
    said.push((ConditionType::Programmed, programmed));
    set_all(&mut status.conditions, said, &[], generation, figure::timestamp(pods.now));
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
    i32::try_from(pods.min(MOST_PODS)).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Pod, Roll, Trouble},
        *,
    };
    use crate::domain::guardrail::fixture;
    use hedgerow_crds::Kind;
    use hedgerow_policy::time::Moment;

    #[test]
    fn a_fleet_whose_pods_have_to_be_replaced_says_so_until_they_are_and_a_worse_trouble_first() {
        let object =
            ObjectRef { kind: "GatewayFleet".into(), name: "a".into(), uid: "u".into(), generation: 2 };
        let mut state = fixture::state("a-0", Vec::new());
        (state.ready, state.objects) = (true, vec![object.clone()]);
        let verdict = Verdict::whole(Kind::GatewayFleet, "a", 2);
        let spec = GatewayFleetSpec::default();
        let of = |roll: Option<Roll>, trouble: Option<Trouble>| {
            let pod =
                Pod { name: "a-0", state: Some(&state), gone: false, since: Moment::ZERO, mounts: None };
            let now = Moment::from_secs(1_000);
            let pods = Pods { members: vec![pod], now, roll, trouble, ..Pods::default() };
            let facts = FleetFacts {
                spec: &spec,
                verdict: &verdict,
                object: Some(&object),
                pods: &pods,
                address: "a.svc:8080",
                failure: None,
            };
            let said = fleet(&GatewayFleetStatus::default(), &facts).conditions;
            ["Accepted", "Programmed", "Ready", "Reconciling"].map(|type_| {
                let found = said.iter().find(|condition| condition.type_ == type_);
                found.map(|found| (found.status.clone(), found.reason.clone(), found.message.clone()))
            })
        };
        let [_, programmed, ready, reconciling] = of(None, None);
        assert_eq!(programmed.unwrap().0, "True");
        assert_eq!((ready.unwrap().0.as_str(), reconciling), ("True", None));
        for (roll, words) in [(Roll::Waits, "waits for its turn"), (Roll::UnderWay, "are being replaced")] {
            let [accepted, programmed, ready, reconciling] = of(Some(roll), None);
            assert_eq!(accepted.unwrap().0, "True");
            let (status, reason, message) = programmed.clone().unwrap();
            assert_eq!((status.as_str(), reason.as_str()), ("False", "Reconciling"));
            assert!(message.contains(words), "{message}");
            assert_eq!(ready, programmed);
            assert_eq!(reconciling.unwrap().0, "True");
        }
        let trouble = Trouble { reason: Reason::RolloutFailed, message: "no image".into() };
        let [_, programmed, ..] = of(Some(Roll::UnderWay), Some(trouble));
        assert_eq!(programmed.unwrap().1, "RolloutFailed");
    }
}
