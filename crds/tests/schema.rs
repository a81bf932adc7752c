//! What every schema must be: described, bounded, without floats, unsigned formats, defaults below list
//! items or values that YAML 1.1 takes for booleans or nulls.

use hedgerow_crds::{Kind, generate};
use serde_json::Value;

/// Words that a YAML 1.1 reader (kubectl) takes for a boolean or null when they stand unquoted.
const YAML_1_1_TRAPS: [&str; 13] =
    ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "", ".inf", ".nan"];

/// 2^53: above, readers that use doubles lose digits.
const MAX_INTEGER: i64 = 9_007_199_254_740_992;

/// Calls `check` with path and schema of every level below spec and status.
fn every_level(check: &mut dyn FnMut(&str, &Value)) {
    for kind in Kind::ALL {
        let crd = generate::crd(kind);
        let schema = crd.pointer(generate::SCHEMA_POINTER).expect("every definition has a schema");
        for part in ["spec", "status"] {
            walk(&format!("{kind}.{part}"), &schema["properties"][part], check);
        }
    }
}

fn walk(path: &str, schema: &Value, check: &mut dyn FnMut(&str, &Value)) {
    check(path, schema);
    for (name, below) in schema["properties"].as_object().into_iter().flatten() {
        walk(&format!("{path}.{name}"), below, check);
    }
    if schema["items"].is_object() {
        walk(&format!("{path}[]"), &schema["items"], check);
    }
    if schema["additionalProperties"].is_object() {
        walk(&format!("{path}{{}}"), &schema["additionalProperties"], check);
    }
}

/// Fails with the list of all offending levels.
fn assert_none(offending: &[String], what: &str) {
    assert!(offending.is_empty(), "{what}:\n{}", offending.join("\n"));
}

#[test]
fn every_field_has_a_description() {
    let mut missing = Vec::new();
    every_level(&mut |path, schema| {
        let element = path.ends_with(']') || path.ends_with('}');
        if !element && schema["description"].as_str().is_none_or(|text| text.len() < 5) {
            missing.push(path.to_owned());
        }
    });
    assert_none(&missing, "kubectl explain would show nothing for");
}

#[test]
fn every_optional_field_of_a_spec_names_its_default() {
    let mut missing = Vec::new();
    every_level(&mut |path, schema| {
        if !path.contains(".spec") {
            return;
        }
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let text = field["description"].as_str().unwrap_or_default();
            let object = field["properties"].is_object();
            if !required.contains(&name.as_str()) && !object && !text.contains("Default:") {
                missing.push(format!("{path}.{name}"));
            }
        }
    });
    assert_none(&missing, "no default in the description of");
}

#[test]
fn an_optional_choice_keeps_the_description_of_its_field() {
    let crd = generate::crd(Kind::HedgePolicy);
    let schema = crd.pointer(generate::SCHEMA_POINTER).expect("a schema");
    let mode = &schema["properties"]["spec"]["properties"]["cohorts"]["items"]["properties"]["mode"];
    assert!(mode["description"].as_str().expect("text").contains("Default: the policy's mode"), "{mode}");
}

#[test]
fn every_string_list_and_map_is_bounded() {
    let mut unbounded = Vec::new();
    every_level(&mut |path, schema| {
        let bounded = match schema["type"].as_str() {
            Some("string") => {
                schema["maxLength"].is_i64() || schema["enum"].is_array() || schema["format"] == "date-time"
            }
            Some("array") => schema["maxItems"].is_i64(),
            Some("object") if schema["additionalProperties"].is_object() => schema["maxProperties"].is_i64(),
            Some("object" | "integer" | "boolean") => true,
            other => panic!("{path}: unexpected type {other:?}"),
        };
        if !bounded {
            unbounded.push(path.to_owned());
        }
    });
    assert_none(&unbounded, "no bound on");
}

#[test]
fn integers_of_a_spec_have_limits_and_none_exceeds_2_to_the_53() {
    let mut wrong = Vec::new();
    every_level(&mut |path, schema| {
        if schema["type"] == "integer" && path.contains(".spec") && !path.ends_with('}') {
            let limits = (schema["minimum"].as_i64(), schema["maximum"].as_i64());
            if !matches!(limits, (Some(low), Some(high)) if low <= high) {
                wrong.push(format!("{path}: {limits:?}"));
            }
        }
        for limit in ["minimum", "maximum", "maxLength", "maxItems", "maxProperties"] {
            let value = &schema[limit];
            if !value.is_null() && value.as_i64().is_none_or(|limit| limit.abs() > MAX_INTEGER) {
                wrong.push(format!("{path}: {limit} {value}"));
            }
        }
    });
    assert_none(&wrong, "limits of integers");
}

#[test]
fn no_number_is_a_float_or_unsigned() {
    every_level(&mut |path, schema| {
        assert_ne!(schema["type"], "number", "{path}");
        let format = schema["format"].as_str().unwrap_or_default();
        assert!(["", "int32", "int64", "date-time"].contains(&format), "{path}: format {format}");
    });
}

#[test]
fn no_default_stands_below_the_items_of_a_list_or_in_a_status() {
    let mut found = Vec::new();
    every_level(&mut |path, schema| {
        let status = path.contains(".status") && !path.ends_with(".status");
        if (path.contains("[]") || status) && !schema["default"].is_null() {
            found.push(path.to_owned());
        }
    });
    assert_none(&found, "defaults");
}

#[test]
fn status_starts_as_not_seen() {
    for kind in Kind::ALL {
        let status = &kind.schema()["properties"]["status"];
        assert_eq!(status["default"], serde_json::json!({ "observedGeneration": -1 }), "{kind}");
    }
}

#[test]
fn no_choice_or_default_is_a_yaml_1_1_boolean_or_null() {
    every_level(&mut |path, schema| {
        let choices = schema["enum"].as_array().into_iter().flatten();
        for word in choices.chain([&schema["default"]]).filter_map(Value::as_str) {
            assert!(!YAML_1_1_TRAPS.contains(&word.to_lowercase().as_str()), "{path}: {word}");
        }
    });
}

#[test]
fn every_default_of_a_field_repeats_in_the_default_of_its_parent() {
    every_level(&mut |path, schema| {
        if !path.contains(".spec") || !schema["default"].is_object() {
            return;
        }
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            assert_eq!(schema["default"].get(name), field.get("default"), "{path}.{name}");
        }
    });
}

#[test]
fn lists_of_named_things_are_maps_by_name() {
    every_level(&mut |path, schema| {
        if !schema["items"]["properties"]["name"].is_object() || path.ends_with("topTenants") {
            return;
        }
        assert_eq!(schema["x-kubernetes-list-type"], "map", "{path}");
        assert_eq!(schema["x-kubernetes-list-map-keys"], serde_json::json!(["name"]), "{path}");
    });
}

#[test]
fn a_rule_has_a_message_and_no_line_breaks() {
    every_level(&mut |path, schema| {
        for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
            let message = rule["message"].as_str().or(rule["messageExpression"].as_str());
            assert!(message.is_some_and(|text| !text.is_empty() && !text.contains('\n')), "{path}: {rule}");
        }
    });
}

#[test]
fn kubectl_finds_every_kind_by_its_short_name_and_category() {
    for kind in Kind::ALL {
        let names = &generate::crd(kind)["spec"]["names"];
        assert_eq!(names["plural"], kind.plural());
        assert_eq!(names["shortNames"], serde_json::json!([kind.short_name()]));
        assert_eq!(names["categories"], serde_json::json!(["hedgerow"]));
        assert_eq!(kind.as_str().parse(), Ok(kind));
    }
}
