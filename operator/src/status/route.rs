//! Status of a `ProviderRoute`.

use hedgerow_config::{
    gateway::ObjectRef,
    state::{CredentialState, RouteState},
};
use hedgerow_crds::{
    condition::{ConditionType, Reason},
    effective,
    v1alpha1::{
        DataRef, ProviderRouteSpec, ProviderRouteStatus,
        provider_route::{
            BreakerState, Credentials, EffectiveRoute, PricingState, RouteObserved, RouteSummary,
        },
    },
};
use hedgerow_policy::time::Moment;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{
    conditions::{self, Said, set_all},
    pods::Pods,
    references::{self, Use},
};
use crate::{
    domain::{Verdict, figure},
    scrape::Percentiles,
};

/// What a route's status is made from.
#[derive(Clone, Debug)]
pub struct RouteFacts<'a> {
    /// What its author asks for.
    pub spec: &'a ProviderRouteSpec,
    /// What the compiler said.
    pub verdict: &'a Verdict,
    /// The object.
    pub object: &'a ObjectRef,
    /// The pods of its fleet.
    pub pods: &'a Pods<'a>,
    /// Figures that need more than one reading.
    pub figures: RouteFigures,
}

/// Figures of the last minutes.
#[derive(Clone, Debug, Default)]
pub struct RouteFigures {
    /// First tokens of primaries, recent.
    pub first_token: Percentiles,
    /// Attempts ended in the last five minutes.
    pub requests: u64,
    /// Those of them that failed.
    pub failed: u64,
}

/// Percent of the configured weight below which a route that answers is called slow.
const FULL_WEIGHT: u32 = 100;

/// The status now. Without a reading the figures stay as they were.
pub fn route(old: &ProviderRouteStatus, facts: &RouteFacts<'_>) -> ProviderRouteStatus {
    let generation = facts.object.generation;
    let now = facts.pods.now;
    let secret = effective::secret(facts.spec);
    let seen: Vec<&RouteState> = facts
        .pods
        .ready()
        .flat_map(|state| &state.routes)
        .filter(|route| route.route == facts.object.name)
        .collect();
    let (health, word) = healthy(facts, &seen);
    let mut status = old.clone();
    status.observed_generation = Some(generation);
    set_all(
        &mut status.conditions,
        vec![
            (ConditionType::Accepted, conditions::accepted(facts.verdict)),
            (ConditionType::ResolvedRefs, references::resolved(&references(facts.spec), facts.pods)),
            (
                ConditionType::Programmed,
                conditions::programmed(&old.conditions, facts.verdict, Some(facts.object), facts.pods),
            ),
            (ConditionType::Healthy, health),
        ],
        &[ConditionType::Healthy],
        generation,
        figure::timestamp(now),
    );
    if !seen.is_empty() {
        status.observed = Some(observed(&seen, &facts.figures, now));
        status.credentials = secret.as_ref().map(|secret| credentials(secret, facts.pods));
    }
    let p95 = facts.figures.first_token.p95.map(figure::latency);
    status.summary = Some(RouteSummary {
        models: facts.spec.models.len().to_string(),
        health: word,
        p95: p95.unwrap_or_else(|| old.summary.as_ref().map(|old| old.p95.clone()).unwrap_or_default()),
    });
    status.pricing = Some(pricing(facts.spec));
    status.effective = Some(EffectiveRoute { models: effective::models(facts.spec) });
    status
}

fn pricing(spec: &ProviderRouteSpec) -> PricingState {
    match spec.models.iter().filter(|model| model.pricing.is_some()).count() {
        0 => PricingState::Unpriced,
        priced if priced == spec.models.len() => PricingState::Priced,
        _ => PricingState::PartlyPriced,
    }
}

/// What the route refers to: its key and its authority.
fn references(spec: &ProviderRouteSpec) -> Vec<(DataRef, Use)> {
    let key = effective::secret(spec).map(|secret| (secret, Use::Key));
    let tls = spec.tls.as_ref();
    let private = tls.and_then(|tls| tls.ca_secret_ref.clone()).map(|place| (place, Use::Authority));
    let public = tls.and_then(|tls| tls.ca_config_map_ref.clone()).map(|place| (place, Use::PublicAuthority));
    key.into_iter().chain(private.or(public)).collect()
}

