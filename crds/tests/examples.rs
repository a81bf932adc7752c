//! Every example parses, passes the schema and the rules, and reads into the types as the API server
//! would have stored it.

use std::{fs, path::Path};

use hedgerow_crds::{
    API_VERSION, Kind,
    v1alpha1::{GatewayFleet, HedgePolicy, PriorityLane, ProviderRoute},
};
use serde_json::{Value, json};

/// Every example with the name of its file.
fn examples() -> Vec<(String, Value)> {
    let mut found = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("examples"), &mut found);
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

fn collect(folder: &Path, found: &mut Vec<(String, Value)>) {
    for entry in fs::read_dir(folder).expect("the folder exists") {
        let path = entry.expect("readable").path();
        if path.is_dir() && path.ends_with("gitops") {
            // Objects of GitOps engines, not ours.
            continue;
        }
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|ext| ext == "yaml") {
            let text = fs::read_to_string(&path).expect("the file is text");
            let name = path.display().to_string();
            let object = serde_saphyr::from_str(&text).expect(&name);
            found.push((name, object));
        }
    }
}

fn kind_of(object: &Value) -> Kind {
    object["kind"].as_str().expect("a kind").parse().expect("one of ours")
}

/// The object as the typed structs write it again.
fn round_trip(kind: Kind, object: Value) -> Value {
    fn typed<T: serde::de::DeserializeOwned + serde::Serialize>(object: Value) -> Value {
        serde_json::to_value(serde_json::from_value::<T>(object).expect("reads")).expect("writes")
    }
    match kind {
        Kind::ProviderRoute => typed::<ProviderRoute>(object),
        Kind::HedgePolicy => typed::<HedgePolicy>(object),
        Kind::PriorityLane => typed::<PriorityLane>(object),
        Kind::GatewayFleet => typed::<GatewayFleet>(object),
    }
}

#[test]
fn every_example_passes_schema_and_rules() {
    let all = examples();
    assert!(all.len() >= 12, "examples are missing: {}", all.len());
    for (name, object) in all {
        assert_eq!(object["apiVersion"], API_VERSION, "{name}");
        let kind = kind_of(&object);
        let validator = jsonschema::validator_for(&kind.strict_schema()).expect("the schema is valid");
        let errors: Vec<_> = validator.iter_errors(&kind.normalize(&object)).map(|e| e.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new(), "{name}");
        assert_eq!(kind.violations(&object, None), [], "{name}");
    }
}

#[test]
fn reading_an_example_gives_what_the_api_server_would_store() {
    for (name, object) in examples() {
        let kind = kind_of(&object);
        let mut stored = kind.normalize(&object);
        stored.as_object_mut().expect("an object").remove("status");
        assert_eq!(round_trip(kind, object), stored, "{name}");
    }
}

#[test]
fn the_types_have_the_defaults_of_the_schema() {
    for (kind, spec) in [
        (
            Kind::HedgePolicy,
            json!({ "cohorts": [{ "name": "a", "match": {}, "objective": { "firstToken": "1s" } }] }),
        ),
        (
            Kind::HedgePolicy,
            json!({ "cohorts": [{ "name": "a" }], "delay": {}, "guardrails": { "blind": {} }, "action": {} }),
        ),
        (Kind::PriorityLane, json!({})),
        (
            Kind::PriorityLane,
            json!({ "concurrency": {}, "share": {}, "tenants": {}, "queue": {}, "retryAfter": {} }),
        ),
        (Kind::GatewayFleet, json!({})),
        (
            Kind::GatewayFleet,
            json!({ "resources": { "limits": {} }, "defaults": { "retry": {} }, "egress": {} }),
        ),
    ] {
        let object = json!({ "apiVersion": API_VERSION, "kind": kind.as_str(), "metadata": { "name": "x" }, "spec": spec });
        let mut stored = kind.normalize(&object);
        stored.as_object_mut().expect("an object").remove("status");
        assert_eq!(round_trip(kind, object), stored, "{kind} {spec}");
    }
}

#[test]
fn an_unknown_field_is_an_error_of_the_schema_and_of_nothing_else() {
    let object = json!({
        "apiVersion": API_VERSION, "kind": "HedgePolicy", "metadata": { "name": "x", "labels": { "a": "b" } },
        "spec": { "cohorts": [{ "name": "a" }], "budjet": {} },
    });
    let validator =
        jsonschema::validator_for(&Kind::HedgePolicy.strict_schema()).expect("the schema is valid");
    let errors: Vec<_> =
        validator.iter_errors(&Kind::HedgePolicy.normalize(&object)).map(|e| e.to_string()).collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].contains("budjet"), "{errors:?}");
    round_trip(Kind::HedgePolicy, object);
}

#[test]
fn an_integral_float_is_an_integer() {
    let object = json!({
        "apiVersion": API_VERSION, "kind": "PriorityLane", "metadata": { "name": "x" }, "spec": { "priority": 5.0 },
    });
    assert_eq!(Kind::PriorityLane.normalize(&object)["spec"]["priority"], json!(5));
}
