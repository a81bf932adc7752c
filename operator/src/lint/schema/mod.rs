//! What the API server's schema check would say, offline, against our own CRDs.
//!
//! Input: a document as JSON. Output: problems with the path of the field. JSON Schema does types, bounds, enums and
//! required fields; what CRDs add to JSON Schema is done here: `nullable` and the pruning of nulls
//! ([`prepare`]), unknown fields ([`unknown`]), the uniqueness of list-maps and sets ([`lists`]), and object metadata
//! ([`metadata`]), which no CRD describes.
//!
//! Invariant: the verdict (valid or not) equals the API server's with strict field validation, which `kubectl` asks for.

mod lists;
mod metadata;
mod prepare;
#[cfg(test)]
mod tests;
mod unknown;
mod wording;

use std::sync::LazyLock;

use hedgerow_crds::Kind;
use jsonschema::Validator;
use serde_json::Value;

use super::yaml::Path;

pub(crate) use prepare::prune_nulls;
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

/// The schema of one kind.
#[derive(Debug)]
pub(crate) struct Schema {
    /// As the CRD has it.
    raw: Value,
    /// The part that JSON Schema understands, compiled; an error where our own CRD is not a schema.
    compiled: Result<Validator, String>,
}

impl Schema {
    fn of(kind: Kind) -> Self {
        let crd = kind.crd();
        let mut raw = crd.pointer("/spec/versions/0/schema/openAPIV3Schema").cloned().unwrap_or_default();
        if let Some(Value::Object(properties)) = raw.get_mut("properties") {
            // Metadata has its own check, and what stands in status is the operator's business.
            properties.retain(|name, _| name == "spec");
        }
        let compiled = jsonschema::validator_for(&prepare::prepare(&raw)).map_err(|error| error.to_string());
        Self { raw, compiled }
    }

    /// Everything that is wrong with a document of this kind.
    pub(crate) fn faults(&self, document: &Value) -> Vec<Fault> {
        let mut faults = metadata::check(document);
        unknown::check(&self.raw, document, &mut faults);
        lists::check(&self.raw, document, &Path::default(), &mut faults);
        match &self.compiled {
            Ok(validator) => {
                faults.extend(validator.iter_errors(document).flat_map(|error| wording::faults(&error, document)));
            }
            Err(message) => faults.push(Fault {
                path: Path::default(),
                rule: "broken",
                message: format!("the schema of this version cannot be used: {message}"),
            }),
        }
        faults
    }

    /// The document as the API server would store it, as far as nulls are concerned.
    pub(crate) fn pruned(&self, document: Value) -> Value {
        prune_nulls(&self.raw, document)
    }
}

/// The schema of a kind; compiled once.
pub(crate) fn of(kind: Kind) -> &'static Schema {
    static ALL: LazyLock<Vec<(Kind, Schema)>> =
        LazyLock::new(|| Kind::ALL.iter().map(|kind| (*kind, Schema::of(*kind))).collect());
    let position = ALL.iter().position(|(known, _)| *known == kind).unwrap_or(0);
    &ALL[position].1
}
