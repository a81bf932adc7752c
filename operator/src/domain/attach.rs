//! Which objects make up a fleet's configuration, and which give way.
//!
//! Input: a [`Snapshot`]. Output: the objects in force, in the order in which gateways ask them, and one [`Verdict`]
//! for every object of the snapshot. Rules (the spec's "Attachment and conflicts"):
//! - an invalid object is left out, the rest runs;
//! - so is a route that the installation does not allow;
//! - a fleet has at most [`MAX_ROUTES_PER_FLEET`] routes, the first by name;
//! - a cohort name belongs to the first policy in order; the other policy runs without that cohort;
//! - there is one fallback lane, and guarantees add up to 100 at most: a lane that breaks this gives way.
//!
//! Refuses: looking at age, status or traffic. The same objects always give the same answer.

use std::collections::BTreeMap;

use hedgerow_crds::{Kind, MAX_ROUTES_PER_FLEET, condition::Reason, v1alpha1::hedge_policy::Cohort};

use super::{
    object::{Fleet, Lane, Object, Policy, Route},
    order, permission,
    snapshot::Snapshot,
    validate::{self, Invalid},
    verdict::{Acceptance, Conflict, Verdict},
};

/// The objects of a fleet that are in force.
#[derive(Debug)]
pub struct Attachment<'a> {
    /// The written fleet, if any.
    pub settings: Option<&'a Fleet>,
    /// Routes by name.
    pub routes: Vec<&'a Route>,
    /// Policies in matching order, each with the cohorts that it keeps.
    pub policies: Vec<(&'a Policy, Vec<&'a Cohort>)>,
    /// Lanes in matching order.
    pub lanes: Vec<&'a Lane>,
    /// One for every object of the snapshot, by kind and name.
    pub verdicts: Vec<Verdict>,
}

/// Decides what is in force.
pub fn attach(snapshot: &Snapshot) -> Attachment<'_> {
    let mut verdicts = Vec::new();
    let routes = routes(snapshot, &mut verdicts);
    let policies = policies(&snapshot.policies, &mut verdicts);
    let lanes = lanes(&snapshot.lanes, &mut verdicts);
    verdicts.extend(snapshot.settings.as_ref().map(|fleet| permission::fleet(fleet, &snapshot.tenancy)));
    if routes.is_empty() {
        let message = format!(
            "fleet {} has no usable route: add a ProviderRoute with gateway: {}",
            snapshot.fleet, snapshot.fleet
        );
        for verdict in verdicts.iter_mut().filter(|v| v.kind != Kind::ProviderRoute && v.accepted()) {
            verdict.not_programmed = Some((Reason::NoRoutes, message.clone()));
        }
    }
    verdicts.sort_by(|a, b| (a.kind.as_str(), &a.name).cmp(&(b.kind.as_str(), &b.name)));
    Attachment { settings: snapshot.settings.as_ref(), routes, policies, lanes, verdicts }
}

fn routes<'a>(snapshot: &'a Snapshot, verdicts: &mut Vec<Verdict>) -> Vec<&'a Route> {
    let kind = Kind::ProviderRoute;
    let mut valid = Vec::new();
    for route in &snapshot.routes {
        let problems = validate::route(route);
        if !problems.is_empty() {
            verdicts.push(invalid(kind, route, &problems));
        } else if let Some(refused) = permission::route(route, &snapshot.tenancy) {
            verdicts.push(refused);
        } else {
            valid.push(route);
        }
    }
    for (name, problem) in validate::boundaries(&valid) {
        if let Some(at) = valid.iter().position(|route| route.name == name) {
            verdicts.push(invalid(kind, valid.remove(at), &[problem]));
        }
    }
    for route in valid.drain(MAX_ROUTES_PER_FLEET.min(valid.len())..) {
        let message = format!(
            "the fleet has {MAX_ROUTES_PER_FLEET} routes already, which is the most that one can have: remove a route or \
             use another fleet"
        );
        let whole = Verdict::whole(kind, &route.name, route.generation);
        verdicts.push(whole.refuse(Reason::FleetFull, "spec.gateway", message));
    }
    verdicts.extend(valid.iter().map(|route| Verdict::whole(kind, &route.name, route.generation)));
    valid
}

