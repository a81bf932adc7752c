//! The kinds as values: names, schemas, and the API server's verdict on a raw object.
//!
//! Input: an object as JSON. Output: what the API server would store ([`Kind::normalize`]) and which CEL
//! rules it breaks ([`Kind::violations`]). Types, bounds, unknown fields and duplicate keys are the
//! business of a schema validator with [`Kind::strict_schema`]; run it first: rules on values of the
//! wrong type can't be evaluated, and the API server doesn't try.

use std::{fmt, str::FromStr, sync::LazyLock};

use kube::core::cel::{CompiledSchema, apply_defaults, compile_schema, validate_compiled};
use serde_json::{Value, json};
use thiserror::Error;

use crate::generate;

/// One of the four kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// One upstream.
    ProviderRoute,
    /// Which requests may be hedged.
    HedgePolicy,
    /// Who waits, who is shed.
    PriorityLane,
    /// How the pods look.
    GatewayFleet,
}

/// A kind that this group does not have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown kind {0:?}: use ProviderRoute, HedgePolicy, PriorityLane or GatewayFleet")]
pub struct UnknownKind(pub String);

/// A CEL rule that an object breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule as it stands in the schema.
    pub rule: String,
    /// Field, such as `spec.delay.coldStart`; empty for the object as a whole.
    pub path: String,
    /// What is wrong and what to change.
    pub message: String,
    /// Machine-readable reason, such as `FieldValueInvalid`.
    pub reason: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

/// Schemas and their compiled rules, by kind; generating them takes some milliseconds.
static SCHEMAS: LazyLock<Vec<(Value, CompiledSchema)>> = LazyLock::new(|| {
    let schema = |kind: &Kind| {
        generate::crd(*kind)
            .pointer(generate::SCHEMA_POINTER)
            .cloned()
            .expect("every definition has a schema")
    };
    Kind::ALL
        .iter()
        .map(schema)
        .map(|schema| {
            let compiled = compile_schema(&schema);
            (schema, compiled)
        })
        .collect()
});

impl Kind {
    /// All kinds, in the order of the documentation.
    pub const ALL: [Self; 4] =
        [Self::ProviderRoute, Self::HedgePolicy, Self::PriorityLane, Self::GatewayFleet];

    /// The kind as it stands in an object.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ProviderRoute => "ProviderRoute",
            Self::HedgePolicy => "HedgePolicy",
            Self::PriorityLane => "PriorityLane",
            Self::GatewayFleet => "GatewayFleet",
        }
    }

    /// The plural, as in the API's paths.
    pub const fn plural(self) -> &'static str {
        match self {
            Self::ProviderRoute => "providerroutes",
            Self::HedgePolicy => "hedgepolicies",
            Self::PriorityLane => "prioritylanes",
            Self::GatewayFleet => "gatewayfleets",
        }
    }

    /// The short name for kubectl.
    pub const fn short_name(self) -> &'static str {
        match self {
            Self::ProviderRoute => "proute",
            Self::HedgePolicy => "hp",
            Self::PriorityLane => "pl",
            Self::GatewayFleet => "gf",
        }
    }

    /// The structural schema as the API server has it.
    pub fn schema(self) -> &'static Value {
        &SCHEMAS[self as usize].0
    }

    /// The schema for a JSON-schema validator: unknown fields are errors, and `apiVersion`, `kind` and
    /// `metadata` are known. Validate the output of [`Kind::normalize`], where OpenAPI's `nullable` no
    /// longer matters.
    pub fn strict_schema(self) -> Value {
        let mut schema = self.schema().clone();
        schema["properties"]["apiVersion"] = json!({ "type": "string", "enum": [crate::API_VERSION] });
        schema["properties"]["kind"] = json!({ "type": "string", "enum": [self.as_str()] });
        let metadata = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        schema["properties"]["metadata"] = metadata;
        close(&mut schema);
        schema
    }

    /// The object as the API server stores it: nulls dropped where they mean absence, `5.0` as `5` where
    /// the schema says integer, constant defaults filled in.
    pub fn normalize(self, object: &Value) -> Value {
        apply_defaults(self.schema(), &cleaned(self.schema(), object))
    }

    /// The CEL rules that `object` breaks, after [`Kind::normalize`]. With `old`, transition rules too.
    pub fn violations(self, object: &Value, old: Option<&Value>) -> Vec<Violation> {
        let (object, old) = (self.normalize(object), old.map(|old| self.normalize(old)));
        let Err(errors) = validate_compiled(&SCHEMAS[self as usize].1, &object, old.as_ref()) else {
            return Vec::new();
        };
        errors
            .into_iter()
            .map(|error| Violation {
                rule: error.rule,
                path: error.field_path,
                message: error.message,
                reason: error.reason.unwrap_or_else(|| "FieldValueInvalid".to_owned()),
            })
            .collect()
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, UnknownKind> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| UnknownKind(text.to_owned()))
    }
}

/// Whether a null in this field means the same as its absence.
fn null_is_absence(schema: &Value) -> bool {
    schema["nullable"] == true || schema.get("default").is_some()
}

/// The value without meaningless nulls, and with integers where the schema has them.
fn cleaned(schema: &Value, value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter_map(|(key, field)| {
                let below = schema["properties"].get(key).unwrap_or(&schema["additionalProperties"]);
                let dropped = field.is_null() && null_is_absence(below);
                (!dropped).then(|| (key.clone(), cleaned(below, field)))
            })
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(|item| cleaned(&schema["items"], item)).collect(),
        Value::Number(number) if schema["type"] == "integer" && number.is_f64() => match number.as_f64() {
            Some(float) if float.fract() == 0.0 && float.abs() <= crate::units::MAX_INTEGER as f64 => {
                (float as i64).into()
            }
            _ => value.clone(),
        },
        other => other.clone(),
    }
}

/// Makes unknown fields errors wherever the schema lists the known ones.
fn close(schema: &mut Value) {
    if schema["x-kubernetes-preserve-unknown-fields"] == true {
        return;
    }
    let Some(fields) = schema.as_object_mut() else { return };
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(close);
        fields.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    for below in ["items", "additionalProperties"] {
        if let Some(schema) = fields.get_mut(below) {
            close(schema);
        }
    }
}
