//! What people read, from hand-made pods.

use std::{collections::BTreeMap, time::Duration};

use hedgerow_config::{
    State,
    cohort::Mode,
    gateway::ObjectRef,
    money::Picos,
    state::{CredentialState, LaneState, Rejected, RouteState},
};
use hedgerow_crds::{
    Kind,
    condition::{self, ConditionType, Reason},
    v1alpha1::{
        HedgePolicySpec, HedgePolicyStatus, PriorityLaneStatus, ProviderRouteSpec, ProviderRouteStatus,
    },
};
use hedgerow_policy::{
    guardrail::{self, Latch, Signal, Trip, Windows},
    time::Moment,
};

use super::*;
use crate::{
    domain::{Acceptance, Conflict, Verdict, guardrail::Standing, spent::Spent},
    scrape::{Estimate, Percentiles},
};

mod bounds;

/// 2026-11-29 03:12:40 UTC.
const NOW: Moment = Moment::from_secs(1_795_921_960);

fn verdict(kind: Kind, name: &str) -> Verdict {
    Verdict::whole(kind, name, 3)
}

fn object(kind: Kind, name: &str) -> ObjectRef {
    ObjectRef { kind: kind.as_str().into(), name: name.into(), uid: "u".into(), generation: 3 }
}

/// A ready pod that runs `objects`.
fn pod_state(objects: Vec<ObjectRef>) -> State {
    State { objects, digest: "d".into(), ..crate::domain::guardrail::fixture::state("p", Vec::new()) }
}

fn pods(states: &[Option<State>], seconds_old: u64) -> Pods<'_> {
    const NAMES: [&str; 3] = ["default-0", "default-1", "default-2"];
    let members = states
        .iter()
        .zip(NAMES)
        .map(|(state, name)| Pod {
            name,
            state: state.as_ref(),
            gone: false,
            since: NOW - Duration::from_secs(seconds_old),
            mounts: None,
        })
        .collect();
    Pods { members, digest: "d", now: NOW, ..Pods::default() }
}

fn said(conditions: &[condition::Condition], type_: ConditionType) -> (String, String, String) {
    let found = condition::find(conditions, type_).unwrap_or_else(|| panic!("{type_} is missing"));
    (found.status.clone(), found.reason.clone(), found.message.clone())
}

fn lane_status(states: &[Option<State>], seconds_old: u64, verdict: &Verdict) -> PriorityLaneStatus {
    let object = object(Kind::PriorityLane, "batch");
    let pods = pods(states, seconds_old);
    let figures = LaneFigures { shed: BTreeMap::from([("LaneFull".into(), 96)]), ..LaneFigures::default() };
    lane(&PriorityLaneStatus::default(), &LaneFacts { verdict, object: &object, pods: &pods, figures })
}

/// Name, pods, their age, then status, reason and part of the message.
type Case = (&'static str, Vec<Option<State>>, u64, &'static str, &'static str, &'static str);

#[test]
fn programmed_means_every_pod_that_counts_and_names_the_others() {
    let runs = || Some(pod_state(vec![object(Kind::PriorityLane, "batch")]));
    let not = || Some(pod_state(Vec::new()));
    let refused = || {
        let rejected = Rejected { digest: "d".into(), message: "gateway.json: line 3".into() };
        Some(State { rejected: Some(rejected), ..pod_state(Vec::new()) })
    };
    let unready = || Some(State { ready: false, ..pod_state(Vec::new()) });
    let cases: [Case; 9] = [
        ("all", vec![runs(), runs()], 60, "True", "Programmed", "in force in 2 ready gateways"),
        ("one is behind", vec![runs(), not()], 60, "False", "Reconciling", "default-1 has yet to take it up"),
        ("one is young", vec![runs(), not()], 5, "True", "Programmed", "default-1 just started"),
        ("one is unread", vec![runs(), None], 60, "True", "Programmed", "default-1 cannot be read"),
        ("none runs it", vec![not(), not()], 5, "False", "Reconciling", "default-0 and default-1 have"),
        ("none is ready", vec![unready(), None], 60, "False", "NoReadyPods", "no gateway is ready"),
        (
            "none can be read",
            vec![None, None],
            60,
            "False",
            "NoReadyPods",
            "default-0 and default-1 cannot be read yet",
        ),
        ("no pod at all", vec![], 60, "False", "NoReadyPods", "no gateway is ready"),
        (
            "refused",
            vec![runs(), refused()],
            60,
            "False",
            "Rejected",
            "default-1 refused the configuration: gateway.json",
        ),
    ];
    for (name, states, old, status, reason, message) in cases {
        let seen = lane_status(&states, old, &verdict(Kind::PriorityLane, "batch"));
        let programmed = said(&seen.conditions, ConditionType::Programmed);
        assert_eq!((programmed.0.as_str(), programmed.1.as_str()), (status, reason), "{name}");
        assert!(programmed.2.contains(message), "{name}: {}", programmed.2);
        let ready = said(&seen.conditions, ConditionType::Ready);
        assert_eq!(ready.0, status, "{name}: Ready follows");
        assert_eq!(
            condition::is_true(&seen.conditions, ConditionType::Stalled),
            reason == "Rejected",
            "{name}"
        );
        assert_eq!(
            condition::is_true(&seen.conditions, ConditionType::Reconciling),
            reason == "Reconciling",
            "{name}"
        );
    }
}