/// The condition `Healthy` and its few words for the column.
fn healthy(facts: &RouteFacts<'_>, seen: &[&RouteState]) -> (Said, String) {
    let now = facts.pods.now;
    let plain = |reason: Reason, message: &str| {
        let words = reason.as_str().to_owned();
        (reason, message.to_owned(), words)
    };
    let blocked = seen.iter().map(|route| route.blocked.as_str()).find(|blocked| !blocked.is_empty());
    let throttled = seen.iter().map(|route| route.throttled_until_unix_ms).max().unwrap_or(0);
    let throttled = Moment::from_millis(throttled);
    let weight = mean_weight(seen);
    let (reason, message, words) = if facts.spec.suspend {
        plain(Reason::Suspended, "switched off by its author; running attempts finish")
    } else if !facts.pods.any_read() {
        return (Said::unknown(Reason::ScrapeFailed, "no gateway can be read"), "Unknown".to_owned());
    } else if let Some(reason) = blocked.and_then(Reason::parse) {
        plain(reason, "the provider refuses every attempt; see its console")
    } else if seen.iter().any(|route| route.breaker == "open") {
        plain(Reason::BreakerOpen, "too many attempts failed; probes are sent until some succeed")
    } else if seen.iter().any(|route| route.breaker == "halfOpen") {
        let message = "too many attempts failed; it is probing, one attempt at a time, until some succeed";
        (Reason::BreakerOpen, message.to_owned(), "BreakerOpen (probing)".to_owned())
    } else if throttled > now {
        let clock = figure::clock_from(throttled, now);
        let words = format!("Throttled to {}", figure::timestamp(throttled).strftime("%H:%M:%S"));
        (
            Reason::Throttled,
            format!("the provider asked to wait until {clock}; the route is left alone"),
            words,
        )
    } else if seen.iter().any(|route| route.breaker == "slow") {
        let message = format!("much slower than usual, so it gets {weight} % of its weight");
        (Reason::Slow, message, format!("Slow (weight {weight} %)"))
    } else if facts.figures.first_token.samples < 1.0 && facts.figures.requests == 0 {
        return (Said::unknown(Reason::NoTraffic, "no attempt in the last minutes"), "NoTraffic".to_owned());
    } else {
        let message = if weight < FULL_WEIGHT {
            format!("at {weight} % of its weight, growing")
        } else {
            "at its full weight".to_owned()
        };
        return (Said::yes(Reason::Healthy, message), Reason::Healthy.as_str().to_owned());
    };
    (Said::no(reason, message), words)
}

fn observed(seen: &[&RouteState], figures: &RouteFigures, now: Moment) -> RouteObserved {
    let throttled = seen.iter().map(|route| route.throttled_until_unix_ms).max().unwrap_or(0);
    let throttled = Moment::from_millis(throttled);
    let latency = figures.first_token;
    RouteObserved {
        p50: latency.p50.map(figure::latency),
        p95: latency.p95.map(figure::latency),
        p99: latency.p99.map(figure::latency),
        error_per_mille: figure::share(figures.failed.into(), figures.requests.into()),
        requests: Some(figure::whole(figures.requests)),
        breaker: most_frequent(seen),
        throttled_until: (throttled > now).then(|| Time(figure::timestamp(throttled))),
        weight_percent: Some(i32::try_from(mean_weight(seen)).unwrap_or(100)),
    }
}

fn mean_weight(seen: &[&RouteState]) -> u32 {
    let sum: u32 = seen.iter().map(|route| route.weight_percent.min(FULL_WEIGHT)).sum();
    u32::try_from(seen.len()).ok().and_then(|pods| sum.checked_div(pods)).unwrap_or(FULL_WEIGHT)
}

/// State of the breaker in most pods; of equally many, the worse one.
fn most_frequent(seen: &[&RouteState]) -> Option<BreakerState> {
    let states = [
        (BreakerState::Closed, &["closed", "throttled", "recovering"][..]),
        (BreakerState::Slow, &["slow"]),
        (BreakerState::HalfOpen, &["halfOpen"]),
        (BreakerState::Open, &["open", "quotaOpen"]),
    ];
    let counted = states.map(|(state, words)| {
        (seen.iter().filter(|route| words.contains(&route.breaker.as_str())).count(), state)
    });
    counted
        .into_iter()
        .enumerate()
        .max_by_key(|(rank, (count, _))| (*count, *rank))
        .and_then(|(_, (count, state))| (count > 0).then_some(state))
}

fn credentials(secret: &DataRef, pods: &Pods<'_>) -> Credentials {
    let ready: Vec<_> = pods.ready().collect();
    let held: Vec<&CredentialState> =
        ready.iter().filter_map(|state| references::held(state, secret)).collect();
    Credentials {
        secret: secret.name.to_string(),
        key: secret.key.to_string(),
        fingerprint: held.first().map(|known| known.fingerprint.clone()),
        pods: Some(format!("{}/{}", held.len(), ready.len())),
        since: held
            .iter()
            .map(|known| known.since_unix_ms)
            .max()
            .filter(|since| *since > 0)
            .map(|since| Time(figure::timestamp(Moment::from_millis(since)))),
    }
}
