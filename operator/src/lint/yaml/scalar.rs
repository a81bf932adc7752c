//! What a scalar means: by YAML 1.2, and by the YAML 1.1 that `kubectl` reads.
//!
//! Sources: YAML 1.2.2, 10.3.2 (core schema); for `kubectl`, the word and number rules of go-yaml v2, which
//! `sigs.k8s.io/yaml` wraps.

use serde_json::{Number, Value};

/// Words that YAML 1.1 reads as booleans and YAML 1.2 as text.
const TRUE_IN_1_1: [&str; 8] = ["y", "Y", "yes", "Yes", "YES", "on", "On", "ON"];
/// The same for false.
const FALSE_IN_1_1: [&str; 8] = ["n", "N", "no", "No", "NO", "off", "Off", "OFF"];

/// Largest integer that a float holds exactly: 2^53.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// A scalar as JSON, and what makes it ambiguous.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scalar {
    /// The value that `kubectl` would send.
    pub(crate) value: Value,
    /// Why YAML 1.1 and 1.2 disagree about it: what to write instead.
    pub(crate) trap: Option<String>,
}

impl Scalar {
    /// Text, whatever it looks like: quoted or tagged `!!str`.
    pub(crate) fn text(text: &str) -> Self {
        Self { value: Value::String(text.to_owned()), trap: None }
    }

    /// A plain scalar: the type follows from what it looks like.
    pub(crate) fn plain(text: &str) -> Self {
        let sure = |value| Self { value, trap: None };
        match text {
            "" | "~" | "null" | "Null" | "NULL" => sure(Value::Null),
            "true" | "True" | "TRUE" => sure(Value::Bool(true)),
            "false" | "False" | "FALSE" => sure(Value::Bool(false)),
            word if TRUE_IN_1_1.contains(&word) => boolean_trap(word, true),
            word if FALSE_IN_1_1.contains(&word) => boolean_trap(word, false),
            other => number(other).unwrap_or_else(|| Self::text(other)),
        }
    }
}

fn boolean_trap(word: &str, value: bool) -> Scalar {
    Scalar {
        value: Value::Bool(value),
        trap: Some(format!(
            "kubectl reads {word} as the boolean {value} (YAML 1.1): write {value} if that is meant, else quote it: \"{word}\""
        )),
    }
}

/// The scalar as a number, if it is one for either version.
fn number(text: &str) -> Option<Scalar> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    let negative = text.starts_with('-');
    let radix = |digits: &str, radix| {
        i64::from_str_radix(digits, radix).ok().map(|value| if negative { -value } else { value })
    };
    let sure = |value: i64| Scalar { value: value.into(), trap: None };
    let trapped = |value: i64| Scalar {
        value: value.into(),
        trap: Some(format!(
            "kubectl reads {text} as the number {value} (YAML 1.1): write {value}, or quote it"
        )),
    };
    if let Some(hex) = digits.strip_prefix("0x") {
        return radix(hex, 16).map(sure);
    }
    if let Some(octal) = digits.strip_prefix("0o") {
        return radix(octal, 8).map(sure);
    }
    if let Some(binary) = digits.strip_prefix("0b") {
        return radix(binary, 2).map(trapped);
    }
    if digits.contains('_') {
        return radix(&digits.replace('_', ""), 10).map(trapped);
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let octal = digits.len() > 1 && digits.starts_with('0');
        if let Some(value) = octal.then(|| radix(digits, 8)).flatten() {
            return Some(trapped(value));
        }
        if let Ok(value) = text.parse::<i64>() {
            return Some(sure(value));
        }
    }
    float(text).map(|value| Scalar { value, trap: None })
}

/// A decimal fraction. Without a fraction it is an integer, as the API server stores it.
fn float(text: &str) -> Option<Value> {
    let looks_right = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    let value: f64 = looks_right.then(|| text.parse().ok()).flatten()?;
    if value.fract() == 0.0 && value.abs() <= MAX_EXACT {
        return Some((value as i64).into());
    }
    Number::from_f64(value).map(Value::Number)
}