#[test]
fn pods_that_cannot_be_read_change_nothing_of_what_was_known() {
    let (verdict, object) = (verdict(Kind::PriorityLane, "batch"), object(Kind::PriorityLane, "batch"));
    let good = lane_status(&[Some(pod_state(vec![object.clone()]))], 60, &verdict);
    let states = [None];
    let pods = pods(&states, 60);
    let facts =
        |pods| LaneFacts { verdict: &verdict, object: &object, pods, figures: LaneFigures::default() };
    let unread = lane(&good, &facts(&pods));
    assert_eq!(unread.conditions, good.conditions);
    let mut dead = pods.clone();
    dead.members[0].gone = true;
    assert_eq!(said(&lane(&good, &facts(&dead)).conditions, ConditionType::Ready).1, "NoReadyPods");
}

#[test]
fn an_object_that_is_not_accepted_has_a_status_that_says_so() {
    let refused = Verdict {
        acceptance: Acceptance::No,
        reason: Reason::Conflicted,
        message: "lane interactive is the fallback already".into(),
        ..verdict(Kind::PriorityLane, "batch")
    };
    let seen = lane_status(&[Some(pod_state(Vec::new()))], 60, &refused);
    assert_eq!(said(&seen.conditions, ConditionType::Accepted).1, "Conflicted");
    let ready = said(&seen.conditions, ConditionType::Ready);
    assert_eq!((ready.0.as_str(), ready.1.as_str()), ("False", "Conflicted"));
    assert!(condition::is_true(&seen.conditions, ConditionType::Stalled));
    assert!(!condition::is_true(&seen.conditions, ConditionType::Reconciling), "it waits for its author");
    assert_eq!(seen.observed_generation, Some(3));
}

fn lane_state(limit: u32, in_flight: u32) -> LaneState {
    LaneState {
        lane: "batch".into(),
        limit,
        in_flight,
        queued: 0,
        admitted: 0,
        shed: BTreeMap::new(),
        failed: 0,
        wait: Vec::new(),
        last_retry_after_s: 0,
        baseline_per_mille: 0,
    }
}

#[test]
fn a_lane_shows_limits_per_pod_and_sums_over_the_fleet() {
    let with = |limit: u32, in_flight: u32| {
        let lane = lane_state(limit, in_flight);
        Some(State { lanes: vec![lane], ..pod_state(vec![object(Kind::PriorityLane, "batch")]) })
    };
    let seen =
        lane_status(&[with(64, 60), with(50, 50), with(70, 20)], 60, &verdict(Kind::PriorityLane, "batch"));
    let summary = seen.summary.unwrap();
    assert_eq!(
        (summary.limit.as_str(), summary.in_flight.as_str(), summary.shed.as_str()),
        ("64 per pod", "130", "96")
    );
    let observed = seen.observed.unwrap();
    assert_eq!((observed.limit_min, observed.limit_max), (50, 70));
    assert_eq!(observed.top_shedding_reason.as_deref(), Some("LaneFull"));
}

fn route_spec(models: &serde_json::Value) -> ProviderRouteSpec {
    serde_json::from_value(serde_json::json!({
        "api": "OpenAI", "endpoint": "https://api.openai.com",
        "auth": { "type": "Bearer", "secretRef": { "name": "keys", "key": "openai" } },
        "failureDomain": { "provider": "openai", "region": "us-east" }, "models": models,
    }))
    .unwrap()
}

fn route_status(
    change: impl Fn(&mut RouteState, &mut Vec<CredentialState>),
    figures: RouteFigures,
) -> ProviderRouteStatus {
    route_status_of(&route_spec(&serde_json::json!([{ "name": "chat" }])), change, figures)
}

