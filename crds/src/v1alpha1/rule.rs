//! Building blocks of the CEL rules.
//!
//! Input: field names and limits. Output: rules whose message shows the values and says what to
//! change. A rule that compares durations first asks whether they are durations at all: the field's own
//! rule reports a malformed one, and a second error from `duration()` would be unreadable.
//! Messages use `format`, because `string(int)` exceeds the API server's cost limit.

use kube::core::{Message, Rule, validate};
use schemars::Schema;

use crate::units::DURATION_PATTERN;

/// Adds the rules to the schema of an object level.
pub(super) fn attach(schema: &mut Schema, rules: impl IntoIterator<Item = Rule>) {
    for rule in rules {
        validate(schema, rule).expect("a rule is plain JSON");
    }
}

/// A rule that holds where `holds` does, with a message computed by CEL, at `field` (a path below
/// the object level).
pub(super) fn computed(holds: impl Into<String>, field: &str, message: impl Into<String>) -> Rule {
    Rule::new(holds).message(Message::Expression(message.into())).field_path(format!(".{field}"))
}

/// A rule with a constant message, at `field`.
pub(super) fn fixed(holds: impl Into<String>, field: &str, message: &str) -> Rule {
    Rule::new(holds).message(message).field_path(format!(".{field}"))
}

/// The duration `field`, where it is present, lies between two durations.
pub(super) fn within(field: &str, low: &str, high: &str) -> Rule {
    computed(
        format!(
            "!has(self.{field}) || !self.{field}.matches('{DURATION_PATTERN}') || \
             (duration(self.{field}) >= duration('{low}') && duration(self.{field}) <= duration('{high}'))"
        ),
        field,
        format!("'{field} (' + self.{field} + ') must lie between {low} and {high}'"),
    )
}

/// The duration `low` is at most the duration `high`; the error is reported at `low`.
pub(super) fn ordered(low: &str, high: &str) -> Rule {
    computed(
        format!(
            "![self.{low}, self.{high}].all(d, d.matches('{DURATION_PATTERN}')) || \
             duration(self.{low}) <= duration(self.{high})"
        ),
        low,
        format!(
            "'{low} (' + self.{low} + ') must be at most {high} (' + self.{high} + '): lower {low} or raise {high}'"
        ),
    )
}

/// The integer `low` is at most the integer `high`; the error is reported at `low`.
pub(super) fn ordered_integers(low: &str, high: &str) -> Rule {
    computed(
        format!("self.{low} <= self.{high}"),
        low,
        format!(
            "'{low} (%d) must be at most {high} (%d): lower {low} or raise {high}'.format([self.{low}, self.{high}])"
        ),
    )
}

/// `field` is present exactly when `choice` has one of `values`.
pub(super) fn present_with(field: &str, choice: &str, values: &[&str]) -> [Rule; 2] {
    let list = values.iter().map(|v| format!("'{v}'")).collect::<Vec<_>>().join(", ");
    let names = values.join(" or ");
    [
        fixed(
            format!("!(self.{choice} in [{list}]) || has(self.{field})"),
            field,
            &format!("{field} is required with {choice}: {names}"),
        ),
        fixed(
            format!("(self.{choice} in [{list}]) || !has(self.{field})"),
            field,
            &format!("{field} has a meaning only with {choice}: {names}; remove it or change {choice}"),
        ),
    ]
}

/// Every key of the map `field`, where it is present, is a header name.
pub(super) fn header_names(field: &str) -> Rule {
    fixed(
        format!("!has(self.{field}) || self.{field}.all(k, k.matches('^[A-Za-z0-9-]{{1,64}}$'))"),
        field,
        "a header name has 1 to 64 letters, digits and dashes",
    )
}

/// `spec.gateway` can't change: routes, policies and lanes of a fleet are compiled together.
pub(super) fn immutable_gateway(schema: &mut Schema) {
    attach(
        schema,
        [Rule::new("self == oldSelf")
            .message("gateway is immutable: create a new object for the other fleet, then delete this one")],
    );
}

/// Drops an enum's own description: in an optional field it would replace the field's.
pub(super) fn undescribed(schema: &mut Schema) {
    schema.remove("description");
}
