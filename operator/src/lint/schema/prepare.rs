//! OpenAPI with Kubernetes extensions -> JSON Schema, and the pruning of nulls.

use serde_json::{Map, Value, json};

/// The schema in the words of JSON Schema: `nullable` becomes a type, int-or-string two of them.
pub(super) fn prepare(schema: &Value) -> Value {
    let Value::Object(object) = schema else { return schema.clone() };
    let mut out = Map::new();
    for (key, value) in object {
        let prepared = match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                properties.iter().map(|(name, schema)| (name.clone(), prepare(schema))).collect()
            }
            ("items" | "additionalProperties" | "not", schema) => prepare(schema),
            ("anyOf" | "allOf" | "oneOf", Value::Array(schemas)) => schemas.iter().map(prepare).collect(),
            (key, _) if key.starts_with("x-kubernetes-") || key == "format" || key == "nullable" => continue,
            (_, other) => other.clone(),
        };
        out.insert(key.clone(), prepared);
    }
    if flag(object, "x-kubernetes-int-or-string") {
        out.insert("type".to_owned(), json!(["integer", "string"]));
    }
    if flag(object, "nullable") {
        if let Some(Value::String(one)) = out.get("type").cloned() {
            out.insert("type".to_owned(), json!([one, "null"]));
        }
        if let Some(Value::Array(values)) = out.get_mut("enum").filter(|values| !has_null(values)) {
            values.push(Value::Null);
        }
    }
    Value::Object(out)
}

fn has_null(values: &Value) -> bool {
    values.as_array().is_some_and(|values| values.contains(&Value::Null))
}

fn flag(schema: &Map<String, Value>, name: &str) -> bool {
    schema.get(name) == Some(&Value::Bool(true))
}

/// Drops what the API server drops before defaulting: null members whose schema is not nullable.
pub(crate) fn prune_nulls(schema: &Value, value: Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(
            members
                .into_iter()
                .filter_map(|(name, member)| match member_schema(schema, &name) {
                    Some(of_member) if member.is_null() => {
                        of_member.as_object().is_some_and(|o| flag(o, "nullable")).then_some((name, member))
                    }
                    Some(of_member) => Some((name, prune_nulls(of_member, member))),
                    None => Some((name, member)),
                })
                .collect(),
        ),
        Value::Array(items) => match schema.get("items") {
            Some(of_items) => items.into_iter().map(|item| prune_nulls(of_items, item)).collect(),
            None => Value::Array(items),
        },
        other => other,
    }
}

/// The schema of one member: a known property, or what `additionalProperties` says.
pub(super) fn member_schema<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    schema
        .get("properties")
        .and_then(|properties| properties.get(name))
        .or_else(|| schema.get("additionalProperties").filter(|rest| rest.is_object()))
}

/// Whether the API server keeps members that the schema does not name.
pub(super) fn keeps_unknown(schema: &Value) -> bool {
    schema.as_object().is_some_and(|o| flag(o, "x-kubernetes-preserve-unknown-fields"))
        || schema.get("additionalProperties").is_some_and(|rest| *rest == Value::Bool(true))
}