fn route_status_of(
    spec: &ProviderRouteSpec,
    change: impl Fn(&mut RouteState, &mut Vec<CredentialState>),
    figures: RouteFigures,
) -> ProviderRouteStatus {
    let mut state = RouteState {
        route: "east".into(),
        in_flight: 0,
        breaker: "closed".into(),
        weight_percent: 100,
        throttled_until_unix_ms: 0,
        blocked: String::new(),
        outcomes: BTreeMap::new(),
        first_token: Vec::new(),
        quotas: Vec::new(),
    };
    let mut credentials = vec![CredentialState {
        secret: "keys".into(),
        key: "openai".into(),
        present: true,
        secret_found: true,
        key_found: true,
        fingerprint: "0a1b2c3d".into(),
        since_unix_ms: NOW.as_millis(),
    }];
    change(&mut state, &mut credentials);
    let states = [Some(State {
        routes: vec![state],
        credentials,
        ..pod_state(vec![object(Kind::ProviderRoute, "east")])
    })];
    let (verdict, object, pods) =
        (verdict(Kind::ProviderRoute, "east"), object(Kind::ProviderRoute, "east"), pods(&states, 60));
    let facts = RouteFacts { spec, verdict: &verdict, object: &object, pods: &pods, figures };
    route(&ProviderRouteStatus::default(), &facts)
}

fn busy() -> RouteFigures {
    let p95 = Some(Duration::from_millis(1_900));
    let first_token = Percentiles { p50: p95, p95, p99: p95, samples: 50.0, ..Percentiles::default() };
    RouteFigures { first_token, requests: 100, failed: 4 }
}

#[test]
fn health_is_said_in_a_few_words_and_never_makes_a_route_unready() {
    type Change = fn(&mut RouteState);
    let cases: [(&str, Change, &str, &str); 7] = [
        ("Healthy", |_| {}, "True", "Healthy"),
        (
            "Slow (weight 12 %)",
            |route| (route.breaker, route.weight_percent) = ("slow".into(), 12),
            "False",
            "Slow",
        ),
        ("BreakerOpen", |route| route.breaker = "open".into(), "False", "BreakerOpen"),
        ("BreakerOpen (probing)", |route| route.breaker = "halfOpen".into(), "False", "BreakerOpen"),
        (
            "Throttled to 03:13:40",
            |route| route.throttled_until_unix_ms = NOW.as_millis() + 60_000,
            "False",
            "Throttled",
        ),
        ("Healthy", |route| route.throttled_until_unix_ms = NOW.as_millis() - 1, "True", "Healthy"),
        ("QuotaExhausted", |route| route.blocked = "QuotaExhausted".into(), "False", "QuotaExhausted"),
    ];
    for (words, change, status, reason) in cases {
        let seen = route_status(|route, _| change(route), busy());
        let healthy = said(&seen.conditions, ConditionType::Healthy);
        assert_eq!((healthy.0.as_str(), healthy.1.as_str()), (status, reason));
        let summary = seen.summary.unwrap();
        assert_eq!(
            (summary.health.as_str(), summary.p95.as_str(), summary.models.as_str()),
            (words, "1.9s", "1")
        );
        assert!(condition::is_true(&seen.conditions, ConditionType::Ready), "{words}");
        assert_eq!(seen.observed.unwrap().error_per_mille, Some(40));
        assert!(
            seen.conditions.iter().all(|condition| !condition.message.is_empty()),
            "{:?}",
            seen.conditions
        );
    }
    let idle = route_status(|_, _| {}, RouteFigures::default());
    assert_eq!(said(&idle.conditions, ConditionType::Healthy).1, "NoTraffic");
}

#[test]
fn a_route_is_priced_partly_priced_or_not_priced() {
    use hedgerow_crds::v1alpha1::provider_route::PricingState;
    let price = serde_json::json!({ "inputMicrosPerMillion": 1, "outputMicrosPerMillion": 2 });
    let model = |name: &str, priced: bool| {
        let mut model = serde_json::json!({ "name": name });
        if priced {
            model["pricing"] = price.clone();
        }
        model
    };
    for (priced, wanted) in [
        ([true, true], PricingState::Priced),
        ([true, false], PricingState::PartlyPriced),
        ([false, false], PricingState::Unpriced),
    ] {
        let spec = route_spec(&serde_json::json!([model("a", priced[0]), model("b", priced[1])]));
        let seen = route_status_of(&spec, |_, _| {}, busy());
        assert_eq!(seen.pricing, Some(wanted));
    }
}

