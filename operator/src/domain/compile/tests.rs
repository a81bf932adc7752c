use hedgerow_config::cohort::{DecisionState, Mode};
use hedgerow_crds::{condition::Reason, v1alpha1::ProviderRouteSpec};
use hedgerow_policy::guardrail::{Latch, State};
use serde_json::json;

use super::*;
use crate::domain::{LOCAL, Objects, Policy, Resource, Route, decision::BY_HAND};

fn route(name: &str, model: &str) -> Route {
    let spec: ProviderRouteSpec = serde_json::from_value(json!({
        "gateway": "default", "api": "OpenAI", "endpoint": "https://example.com", "auth": { "type": "None" },
        "failureDomain": { "provider": "p", "region": name }, "models": [{ "name": model }],
    }))
    .unwrap();
    Object::local(Kind::ProviderRoute, LOCAL, name, spec)
}

fn policy(name: &str, spec: &serde_json::Value) -> Policy {
    let mut whole = json!({ "gateway": "default" });
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    Object::local(Kind::HedgePolicy, LOCAL, name, serde_json::from_value(whole).unwrap())
}

fn snapshot(routes: Vec<Route>, policies: Vec<Policy>) -> Snapshot {
    Objects { routes, policies, ..Objects::default() }.snapshot(LOCAL, "default")
}

#[test]
fn the_257th_route_by_name_is_refused_and_the_fleet_runs() {
    let routes = (0..257).map(|n| route(&format!("r{n:03}"), "m")).rev().collect();
    let compiled = compile(&snapshot(routes, vec![]), &Latches::new());
    assert_eq!(compiled.config.routes.len(), 256);
    let refused: Vec<_> = compiled.verdicts.iter().filter(|verdict| !verdict.accepted()).collect();
    assert_eq!((refused.len(), refused[0].name.as_str(), refused[0].reason), (1, "r256", Reason::FleetFull));
}

#[test]
fn a_fleet_without_a_valid_route_is_not_usable() {
    let compiled = compile(
        &snapshot(vec![], vec![policy("p", &json!({ "cohorts": [{ "name": "a" }] }))]),
        &Latches::new(),
    );
    assert!(!compiled.usable);
    let (reason, _) = compiled.verdicts[0].not_programmed.as_ref().unwrap();
    assert_eq!((compiled.verdicts[0].accepted(), *reason), (true, Reason::NoRoutes));
}

#[test]
fn a_policy_rules_the_budget_of_every_model_that_its_cohorts_take() {
    let policies = vec![
        policy(
            "all",
            &json!({ "priority": 1, "budget": { "ratioPercent": 1 }, "cohorts": [{ "name": "all" }] }),
        ),
        policy(
            "one",
            &json!({
                "budget": { "ratioPercent": 2 },
                "cohorts": [{ "name": "one", "match": { "models": ["a"] } }, { "name": "any", "match": { "models": ["*"] } }],
            }),
        ),
    ];
    let routes = vec![route("r1", "a"), route("r2", "b"), route("r3", "*")];
    let compiled = compile(&snapshot(routes, policies), &Latches::new());
    let budgets: Vec<_> =
        compiled.config.budgets.iter().map(|rule| (rule.model.as_str(), rule.ratio_percent)).collect();
    assert_eq!(budgets, [("a", 2), ("b", 2)]);
    assert_eq!(compiled.config.cohorts[1].matches.models, [""; 0]);
}

#[test]
fn the_decision_follows_mode_and_latch_and_the_stricter_one_wins() {
    let latch = |state| Latch { state, transition: 7, ramp_percent: 40, ..Latch::default() };
    for (mode, latch, state, percent, reason) in [
        (Mode::Enforce, None, DecisionState::Ramping, 25, None),
        (Mode::Observe, None, DecisionState::Observing, 100, None),
        (Mode::Disabled, None, DecisionState::Disabled, 0, None),
        (Mode::Enforce, Some(latch(State::Ramping)), DecisionState::Ramping, 40, None),
        (Mode::Enforce, Some(latch(State::Active)), DecisionState::Active, 100, None),
        (Mode::Enforce, Some(latch(State::Suspended)), DecisionState::Suspended, 0, Some(BY_HAND)),
        (Mode::Enforce, Some(latch(State::Trial)), DecisionState::Trial, 40, Some(BY_HAND)),
        (Mode::Enforce, Some(latch(State::Observing)), DecisionState::Observing, 100, None),
        (Mode::Observe, Some(latch(State::Active)), DecisionState::Observing, 100, None),
        (Mode::Disabled, Some(latch(State::Active)), DecisionState::Disabled, 0, None),
    ] {
        let decision = decision::decision(mode, latch.as_ref(), 25);
        let found = (decision.state, decision.hedging_percent, decision.reason.as_deref());
        assert_eq!(found, (state, percent, reason), "{mode:?} {latch:?}");
        assert_eq!(decision.transition, latch.map_or(0, |latch| latch.transition));
    }
}

#[test]
fn a_latch_reaches_the_cohort_that_it_belongs_to() {
    let policies =
        vec![policy("p", &json!({ "mode": "Enforce", "cohorts": [{ "name": "a" }, { "name": "b" }] }))];
    let key = CohortKey { policy: "p".to_owned(), cohort: "b".to_owned() };
    let latches =
        Latches::from([(key, Latch { state: State::Suspended, transition: 3, ..Latch::default() })]);
    let compiled = compile(&snapshot(vec![route("r", "m")], policies), &latches);
    let states: Vec<_> = compiled.config.cohorts.iter().map(|cohort| cohort.decision.state).collect();
    assert_eq!(states, [DecisionState::Ramping, DecisionState::Suspended]);
}

#[test]
fn an_object_keeps_its_uid_over_restarts_and_has_another_in_another_namespace() {
    let (one, again) = (route("r", "m"), route("r", "other"));
    assert_eq!(one.uid, again.uid);
    assert_ne!(one.uid, route("q", "m").uid);
    let mut moved = Resource::Route(one.clone());
    moved.set_namespace("team-a");
    let Resource::Route(moved) = moved else { unreachable!("a route stays a route") };
    assert!(moved.namespace == "team-a" && moved.uid != one.uid);
}

#[test]
fn what_is_written_can_be_read_by_a_gateway() {
    let policies = vec![policy("p", &json!({ "cohorts": [{ "name": "a" }] }))];
    let config = compile(&snapshot(vec![route("r", "m")], policies), &Latches::new()).config;
    assert_eq!(GatewayConfig::read(&config.write()).unwrap(), config);
}
