//! Every CEL rule: the object that passes and the one that doesn't, with path and message as kubectl
//! shows them.

mod endpoint;
mod fleet;
mod lane;
mod policy;
mod route;

use hedgerow_crds::{API_VERSION, Kind};
use serde_json::{Map, Value, json};

/// A valid object of the kind.
fn valid(kind: Kind) -> Value {
    let spec = match kind {
        Kind::ProviderRoute => json!({
            "api": "OpenAI",
            "endpoint": "https://api.example.com",
            "auth": { "secretRef": { "key": "k" } },
            "failureDomain": { "provider": "p", "region": "r" },
            "models": [{ "name": "m" }],
        }),
        Kind::HedgePolicy => json!({ "cohorts": [{ "name": "a" }] }),
        Kind::PriorityLane | Kind::GatewayFleet => json!({}),
    };
    json!({ "apiVersion": API_VERSION, "kind": kind.as_str(), "metadata": { "name": "x" }, "spec": spec })
}

/// `base` with the fields of `patch` laid over it, objects merged.
fn merge(base: &mut Value, patch: &Value) {
    match (base, patch) {
        (Value::Object(base), Value::Object(patch)) => {
            for (key, value) in patch {
                merge(base.entry(key).or_insert(Value::Object(Map::new())), value);
            }
        }
        (base, patch) => *base = patch.clone(),
    }
}

/// What the API server would say about a valid object with this patch of its spec.
fn verdict(kind: Kind, spec: &Value) -> Vec<String> {
    let mut object = valid(kind);
    merge(&mut object["spec"], spec);
    kind.violations(&object, None).iter().map(ToString::to_string).collect()
}

/// The patch is accepted.
#[track_caller]
fn passes(kind: Kind, spec: &Value) {
    assert_eq!(verdict(kind, spec), Vec::<String>::new(), "{spec}");
}

/// The patch breaks exactly this rule.
#[track_caller]
fn fails(kind: Kind, spec: &Value, message: &str) {
    assert_eq!(verdict(kind, spec), [message], "{spec}");
}

#[test]
fn the_smallest_object_of_each_kind_is_valid() {
    for kind in Kind::ALL {
        passes(kind, &json!({}));
    }
}

#[test]
fn the_fleet_of_an_object_is_immutable() {
    for kind in [Kind::ProviderRoute, Kind::HedgePolicy, Kind::PriorityLane] {
        let (old, mut new) = (valid(kind), valid(kind));
        new["spec"]["gateway"] = json!("default");
        assert_eq!(kind.violations(&new, Some(&old)), [], "naming the default changes nothing");
        new["spec"]["gateway"] = json!("other");
        let told: Vec<_> = kind.violations(&new, Some(&old)).iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "spec.gateway: gateway is immutable: create a new object for the other fleet, then delete this one"
            ]
        );
    }
}

#[test]
fn a_null_is_the_same_as_nothing() {
    passes(
        Kind::HedgePolicy,
        &json!({ "delay": { "fixed": null, "min": null }, "action": null, "guardrails": null }),
    );
}
