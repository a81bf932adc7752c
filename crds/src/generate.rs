//! The four CustomResourceDefinitions as values ready to be written as YAML or JSON.
//!
//! Input: the Rust types. Output: one value per kind, keys in alphabetical order whatever features of
//! serde_json are on, so that the committed files change only when the types do. Beyond what the derive
//! gives: `status` has the default `{"observedGeneration": -1}`, else kstatus calls a fresh object
//! current before the operator has seen it; below `status` there are no other defaults (the operator
//! writes it, the API server shall not invent figures); integral limits are written as integers;
//! descriptions are one line per paragraph.

use kube::CustomResourceExt;
use serde_json::{Map, Value, json};

use crate::{
    Kind,
    v1alpha1::{GatewayFleet, HedgePolicy, PriorityLane, ProviderRoute},
};

/// Path of the schema inside a definition.
pub const SCHEMA_POINTER: &str = "/spec/versions/0/schema/openAPIV3Schema";

/// The definition of one kind.
pub fn crd(kind: Kind) -> Value {
    let mut crd = derived(kind);
    if let Some(schema) = crd.pointer_mut(SCHEMA_POINTER) {
        tidy(schema);
        if let Some(status) = schema.pointer_mut("/properties/status") {
            drop_defaults(status);
            status["default"] = json!({ "observedGeneration": -1 });
        }
    }
    sorted(crd)
}

/// What the derive makes of the types.
fn derived(kind: Kind) -> Value {
    let crd = match kind {
        Kind::ProviderRoute => ProviderRoute::crd(),
        Kind::HedgePolicy => HedgePolicy::crd(),
        Kind::PriorityLane => PriorityLane::crd(),
        Kind::GatewayFleet => GatewayFleet::crd(),
    };
    serde_json::to_value(crd).expect("a definition is plain JSON")
}

/// All definitions with the names of their files, in the order of [`Kind::ALL`].
pub fn files() -> Vec<(String, Value)> {
    Kind::ALL.iter().map(|kind| (file_name(*kind), crd(*kind))).collect()
}

/// Name of the committed file of a kind: `<plural>.hedgerow.dev.yaml`.
pub fn file_name(kind: Kind) -> String {
    format!("{}.{}.yaml", kind.plural(), crate::GROUP)
}

/// Integers as integers, descriptions without line breaks inside a paragraph.
fn tidy(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                match field {
                    Value::String(text) if key == "description" => *text = unwrapped(text),
                    _ => tidy(field),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Number(number) => {
            if let Some(integer) = integral(number) {
                *value = integer.into();
            }
        }
        _ => {}
    }
}

/// The integer that a float stands for; limits up to 2^53 have one.
fn integral(number: &serde_json::Number) -> Option<i64> {
    let float = number.as_f64().filter(|_| number.is_f64())?;
    (float.fract() == 0.0 && float.abs() <= crate::units::MAX_INTEGER as f64).then_some(float as i64)
}

/// Paragraphs of a doc comment, each on one line.
fn unwrapped(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|p| p.split_whitespace().collect::<Vec<_>>().join(" "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

/// Removes `default` from every level of a schema.
fn drop_defaults(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    fields.remove("default");
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(drop_defaults);
    }
    for below in ["items", "additionalProperties"] {
        if let Some(schema) = fields.get_mut(below) {
            drop_defaults(schema);
        }
    }
}

/// The same value with the keys of every object in alphabetical order.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut pairs: Vec<_> = fields.into_iter().collect();
            pairs.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(pairs.into_iter().map(|(key, value)| (key, sorted(value))).collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}
