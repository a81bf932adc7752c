//! Quantities as users write them: durations, percents, money.
//!
//! Input: the text of a field. Output: the same text, kept as written, and its value on demand. A
//! Kubernetes object must read back exactly as it was applied (`15m` stays `15m`), else GitOps tools
//! see drift; so durations stay strings and only `parse` gives them a value. Percents and money are
//! integers: a CRD schema with floats cannot be compared exactly by the API server.

use std::{borrow::Cow, fmt, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A share in percent, an integer; the bounds are those of the field.
pub type Percent = i32;

/// Money in millionths of the fleet's currency unit (`GatewayFleet.spec.currency`).
pub type Micros = i64;

/// Largest integer of any field: 2^53, above which JSON readers that use doubles lose digits.
pub const MAX_INTEGER: i64 = 1 << 53;

/// What a duration looks like: one to four numbers, each with its unit `ms`, `s`, `m` or `h`.
///
/// Used by the schema, by every CEL rule that compares durations, and (as a grammar) by
/// [`DurationText::parse`], so that the three can't disagree.
pub const DURATION_PATTERN: &str = "^([0-9]{1,5}([.][0-9]{1,3})?(ms|s|m|h)){1,4}$";

/// Longest duration text in bytes; keeps the estimated cost of the CEL rules small.
const DURATION_MAX_LENGTH: usize = 16;

/// A duration such as `1500ms`, `30s`, `15m` or `1h30m`, kept as written.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DurationText(pub String);

impl DurationText {
    /// The text as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The value, exact to the microsecond; `None` where the text is not a duration, which the
    /// schema refuses as well.
    pub fn parse(&self) -> Option<Duration> {
        let text = self.0.as_str();
        if text.is_empty() || text.len() > DURATION_MAX_LENGTH {
            return None;
        }
        let (mut rest, mut micros) = (text, 0_u64);
        for _ in 0..4 {
            let (part, tail) = leading_part(rest)?;
            micros = micros.checked_add(part)?;
            rest = tail;
            if rest.is_empty() {
                return Some(Duration::from_micros(micros));
            }
        }
        None
    }
}

/// One number with its unit at the start of `text`: its microseconds and what follows.
fn leading_part(text: &str) -> Option<(u64, &str)> {
    let (whole, rest) = split_digits(text, 5)?;
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(after) => split_digits(after, 3)?,
        None => ("", rest),
    };
    let (unit_micros, rest) = match rest {
        r if r.starts_with("ms") => (1_000_u64, &r[2..]),
        r if r.starts_with('s') => (1_000_000, &r[1..]),
        r if r.starts_with('m') => (60_000_000, &r[1..]),
        r if r.starts_with('h') => (3_600_000_000, &r[1..]),
        _ => return None,
    };
    // At most three decimals and a unit of at least 1000 us: the division leaves no remainder.
    let thousandths = whole.parse::<u64>().ok()? * 1_000 + format!("{fraction:0<3}").parse::<u64>().ok()?;
    Some((thousandths * (unit_micros / 1_000), rest))
}

/// One to `max` leading digits of `text`, and the rest.
fn split_digits(text: &str, max: usize) -> Option<(&str, &str)> {
    let count = text.bytes().take_while(u8::is_ascii_digit).count();
    (1..=max).contains(&count).then(|| text.split_at(count))
}

impl fmt::Display for DurationText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for DurationText {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl JsonSchema for DurationText {
    fn schema_name() -> Cow<'static, str> {
        "DurationText".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "minLength": 1,
            "maxLength": DURATION_MAX_LENGTH,
            "x-kubernetes-validations": [{
                "rule": format!("self.matches('{DURATION_PATTERN}')"),
                "messageExpression": "'\\'' + self + '\\' is not a duration: write for example 500ms, 30s, 5m or 1h30m'",
            }],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_the_value_that_go_and_cel_give_them() {
        for (text, millis) in [
            ("0s", 0),
            ("10ms", 10),
            ("1500ms", 1_500),
            ("1.5s", 1_500),
            ("0.001s", 1),
            ("30s", 30_000),
            ("15m", 900_000),
            ("1h30m", 5_400_000),
            ("1h1m1s1ms", 3_661_001),
            ("99999h", 359_996_400_000),
        ] {
            assert_eq!(DurationText::from(text).parse(), Some(Duration::from_millis(millis)), "{text}");
        }
        assert_eq!(DurationText::from("0.001ms").parse(), Some(Duration::from_micros(1)));
    }

    #[test]
    fn anything_else_is_no_duration() {
        for text in [
            "",
            "5",
            "s",
            "1 s",
            "-1s",
            "+1s",
            "1d",
            "1.s",
            "1.0001s",
            "100000s",
            ".5s",
            "1s1s1s1s1s",
            "1µs",
            "1S",
        ] {
            assert_eq!(DurationText::from(text).parse(), None, "{text}");
        }
    }
}