#[test]
fn a_credential_that_is_missing_is_said_with_its_path_and_never_its_value() {
    let there = route_status(|_, _| {}, busy());
    assert_eq!(said(&there.conditions, ConditionType::ResolvedRefs).0, "True");
    let credentials = there.credentials.unwrap();
    assert_eq!(
        (credentials.fingerprint.as_deref(), credentials.pods.as_deref()),
        (Some("0a1b2c3d"), Some("1/1"))
    );
    let unasked = route_status(|_, credentials| credentials.clear(), busy());
    let resolved = said(&unasked.conditions, ConditionType::ResolvedRefs);
    assert_eq!(
        (resolved.0.as_str(), resolved.1.as_str()),
        ("Unknown", "NoReadyPods"),
        "it has an older configuration"
    );
    let lacks = |secret_found, key_found| {
        let status = route_status(
            |_, credentials| {
                let none =
                    CredentialState { present: false, fingerprint: String::new(), ..credentials[0].clone() };
                credentials[0] = CredentialState { secret_found, key_found, ..none };
            },
            busy(),
        );
        said(&status.conditions, ConditionType::ResolvedRefs)
    };
    for ((secret, key), reason, words) in [
        ((false, false), "SecretNotFound", "secrets/keys/openai is missing or empty"),
        ((true, false), "SecretKeyMissing", "secrets/keys/openai: the Secret has no such key"),
        ((true, true), "SecretKeyMissing", "secrets/keys/openai is there but empty"),
    ] {
        let resolved = lacks(secret, key);
        assert!(resolved.1 == reason && resolved.2.contains(words), "{resolved:?}");
    }
    let unusable = route_status(|_, credentials| credentials[0].present = false, busy());
    let resolved = said(&unusable.conditions, ConditionType::ResolvedRefs);
    assert_eq!(resolved.1, "SecretKeyMissing");
    assert!(resolved.2.contains("line break"), "{}", resolved.2);
}

fn standing(state: guardrail::State, tripped: bool) -> Standing {
    let trip = Trip { at: NOW, signal: Signal::ExtraSpend };
    Standing {
        latch: Latch { state, since: NOW, last_trip: tripped.then_some(trip), ..Latch::default() },
        reason: tripped.then_some(Reason::ExtraSpendExceeded),
        message: if tripped { "Hedging is off".into() } else { String::new() },
        tripped_at: if tripped { vec![NOW] } else { Vec::new() },
        ..Standing::default()
    }
}

fn spent() -> Spent {
    Spent {
        cost: Picos(3_000_000_000),
        without: Picos(2_000_000_000),
        lost: Picos(500_000_000),
        estimated: Picos(300_000_000),
        ..Spent::default()
    }
}

fn policy_status(mode: Mode, first: &Standing, second: &Standing, read: bool) -> HedgePolicyStatus {
    let tally = guardrail::Tally {
        originals: 1_000,
        hedges: 46,
        hedge_wins: 28,
        primaries_cost: 1_009,
        primaries_alone_cost: 1_000,
        losers_cost: 12,
        ..guardrail::Tally::default()
    };
    policy_status_of(mode, [first, second], read, tally, &spent())
}

fn policy_status_of(
    mode: Mode,
    [first, second]: [&Standing; 2],
    read: bool,
    tally: guardrail::Tally,
    today: &Spent,
) -> HedgePolicyStatus {
    let spec: HedgePolicySpec = serde_json::from_value(serde_json::json!({
        "cohorts": [{ "name": "stream", "objective": { "firstToken": "2s" } }, { "name": "json" }, { "name": "taken" }],
    }))
    .unwrap();
    let verdict = Verdict {
        conflicts: vec![Conflict { cohort: "taken".into(), winner: "other".into() }],
        ..verdict(Kind::HedgePolicy, "chat")
    };
    let object = object(Kind::HedgePolicy, "chat");
    let states = [read.then(|| pod_state(vec![object.clone()]))];
    let pods = pods(&states, 60);
    let mut ring = guardrail::Ring::new();
    *ring.at(NOW) = tally;
    let rules = guardrail::Rules::default();
    let windows: Windows = guardrail::windows(&ring, NOW, &rules);
    let evaluation = guardrail::evaluate(&rules, &windows, &guardrail::Context::default());
    let (p99, without) = (Some(Duration::from_millis(3_100)), Some(Duration::from_millis(9_800)));
    let not_hedged = BTreeMap::from([("Withheld".to_owned(), 3), ("BudgetEmpty".to_owned(), 40)]);
    let delays = [("east".to_owned(), Duration::from_millis(1_900))];
    let cohorts = [("stream", first), ("json", second)].map(|(name, standing)| CohortFacts {
        name,
        mode,
        standing,
        windows: &windows,
        evaluation: &evaluation,
        first_token: Percentiles { p50: p99, p95: p99, p99, samples: 900.0, ..Percentiles::default() },
        without: Estimate {
            p99: without,
            p99_low: without,
            p99_high: without,
            samples: 900.0,
            ..Estimate::default()
        },
        not_hedged: &not_hedged,
        delays: &delays,
        today: today.clone(),
        recommendation: Vec::new(),
        diagnosis: None,
    });
    let facts = PolicyFacts {
        spec: &spec,
        verdict: &verdict,
        object: &object,
        pods: &pods,
        currency: "USD",
        cohorts: cohorts.into(),
    };
    policy(&HedgePolicyStatus::default(), &facts)
}

