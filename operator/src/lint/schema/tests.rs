use serde_json::json;

use super::*;

/// The rules that a lane with this spec breaks.
fn rules(spec: &Value) -> Vec<String> {
    let lane = json!({ "metadata": { "name": "a" }, "spec": spec });
    let kind = Kind::PriorityLane;
    faults(kind, &kind.normalize(&lane))
        .into_iter()
        .map(|fault| format!("{} {}", fault.rule, fault.path))
        .collect()
}

#[test]
fn every_schema_compiles() {
    for (kind, validator) in Kind::ALL.iter().zip(VALIDATORS.iter()) {
        assert!(validator.is_ok(), "{kind}: {validator:?}");
    }
}

#[test]
fn what_the_api_server_tolerates_is_tolerated() {
    for spec in [json!({}), json!({ "priority": 7.0 }), json!({ "priority": null }), json!({ "match": null })]
    {
        assert_eq!(rules(&spec), [""; 0], "{spec}");
    }
}

#[test]
fn what_the_api_server_refuses_is_refused_at_the_field() {
    for (spec, rule) in [
        (json!({ "priority": 7.5 }), "type spec.priority"),
        (json!({ "priority": "7" }), "type spec.priority"),
        (json!({ "share": [] }), "type spec.share"),
        (json!({ "share": { "x": 1 } }), "unknown-field spec.share.x"),
        (json!({ "match": { "tenants": ["a", "a"] } }), "duplicate spec.match.tenants[1]"),
        (json!({ "match": { "tenants": [null] } }), "type spec.match.tenants[0]"),
        (json!({ "match": { "operations": ["Chat"] } }), "enum spec.match.operations[0]"),
        (json!({ "queue": { "maxDepthPercent": -1 } }), "minimum spec.queue.maxDepthPercent"),
    ] {
        assert_eq!(rules(&spec), [rule], "{spec}");
    }
}

#[test]
fn a_misspelt_word_is_recognised_and_another_word_is_not() {
    let known = ["budget", "cohorts", "match", "failureDomain"];
    for (word, meant) in [
        ("budjet", Some("budget")),
        ("Cohorts", Some("cohorts")),
        ("matches", Some("match")),
        ("failuredomain", Some("failureDomain")),
        ("zzz", None),
        ("", None),
    ] {
        assert_eq!(nearest(word, known.into_iter()), meant, "{word}");
    }
}
