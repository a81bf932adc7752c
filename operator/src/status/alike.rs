//! Whether two statuses read the same: every figure rounded to two digits, everything else equal.
//!
//! Why: a status is written for people and for columns, and under traffic some figure always moves a little; without
//! rounding every object would be written once a minute for ever. Input: two values of one type. Output: yes or no. What is
//! written is not rounded. Figures are numbers, and texts that are a number with one of [`UNITS`]; names and times are
//! neither, so they are compared as they are.

use serde::Serialize;
use serde_json::Value;

/// What stands behind the number in a figure that is a text; brackets aside.
const UNITS: [&str; 5] = ["", "s", "%", " %", " per pod"];

/// Whether a reader would see a difference.
pub(super) fn alike<S: Serialize>(old: &S, new: &S) -> bool {
    match (serde_json::to_value(old), serde_json::to_value(new)) {
        (Ok(old), Ok(new)) => same(&old, &new),
        // What cannot be compared is written.
        _ => false,
    }
}

fn same(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let equal =
                |(field, value): (&String, &Value)| new.get(field).is_some_and(|new| same(value, new));
            old.len() == new.len() && old.iter().all(equal)
        }
        (Value::Array(old), Value::Array(new)) => {
            old.len() == new.len() && old.iter().zip(new).all(|(old, new)| same(old, new))
        }
        (Value::Number(a), Value::Number(b)) => {
            a == b || a.as_f64().zip(b.as_f64()).is_some_and(|(a, b)| rounded(a) == rounded(b))
        }
        (Value::String(a), Value::String(b)) => {
            a == b || figure(a).zip(figure(b)).is_some_and(|(a, b)| a == b)
        }
        (old, new) => old == new,
    }
}

/// Two digits that matter, and the size.
fn rounded(value: f64) -> String {
    format!("{value:.1e}")
}

/// The rounded number of a text such as `2.4s`, `-68%`, `(6.9)` or `20 per pod`, and what surrounds it.
fn figure(text: &str) -> Option<(String, &str, bool)> {
    let bracketed = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    let bare = bracketed.unwrap_or(text);
    let end = bare.find(|c: char| !c.is_ascii_digit() && !"+-.".contains(c)).unwrap_or(bare.len());
    let (number, unit) = bare.split_at(end);
    let number = number.parse().ok().filter(|_| UNITS.contains(&unit))?;
    Some((rounded(number), unit, bracketed.is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn figures_are_compared_by_their_first_two_digits() {
        for (old, new, expected) in [
            (json!(451), json!(454), true),
            (json!(451), json!(456), false),
            (json!(99), json!(100), false),
            (json!(-120_400), json!(-118_000), true),
            (json!(0), json!(1), false),
            (json!("12.3s"), json!("12.4s"), true),
            (json!("2.4s"), json!("2.5s"), false),
            (json!("1312"), json!("1349"), true),
            (json!("(6.9)"), json!("(7)"), false),
            (json!("(6.9)"), json!("6.9"), false),
            (json!("-68%"), json!("-67%"), false),
            (json!("112 per pod"), json!("113 per pod"), true),
        ] {
            assert_eq!(same(&old, &new), expected, "{old} {new}");
        }
    }

    #[test]
    fn names_times_and_what_is_there_or_not_are_compared_as_they_are() {
        for (old, new) in [
            (json!("2026-11-30T06:00:01Z"), json!("2026-11-30T06:00:02Z")),
            (json!("route-1001"), json!("route-1002")),
            (json!("3/4 active"), json!("4/4 active")),
            (json!(true), json!(false)),
            (json!({ "p99": "1.0s" }), json!({})),
            (json!([1]), json!([1, 2])),
            (json!(null), json!(0)),
        ] {
            assert!(!same(&old, &new), "{old} {new}");
        }
        assert!(same(&json!({ "a": [{ "b": 1001 }] }), &json!({ "a": [{ "b": 1002 }] })));
    }
}
