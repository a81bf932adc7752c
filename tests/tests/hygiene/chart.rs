//! The chart's copies of what the types say: CRDs as templates, and the schema of `fleetDefaults`.
//!
//! Inputs: the generated definitions and the committed `crds/*.yaml`. Outputs, with `UPDATE_GOLDEN=1 cargo test -p
//! hedgerow-tests --test hygiene`: `charts/hedgerow/templates/crds/*.yaml` and the end of `values.schema.json`. Without it
//! the committed files have to be equal to them: a field that the chart does not know would be refused or never installed.

use std::fs;

use hedgerow_crds::{Kind, generate};
use serde_json::{Map, Value};

use crate::tree;

/// Folder of the CRDs as templates.
const TEMPLATES: &str = "charts/hedgerow/templates/crds";
/// The values' schema: written by hand down to this line, generated from it on.
const SCHEMA: &str = "charts/hedgerow/values.schema.json";
const GENERATED_FROM: &str = "    \"fleetSpec\": ";

#[test]
fn crds_of_the_chart_are_those_of_the_types() {
    let mut expected = Vec::new();
    for (name, crd) in generate::files() {
        let plain = tree::text(&format!("crds/{name}"));
        let read: Value = serde_saphyr::from_str(&plain).unwrap();
        assert_eq!(read, crd, "crds/{name} is stale");
        let path = format!("{TEMPLATES}/{name}");
        equal(&path, &template(&plain));
        expected.push(path);
    }
    let found: Vec<String> =
        tree::files(&[".yaml"]).into_iter().filter(|path| path.starts_with(TEMPLATES)).collect();
    expected.sort();
    assert_eq!(found, expected, "one template for each kind");
}

#[test]
fn fleet_defaults_of_the_chart_know_the_fields_of_a_fleet() {
    let schema = tree::text(SCHEMA);
    let (by_hand, _) =
        schema.split_once(GENERATED_FROM).expect("the schema ends with the definition of fleetSpec");
    let fleet = Kind::GatewayFleet.schema().pointer("/properties/spec").expect("a fleet has a spec");
    let text = serde_json::to_string_pretty(&plain(fleet)).unwrap();
    let indented = text.replace('\n', "\n    ");
    equal(SCHEMA, &format!("{by_hand}{GENERATED_FROM}{indented}\n  }}\n}}\n"));
}

/// A definition behind `crds.enabled`, with the chart's labels and what keeps it on uninstall.
fn template(crd: &str) -> String {
    assert!(!crd.contains("{{"), "Helm would read it as a template");
    let (head, spec) = crd.split_once("\nspec:\n").expect("a definition has a spec");
    format!(
        "{{{{- if .Values.crds.enabled }}}}\n{head}\n  {{{{- include \"hedgerow.crd\" . | nindent 2 }}}}\nspec:\n{spec}{{{{- end }}}}\n"
    )
}

/// The part of a structural schema that JSON Schema knows: no defaults (a default of the chart would hide that of the
/// API), no rules, unknown fields refused.
fn plain(schema: &Value) -> Value {
    let Value::Object(fields) = schema else { return schema.clone() };
    let mut kept = Map::new();
    for (key, value) in fields {
        match key.as_str() {
            "properties" => {
                let below = value.as_object().expect("properties are an object");
                let below = below.iter().map(|(name, schema)| (name.clone(), plain(schema))).collect();
                kept.insert(key.clone(), Value::Object(below));
            }
            "items" | "additionalProperties" => {
                kept.insert(key.clone(), plain(value));
            }
            "default" | "nullable" | "format" => {}
            extension if extension.starts_with("x-kubernetes-") => {}
            _ => {
                kept.insert(key.clone(), value.clone());
            }
        }
    }
    let open = fields.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
    if kept.contains_key("properties") && !open {
        kept.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    Value::Object(kept)
}

/// Compares with the committed file, or rewrites it.
fn equal(path: &str, text: &str) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(tree::root().join(path), text).unwrap();
    }
    let committed = fs::read_to_string(tree::root().join(path)).unwrap_or_default();
    assert!(
        committed == text,
        "{path} is stale: run UPDATE_GOLDEN=1 cargo test -p hedgerow-tests --test hygiene"
    );
}
