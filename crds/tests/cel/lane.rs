//! The rules of PriorityLane.

use hedgerow_crds::Kind::PriorityLane;
use serde_json::json;

use super::{fails, passes};

#[test]
fn the_initial_limit_lies_between_min_and_max() {
    passes(PriorityLane, &json!({ "concurrency": { "min": 1, "initial": 1, "max": 1 } }));
    for (min, initial, max) in [(21, 20, 1000), (4, 20, 19)] {
        fails(
            PriorityLane,
            &json!({ "concurrency": { "min": min, "initial": initial, "max": max } }),
            &format!(
                "spec.concurrency.initial: initial ({initial}) must lie between min ({min}) and max ({max}): change \
                 initial or set min and max too"
            ),
        );
    }
}

#[test]
fn a_guarantee_is_at_most_the_ceiling() {
    passes(PriorityLane, &json!({ "share": { "guaranteedPercent": 40, "ceilingPercent": 40 } }));
    fails(
        PriorityLane,
        &json!({ "share": { "guaranteedPercent": 41, "ceilingPercent": 40 } }),
        "spec.share.guaranteedPercent: guaranteedPercent (41) must be at most ceilingPercent (40): lower \
         guaranteedPercent or raise ceilingPercent",
    );
}

#[test]
fn a_match_matches_something() {
    passes(PriorityLane, &json!({ "match": { "operations": ["Messages"] } }));
    for empty in [json!({}), json!({ "headers": {}, "tenants": [], "models": [] })] {
        fails(
            PriorityLane,
            &json!({ "match": empty }),
            "spec.match: match is empty: name headers, tenants, models or operations, or leave match out for the \
             fallback lane",
        );
    }
    fails(
        PriorityLane,
        &json!({ "match": { "headers": { "x lane": "a" } } }),
        "spec.match.headers: a header name has 1 to 64 letters, digits and dashes",
    );
}

#[test]
fn weights_are_from_1_to_1000() {
    passes(PriorityLane, &json!({ "tenants": { "weights": { "a": 1, "b": 1000 } } }));
    for (tenant, weight) in [("a".to_owned(), 0), ("a".to_owned(), 1001), ("a".repeat(64), 1)] {
        fails(
            PriorityLane,
            &json!({ "tenants": { "weights": { tenant: weight } } }),
            "spec.tenants.weights: a weight is a number from 1 to 1000, for a tenant of at most 63 characters",
        );
    }
}

#[test]
fn waits_have_bounds() {
    passes(PriorityLane, &json!({ "queue": { "maxWait": "0s" }, "retryAfter": { "min": "60s" } }));
    fails(
        PriorityLane,
        &json!({ "queue": { "maxWait": "61s" } }),
        "spec.queue.maxWait: maxWait (61s) must lie between 0s and 60s",
    );
    fails(
        PriorityLane,
        &json!({ "retryAfter": { "min": "500ms" } }),
        "spec.retryAfter.min: min (500ms) must lie between 1s and 60s",
    );
    fails(
        PriorityLane,
        &json!({ "retryAfter": { "max": "2m" } }),
        "spec.retryAfter.max: max (2m) must lie between 1s and 60s",
    );
    fails(
        PriorityLane,
        &json!({ "retryAfter": { "min": "30s", "max": "20s" } }),
        "spec.retryAfter.min: min (30s) must be at most max (20s): lower min or raise max",
    );
    fails(
        PriorityLane,
        &json!({ "concurrency": { "targetFirstToken": "0s" } }),
        "spec.concurrency.targetFirstToken: targetFirstToken (0s) must lie between 1ms and 1h",
    );
}