#[test]
fn a_breach_is_in_the_conditions_the_columns_and_the_cohort_and_the_policy_stays_ready() {
    use guardrail::State::{Active, Suspended};
    let seen = policy_status(Mode::Enforce, &standing(Active, false), &standing(Suspended, true), true);
    let breached = said(&seen.conditions, ConditionType::GuardrailBreached);
    assert_eq!((breached.0.as_str(), breached.1.as_str()), ("True", "ExtraSpendExceeded"));
    assert!(breached.2.contains("json (Suspended): Hedging is off"), "{}", breached.2);
    assert!(condition::is_true(&seen.conditions, ConditionType::Ready));
    let summary = seen.summary.unwrap();
    let columns = [summary.cohorts, summary.guardrail, summary.p99, summary.saved, summary.duplicate_percent];
    assert_eq!(columns, ["1/2 active", "Breached", "3.1s", "-68%", "4.6"]);
    assert_eq!((summary.extra_percent.as_str(), summary.reason.as_str()), ("0.9", "ExtraSpendExceeded"));
    let cohort = &seen.cohorts[0];
    assert_eq!((cohort.duplicate_per_mille, cohort.extra_spend_per_mille), (Some(46), Some(9)));
    assert_eq!((cohort.win_per_mille, cohort.lost_race_per_mille), (Some(609), Some(12)));
    assert_eq!((cohort.not_hedged[0].reason.as_str(), cohort.not_hedged[0].count), ("BudgetEmpty", 40));
    assert_eq!(cohort.delays[0].delay, "1.9s");
    assert_eq!(cohort.extra_today_micros, Some(1_000));
    let spend = seen.spend.unwrap();
    assert_eq!((spend.date.as_str(), spend.total_micros, spend.estimated_percent), ("2026-11-29", 6_000, 10));
    assert_eq!(seen.cohorts[2].state, hedgerow_crds::v1alpha1::hedge_policy::CohortState::Conflicted);
    assert!(seen.cohorts[2].message.as_ref().unwrap().contains("other"));
}

#[test]
fn what_is_not_known_is_said_to_be_unknown() {
    use guardrail::State::{Active, Disabled, Observing};
    let guardrail = |status: &HedgePolicyStatus| {
        let (status, reason, _) = said(&status.conditions, ConditionType::GuardrailBreached);
        format!("{status}/{reason}")
    };
    let active = standing(Active, false);
    let within = policy_status(Mode::Enforce, &active, &active, true);
    assert_eq!(guardrail(&within), "False/WithinLimits");
    assert_eq!(guardrail(&policy_status(Mode::Enforce, &active, &active, false)), "Unknown/ScrapeFailed");
    let off = standing(Disabled, false);
    assert_eq!(guardrail(&policy_status(Mode::Disabled, &off, &off, true)), "Unknown/SwitchedOff");
    let observing = standing(Observing, false);
    let seen = policy_status(Mode::Observe, &observing, &observing, true);
    let summary = seen.summary.unwrap();
    assert_eq!((summary.cohorts.as_str(), summary.duplicate_percent.as_str()), ("2/2 seen", "(4.6)"));
    assert_eq!((summary.saved.as_str(), summary.extra_percent.as_str()), ("", ""), "nothing was done");
    let cohort = &seen.cohorts[0];
    assert_eq!(cohort.duplicate_per_mille, Some(46), "what would have been sent is the point of observing");
    let done = (cohort.win_per_mille, cohort.extra_spend_per_mille, cohort.lost_race_per_mille);
    assert_eq!(done, (None, None, None), "no hedge was sent, so none won, lost or cost anything");
}