fn policies<'a>(all: &'a [Policy], verdicts: &mut Vec<Verdict>) -> Vec<(&'a Policy, Vec<&'a Cohort>)> {
    let (mut in_force, mut owners) = (Vec::new(), BTreeMap::new());
    for policy in order::policies(all) {
        let problems = validate::policy(policy);
        if !problems.is_empty() {
            verdicts.push(invalid(Kind::HedgePolicy, policy, &problems));
            continue;
        }
        let (mut kept, mut conflicts) = (Vec::new(), Vec::new());
        for cohort in &policy.spec.cohorts {
            match owners.get(&*cohort.name) {
                Some(winner) => {
                    conflicts
                        .push(Conflict { cohort: cohort.name.to_string(), winner: String::clone(winner) });
                }
                None => kept.push(cohort),
            }
        }
        owners.extend(kept.iter().map(|cohort| (&*cohort.name, policy.name.clone())));
        verdicts.push(contested(policy, conflicts, kept.is_empty()));
        if !kept.is_empty() {
            in_force.push((policy, kept));
        }
    }
    in_force
}

/// The verdict on a policy whose cohorts may have owners already.
fn contested(policy: &Policy, conflicts: Vec<Conflict>, nothing_left: bool) -> Verdict {
    let whole = Verdict::whole(Kind::HedgePolicy, &policy.name, policy.generation);
    if conflicts.is_empty() {
        return whole;
    }
    let losses: Vec<_> =
        conflicts.iter().map(|c| format!("{} (policy {} has it)", c.cohort, c.winner)).collect();
    let (acceptance, reason) = if nothing_left {
        (Acceptance::No, Reason::Conflicted)
    } else {
        (Acceptance::Partly, Reason::PartiallyAccepted)
    };
    let message = format!(
        "cohort names are unique in a fleet, and the policy with the higher priority, then the earlier name, keeps them; \
         not in force here: {}. Rename the cohort or raise spec.priority",
        losses.join(", ")
    );
    Verdict { acceptance, reason, message, field: "spec.cohorts".to_owned(), conflicts, ..whole }
}

fn lanes<'a>(all: &'a [Lane], verdicts: &mut Vec<Verdict>) -> Vec<&'a Lane> {
    let kind = Kind::PriorityLane;
    let (mut in_force, mut guaranteed) = (Vec::<&Lane>::new(), 0);
    for lane in order::lanes(all) {
        let problems = validate::lane(lane);
        let fallback = in_force.iter().find(|other| is_fallback(other));
        let total = guaranteed + lane.spec.share.guaranteed_percent;
        let conflict = match fallback {
            _ if !problems.is_empty() => {
                verdicts.push(invalid(kind, lane, &problems));
                continue;
            }
            Some(first) if is_fallback(lane) => Some(("spec.match", second_fallback(&first.name))),
            _ if total > 100 => Some(("spec.share.guaranteedPercent", over_guaranteed(total, guaranteed))),
            _ => None,
        };
        let whole = Verdict::whole(kind, &lane.name, lane.generation);
        if let Some((field, message)) = conflict {
            verdicts.push(whole.refuse(Reason::Conflicted, field, message));
        } else {
            guaranteed = total;
            verdicts.push(whole);
            in_force.push(lane);
        }
    }
    in_force
}

fn second_fallback(first: &str) -> String {
    format!(
        "lane {first} takes everything that no other lane takes, and a fleet has one such lane: add a match here or there"
    )
}

fn over_guaranteed(total: i32, before: i32) -> String {
    format!(
        "with this lane the guarantees of the fleet add up to {total} %: lower guaranteedPercent to {} or less, or lower \
         that of another lane",
        100 - before
    )
}

/// Whether a lane takes what no other takes.
pub fn is_fallback(lane: &Lane) -> bool {
    lane.spec.match_.is_none()
}

fn invalid<S>(kind: Kind, object: &Object<S>, problems: &[Invalid]) -> Verdict {
    let text: Vec<_> = problems.iter().map(ToString::to_string).collect();
    let field = problems.first().map(|problem| problem.path.clone()).unwrap_or_default();
    Verdict::whole(kind, &object.name, object.generation).refuse(Reason::Invalid, &field, text.join("; "))
}
