//! Models that nobody serves, and hedges that have nowhere to go.

use hedgerow_crds::{
    Kind,
    v1alpha1::{
        hedge_policy::{Cohort, Mode},
        provider_route::{Api, AuthType},
    },
};

use super::{super::Finding, Fleet};
use crate::domain::{Policy, Route};

/// Findings of a fleet. Without routes there is nothing to compare with.
pub(super) fn check(fleet: &Fleet<'_>) -> Vec<Finding> {
    if fleet.snapshot.routes.is_empty() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for policy in &fleet.snapshot.policies {
        for (index, cohort) in policy.spec.cohorts.iter().enumerate() {
            let models = cohort.match_.iter().flat_map(|matches| &matches.models);
            findings.extend(unserved(
                fleet,
                Kind::HedgePolicy,
                &policy.name,
                &format!("spec.cohorts[{index}]"),
                models,
            ));
            findings.extend(nowhere(fleet, policy, index, cohort));
        }
    }
    for lane in &fleet.snapshot.lanes {
        let models = lane.spec.match_.iter().flat_map(|matches| &matches.models);
        findings.extend(unserved(fleet, Kind::PriorityLane, &lane.name, "spec", models));
    }
    findings.extend(only_targets(fleet));
    findings
}

fn lists(route: &Route, model: &str) -> bool {
    route.spec.models.iter().any(|served| served.name == model)
}

/// Whether two routes speak to the same clients: an answer must come in the API that was asked.
fn same_api(a: &Route, b: &Route) -> bool {
    (a.spec.api == Api::Anthropic) == (b.spec.api == Api::Anthropic)
}

/// The routes that serve a model: those that list it; if there is none, those that take any model.
fn servers<'a>(routes: &[&'a Route], model: &str) -> Vec<&'a Route> {
    let of = |model: &str| -> Vec<&'a Route> {
        routes.iter().copied().filter(|route| lists(route, model)).collect()
    };
    match of(model) {
        named if named.is_empty() => of("*"),
        named => named,
    }
}

fn unserved<'a, M: AsRef<str> + 'a>(
    fleet: &Fleet<'_>,
    kind: Kind,
    name: &str,
    path: &str,
    models: impl Iterator<Item = &'a M>,
) -> Vec<Finding> {
    let routes: Vec<_> = fleet.snapshot.routes.iter().collect();
    models
        .enumerate()
        .filter(|(_, model)| model.as_ref() != "*" && servers(&routes, model.as_ref()).is_empty())
        .filter_map(|(index, model)| {
            let model = model.as_ref();
            let known = routes.iter().flat_map(|route| &route.spec.models).map(|served| &*served.name);
            let message = match super::super::schema::nearest(model, known) {
                Some(near) => format!("no route of the fleet serves {model}: did you mean {near}?"),
                None => format!(
                    "no route of the fleet serves {model}: add it to a ProviderRoute, or remove it here"
                ),
            };
            fleet.warning(
                kind,
                name,
                "cross/model-not-served",
                &format!("{path}.match.models[{index}]"),
                message,
            )
        })
        .collect()
}

/// A cohort whose models each live in one failure domain, as far as hedges may go.
fn nowhere(fleet: &Fleet<'_>, policy: &Policy, index: usize, cohort: &Cohort) -> Option<Finding> {
    let effective = hedgerow_crds::effective::cohort(&policy.spec, cohort);
    if effective.mode == Mode::Disabled {
        return None;
    }
    let named: Vec<_> =
        cohort.match_.iter().flat_map(|matches| &matches.models).map(|model| &**model).collect();
    let routes: Vec<_> = fleet.snapshot.routes.iter().filter(|route| hedgeable(route)).collect();
    let all: Vec<_> = routes.iter().flat_map(|route| &route.spec.models).map(|model| &*model.name).collect();
    let models = if named.is_empty() || named.contains(&"*") { all } else { named };
    let served: Vec<_> = models.into_iter().map(|model| (model, servers(&routes, model))).collect();
    let served: Vec<_> = served.into_iter().filter(|(_, servers)| !servers.is_empty()).collect();
    let reachable = served
        .iter()
        .any(|(_, servers)| servers.iter().any(|from| servers.iter().any(|to| may_hedge(from, to, cohort))));
    let (model, servers) = served.first().filter(|_| !reachable)?;
    let homes: Vec<_> = servers
        .iter()
        .map(|route| {
            format!(
                "{} ({}/{})",
                route.name, route.spec.failure_domain.provider, route.spec.failure_domain.region
            )
        })
        .collect();
    let message = format!(
        "nothing in cohort {} can be hedged: a hedge must leave the failure domain of the primary, and {model} is served by \
         {}: add a route in another region or provider{}",
        cohort.name,
        homes.join(" and "),
        if cohort.hedge_to.is_some() { ", or widen hedgeTo" } else { "" }
    );
    fleet.warning(
        Kind::HedgePolicy,
        &policy.name,
        "cross/nothing-to-hedge-to",
        &format!("spec.cohorts[{index}].name"),
        message,
    )
}

/// Whether a route takes part in hedging at all: a client's own credential stays on one host.
fn hedgeable(route: &Route) -> bool {
    !route.spec.suspend && route.spec.auth.type_ != AuthType::Passthrough
}

fn may_hedge(from: &Route, to: &Route, cohort: &Cohort) -> bool {
    let target = &to.spec.failure_domain;
    let allowed = cohort.hedge_to.as_ref().is_none_or(|hedge_to| {
        (hedge_to.providers.is_empty() || hedge_to.providers.contains(&target.provider))
            && (hedge_to.regions.is_empty() || hedge_to.regions.contains(&target.region))
    });
    allowed
        && from.spec.weight > 0
        && same_api(from, to)
        && from.spec.failure_domain != *target
        && from.spec.data_boundary == to.spec.data_boundary
}

/// Models that only routes of weight 0 serve: nobody may be their primary.
fn only_targets(fleet: &Fleet<'_>) -> Vec<Finding> {
    let routes = &fleet.snapshot.routes;
    let mut findings = Vec::new();
    for route in routes.iter().filter(|route| route.spec.weight == 0) {
        let orphan = route
            .spec
            .models
            .iter()
            .find(|model| !routes.iter().any(|other| other.spec.weight > 0 && lists(other, &model.name)));
        if let Some(model) = orphan {
            let message = format!(
                "weight 0 makes this route a hedge and failover target only, but no other route serves {}: give one of them \
                 a weight",
                model.name
            );
            findings.extend(fleet.warning(
                Kind::ProviderRoute,
                &route.name,
                "cross/no-primary",
                "spec.weight",
                message,
            ));
        }
    }
    findings
}
