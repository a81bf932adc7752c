//! The rules of HedgePolicy.

use hedgerow_crds::Kind::HedgePolicy;
use serde_json::json;

use super::{fails, passes};

#[test]
fn the_cold_start_lies_between_min_and_max() {
    passes(HedgePolicy, &json!({ "delay": { "min": "10ms", "coldStart": "10ms", "max": "10ms" } }));
    fails(
        HedgePolicy,
        &json!({ "delay": { "coldStart": "500ms" } }),
        "spec.delay.coldStart: coldStart (500ms) must lie between min (1s) and max (8s): raise coldStart or lower min",
    );
    fails(
        HedgePolicy,
        &json!({ "delay": { "coldStart": "9s" } }),
        "spec.delay.coldStart: coldStart (9s) must lie between min (1s) and max (8s): lower coldStart or raise max",
    );
}

#[test]
fn a_fixed_delay_goes_with_the_fixed_strategy() {
    passes(HedgePolicy, &json!({ "delay": { "strategy": "Fixed", "fixed": "2s" } }));
    fails(
        HedgePolicy,
        &json!({ "delay": { "strategy": "Fixed" } }),
        "spec.delay.fixed: fixed is required with strategy: Fixed",
    );
    fails(
        HedgePolicy,
        &json!({ "delay": { "fixed": "2s" } }),
        "spec.delay.fixed: fixed has a meaning only with strategy: Fixed; remove it or change strategy",
    );
    fails(
        HedgePolicy,
        &json!({ "delay": { "strategy": "Fixed", "fixed": "1ms" } }),
        "spec.delay.fixed: fixed (1ms) must lie between 10ms and 30m",
    );
}

#[test]
fn the_duplicate_target_lies_below_the_guardrail() {
    let rate = |target: i32, rearm: i32, trip: i32| {
        json!({
            "duplicateTargetPercent": target,
            "guardrails": { "duplicateRate": { "rearmPercent": rearm, "tripPercent": trip } },
        })
    };
    passes(HedgePolicy, &rate(5, 6, 7));
    passes(HedgePolicy, &rate(1, 2, 100));
    fails(
        HedgePolicy,
        &rate(5, 6, 4),
        "spec.guardrails.duplicateRate.tripPercent: tripPercent (4) is too close to duplicateTargetPercent (5): the \
         guardrail would trip in normal operation; use at least 7 (target < rearm < trip)",
    );
    for (target, rearm, trip) in [(5, 5, 8), (5, 8, 8), (5, 3, 8), (5, 9, 8)] {
        fails(
            HedgePolicy,
            &rate(target, rearm, trip),
            &format!(
                "spec.guardrails.duplicateRate.rearmPercent: rearmPercent ({rearm}) must lie between \
                 duplicateTargetPercent ({target}) and tripPercent ({trip}), both excluded"
            ),
        );
    }
}

#[test]
fn extra_spend_rearms_below_its_trip() {
    let spend = |rearm: i32, trip: i32| json!({ "guardrails": { "extraSpend": { "rearmPercent": rearm, "tripPercent": trip } } });
    passes(HedgePolicy, &spend(0, 1));
    fails(
        HedgePolicy,
        &spend(6, 6),
        "spec.guardrails.extraSpend.rearmPercent: rearmPercent (6) must be below tripPercent (6): lower rearmPercent or \
         raise tripPercent",
    );
}

#[test]
fn the_whole_answer_may_take_longest() {
    passes(HedgePolicy, &json!({ "deadline": { "stream": "30m", "complete": "30m" } }));
    fails(
        HedgePolicy,
        &json!({ "deadline": { "stream": "31m" } }),
        "spec.deadline.stream: stream (31m) must be at most total (30m): lower stream or raise total",
    );
    fails(
        HedgePolicy,
        &json!({ "deadline": { "complete": "1h" } }),
        "spec.deadline.complete: complete (1h) must be at most total (30m): lower complete or raise total",
    );
}

