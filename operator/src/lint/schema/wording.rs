//! JSON Schema errors in words that say what to change.

use std::fmt::Write as _;

use jsonschema::{
    ValidationError,
    error::{TypeKind, ValidationErrorKind as Kind},
};
use serde_json::Value;

use super::{Fault, nearest};
use crate::lint::yaml::Path;

/// Longest piece of a value that a message repeats.
const SHOWN: usize = 60;

/// The pattern of most names: a DNS label.
const LABEL: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";

/// The fault behind one error; `None` for what another check reports.
pub(super) fn fault(error: &ValidationError<'_>, document: &Value) -> Option<Fault> {
    let mut path = Path::from_pointer(error.instance_path().as_str(), document);
    if let Kind::Required { property } = error.kind() {
        path = path.key(property.as_str().unwrap_or_default());
    }
    let (rule, message) = message(error)?;
    Some(Fault { path, rule, message })
}

fn message(error: &ValidationError<'_>) -> Option<(&'static str, String)> {
    let value = error.instance();
    let shown = shown(value);
    Some(match error.kind() {
        Kind::Required { property } if property == "metadata" => return None,
        Kind::Required { .. } => ("required", "is required".to_owned()),
        Kind::Type { kind } => ("type", format!("must be {}, not {}", expected(kind), actual(value))),
        Kind::Enum { options } => ("enum", not_an_option(&shown, options)),
        Kind::Minimum { limit } => ("minimum", format!("{shown} is too small: at least {limit}")),
        Kind::Maximum { limit } => ("maximum", format!("{shown} is too large: at most {limit}")),
        Kind::MinLength { limit: 1 } => ("minLength", "must not be empty".to_owned()),
        Kind::MinLength { limit } => {
            ("minLength", format!("{shown} is too short: at least {limit} characters"))
        }
        Kind::MaxLength { limit } => {
            ("maxLength", format!("{shown} is too long: at most {limit} characters"))
        }
        Kind::MinItems { limit } => ("minItems", format!("needs at least {limit} {}", noun(*limit, "item"))),
        Kind::MaxItems { limit } => ("maxItems", format!("has too many items: at most {limit}")),
        Kind::MaxProperties { limit } => ("maxProperties", format!("has too many entries: at most {limit}")),
        Kind::MinProperties { limit } => {
            ("minProperties", format!("needs at least {limit} {}", noun(*limit, "entry")))
        }
        Kind::Pattern { pattern } if pattern == LABEL => (
            "pattern",
            format!("{shown} must be lower-case letters, digits and -, with a letter or digit at both ends"),
        ),
        Kind::Pattern { pattern } => ("pattern", format!("{shown} does not match {pattern}")),
        // Unknown fields and metadata have checks of their own.
        Kind::AdditionalProperties { .. } => return None,
        other => ("invalid", format!("{shown} is refused by the rule {}", other.keyword())),
    })
}

fn not_an_option(shown: &str, options: &Value) -> String {
    let words: Vec<&str> = options.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut text = format!("{shown} is not one of {}", words.join(", "));
    if let Some(near) = nearest(shown.trim_matches('"'), words.into_iter()) {
        let _ = write!(text, ": did you mean {near}?");
    }
    text
}

fn expected(kind: &TypeKind) -> String {
    let name = |kind: &str| match kind {
        "object" => "a mapping",
        "array" => "a list",
        "string" => "text",
        "integer" => "a whole number",
        "boolean" => "true or false",
        "null" => "empty",
        _ => "a number",
    };
    match kind {
        TypeKind::Single(one) => name(one.as_str()).to_owned(),
        TypeKind::Multiple(several) => {
            let names: Vec<_> =
                several.iter().map(|one| name(one.as_str())).filter(|name| *name != "empty").collect();
            names.join(" or ")
        }
    }
}

fn actual(value: &Value) -> String {
    match value {
        Value::Null => "empty".to_owned(),
        Value::Object(_) => "a mapping".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::String(_) => format!("the text {}", shown(value)),
        other => format!("{other}"),
    }
}

fn shown(value: &Value) -> String {
    let mut text = value.to_string();
    if text.len() > SHOWN {
        text.truncate(text.floor_char_boundary(SHOWN));
        text.push_str("...");
    }
    text
}

fn noun(count: u64, word: &str) -> String {
    match word {
        word if count == 1 => word.to_owned(),
        "entry" => "entries".to_owned(),
        word => format!("{word}s"),
    }
}
