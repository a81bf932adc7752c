//! Lists whose items must differ: list-maps by their keys, sets by value.

use std::collections::HashMap;

use serde_json::Value;

use super::{Fault, member_schema};
use crate::lint::yaml::Path;

/// Finds repeated items everywhere below `path`.
pub(super) fn check(schema: &Value, value: &Value, path: &Path, faults: &mut Vec<Fault>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if let Some(of_member) = member_schema(schema, name) {
                    check(of_member, member, &path.key(name), faults);
                }
            }
        }
        Value::Array(items) => {
            repeated(schema, items, path, faults);
            if let Some(of_items) = schema.get("items") {
                for (index, item) in items.iter().enumerate() {
                    check(of_items, item, &path.index(index), faults);
                }
            }
        }
        _ => {}
    }
}

fn repeated(schema: &Value, items: &[Value], path: &Path, faults: &mut Vec<Fault>) {
    let keys: Option<Vec<&str>> = match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("map") => schema
            .get("x-kubernetes-list-map-keys")
            .and_then(Value::as_array)
            .map(|keys| keys.iter().filter_map(Value::as_str).collect()),
        Some("set") => None,
        _ => return,
    };
    let mut first = HashMap::new();
    for (index, item) in items.iter().enumerate() {
        let identity = match &keys {
            Some(keys) => keys.iter().map(|key| shown(item.get(key))).collect::<Vec<_>>().join("/"),
            None => shown(Some(item)),
        };
        if let Some(earlier) = first.insert(identity.clone(), index) {
            faults.push(Fault {
                path: path.index(index),
                rule: "duplicate",
                message: format!(
                    "{identity} is in this list already, at [{earlier}]: rename or remove one of the two"
                ),
            });
        }
    }
}

fn shown(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}