#[test]
fn back_off_and_cooldown_grow_up_to_their_maximum() {
    fails(
        HedgePolicy,
        &json!({ "retry": { "backoffBase": "21s" } }),
        "spec.retry.backoffBase: backoffBase (21s) must be at most backoffMax (20s): lower backoffBase or raise \
         backoffMax",
    );
    fails(
        HedgePolicy,
        &json!({ "guardrails": { "cooldown": "1h" } }),
        "spec.guardrails.cooldown: cooldown (1h) must be at most maxCooldown (30m): lower cooldown or raise maxCooldown",
    );
}

#[test]
fn durations_have_bounds() {
    for (field, patch, limits) in [
        ("delay.min", json!({ "delay": { "min": "9ms" } }), "min (9ms) must lie between 10ms and 10m"),
        ("delay.max", json!({ "delay": { "max": "31m" } }), "max (31m) must lie between 10ms and 30m"),
        (
            "deadline.stream",
            json!({ "deadline": { "stream": "99ms" } }),
            "stream (99ms) must lie between 100ms and 24h",
        ),
        (
            "deadline.complete",
            json!({ "deadline": { "complete": "1ms" } }),
            "complete (1ms) must lie between 100ms and 24h",
        ),
        (
            "deadline.total",
            json!({ "deadline": { "total": "25h" } }),
            "total (25h) must lie between 100ms and 24h",
        ),
        ("ramp.every", json!({ "ramp": { "every": "0s" } }), "every (0s) must lie between 1s and 24h"),
        (
            "retry.backoffBase",
            json!({ "retry": { "backoffBase": "0s" } }),
            "backoffBase (0s) must lie between 1ms and 60s",
        ),
        (
            "retry.backoffMax",
            json!({ "retry": { "backoffMax": "11m" } }),
            "backoffMax (11m) must lie between 1ms and 10m",
        ),
    ] {
        fails(HedgePolicy, &patch, &format!("spec.{field}: {limits}"));
    }
}

#[test]
fn durations_of_guardrails_and_objectives_have_bounds() {
    for (field, patch, limits) in [
        (
            "guardrails.window",
            json!({ "guardrails": { "window": "29s" } }),
            "window (29s) must lie between 30s and 24h",
        ),
        (
            "guardrails.cooldown",
            json!({ "guardrails": { "cooldown": "4s" } }),
            "cooldown (4s) must lie between 5s and 24h",
        ),
        (
            "guardrails.maxCooldown",
            json!({ "guardrails": { "maxCooldown": "25h" } }),
            "maxCooldown (25h) must lie between 5s and 24h",
        ),
        (
            "guardrails.trialFor",
            json!({ "guardrails": { "trialFor": "1s" } }),
            "trialFor (1s) must lie between 5s and 24h",
        ),
        (
            "guardrails.blind.after",
            json!({ "guardrails": { "blind": { "after": "9s" } } }),
            "after (9s) must lie between 10s and 24h",
        ),
        (
            "cohorts[0].objective.firstToken",
            json!({ "cohorts": [{ "name": "a", "objective": { "firstToken": "2h" } }] }),
            "firstToken (2h) must lie between 1ms and 1h",
        ),
    ] {
        fails(HedgePolicy, &patch, &format!("spec.{field}: {limits}"));
    }
}

#[test]
fn the_bounds_are_wide_enough_for_small_set_ups() {
    passes(
        HedgePolicy,
        &json!({
            "holdoutPercent": 0,
            "delay": { "min": "10ms", "coldStart": "50ms" },
            "ramp": { "startPercent": 100, "every": "1s" },
            "budget": { "retryReservePerSecond": 100, "ratioPercent": 100 },
            "guardrails": {
                "window": "30s", "minRequests": 20, "cooldown": "5s", "trialFor": "5s", "blind": { "after": "10s" },
            },
        }),
    );
}

#[test]
fn cohorts_match_by_header_names() {
    passes(HedgePolicy, &json!({ "cohorts": [{ "name": "a", "match": { "headers": { "X-Team": "a" } } }] }));
    fails(
        HedgePolicy,
        &json!({ "cohorts": [{ "name": "a", "match": { "headers": { "x_team": "a" } } }] }),
        "spec.cohorts[0].match.headers: a header name has 1 to 64 letters, digits and dashes",
    );
}
