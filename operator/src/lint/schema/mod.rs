//! What the API server's schema check would say, offline, against our own CRDs.
//!
//! Input: a document as the API server would store it ([`Kind::normalize`]). Output: problems with the path of the
//! field. JSON Schema does types, bounds, enums and required fields; what CRDs add to it is done here: unknown fields
//! ([`unknown`]), the uniqueness of list-maps and sets ([`lists`]), and object metadata ([`metadata`]), which no CRD
//! describes.
//!
//! Invariant: the verdict (valid or not) equals the API server's with strict field validation, which `kubectl` asks for.

mod lists;
mod metadata;
#[cfg(test)]
mod tests;
mod unknown;
mod wording;

use std::sync::LazyLock;

use hedgerow_crds::Kind;
use jsonschema::Validator;
use serde_json::{Value, json};

use super::yaml::Path;

pub(crate) use unknown::nearest;

/// A problem before its place is known.
#[derive(Debug)]
pub(crate) struct Fault {
    /// Field.
    pub(crate) path: Path,
    /// Rule after `schema/`.
    pub(crate) rule: &'static str,
    /// What is wrong and what to change.
    pub(crate) message: String,
}

/// Everything that is wrong with a document of a kind.
pub(crate) fn faults(kind: Kind, document: &Value) -> Vec<Fault> {
    let mut faults = metadata::check(document);
    unknown::check(kind.schema(), document, &mut faults);
    lists::check(kind.schema(), document, &Path::default(), &mut faults);
    match &VALIDATORS[kind as usize] {
        Ok(validator) => {
            faults
                .extend(validator.iter_errors(document).filter_map(|error| wording::fault(&error, document)));
        }
        Err(message) => faults.push(Fault {
            path: Path::default(),
            rule: "broken",
            message: format!("the schema of this version cannot be used: {message}"),
        }),
    }
    faults
}

/// Validators by kind; compiling them takes some milliseconds. An error means that our own CRD is no schema.
static VALIDATORS: LazyLock<Vec<Result<Validator, String>>> = LazyLock::new(|| {
    Kind::ALL
        .iter()
        .map(|kind| jsonschema::validator_for(&of_spec(*kind)).map_err(|error| error.to_string()))
        .collect()
});

/// The schema without metadata, which has its own check, and status, which is the operator's business.
fn of_spec(kind: Kind) -> Value {
    let schema = kind.schema();
    let mut required = vec!["metadata"];
    if schema["required"].as_array().is_some_and(|fields| fields.iter().any(|field| field == "spec")) {
        required.push("spec");
    }
    json!({ "type": "object", "properties": { "spec": schema["properties"]["spec"] }, "required": required })
}

/// The schema of one member: a known property, or what `additionalProperties` says.
fn member_schema<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    schema
        .get("properties")
        .and_then(|properties| properties.get(name))
        .or_else(|| schema.get("additionalProperties").filter(|rest| rest.is_object()))
}

/// Whether the API server keeps members that the schema does not name.
fn keeps_unknown(schema: &Value) -> bool {
    schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true))
        || schema.get("additionalProperties") == Some(&Value::Bool(true))
}
