//! Conditions: the fixed vocabulary of types and reasons, and the one way to set them.
//!
//! Input: the present list, a new observation and the time. Output: the list with that condition
//! set, `lastTransitionTime` moved only when `status` changed (else every resync would be a write and
//! a new resync). Types and reasons are enums here, so they can't be misspelt; in the object they are
//! strings, because other managers may add conditions of their own.

mod vocabulary;

use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use vocabulary::{ConditionStatus, ConditionType, Reason};

/// Longest message in bytes; a longer one is cut, because the API server would refuse the whole status.
pub const MAX_MESSAGE: usize = 4096;

/// One aspect of the object's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What the condition is about, such as Accepted or Ready.
    #[serde(rename = "type")]
    #[schemars(length(min = 1, max = 316))]
    pub type_: String,
    /// Whether it holds: True, False or Unknown.
    #[schemars(length(min = 1, max = 16))]
    pub status: String,
    /// Generation of the spec that the condition was computed from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Time of the last change of status.
    pub last_transition_time: Time,
    /// Why, in one word.
    #[schemars(length(min = 1, max = 128))]
    pub reason: String,
    /// Why, in a sentence that says what to do next. May be empty.
    #[schemars(length(max = 4096))]
    pub message: String,
}

/// What was observed about one condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Which condition.
    pub type_: ConditionType,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Why, in one word.
    pub reason: Reason,
    /// Why, in a sentence.
    pub message: String,
    /// Generation of the spec that was observed.
    pub observed_generation: i64,
}

/// Sets one condition at time `now`; true where anything changed.
///
/// `lastTransitionTime` stays unless `status` changed. The others keep their place and content.
pub fn set(conditions: &mut Vec<Condition>, observed: Observation, now: Timestamp) -> bool {
    let present = conditions.iter_mut().find(|c| c.type_ == observed.type_.as_str());
    let since = match &present {
        Some(old) if old.status == observed.status.as_str() => old.last_transition_time.clone(),
        _ => Time(now),
    };
    let new = Condition {
        type_: observed.type_.as_str().to_owned(),
        status: observed.status.as_str().to_owned(),
        observed_generation: Some(observed.observed_generation),
        last_transition_time: since,
        reason: observed.reason.as_str().to_owned(),
        message: bounded_message(observed.message),
    };
    match present {
        Some(old) if *old == new => false,
        Some(old) => {
            *old = new;
            true
        }
        None => {
            conditions.push(new);
            true
        }
    }
}

/// Removes one condition; true where it was there. For those that are only present when true.
pub fn remove(conditions: &mut Vec<Condition>, type_: ConditionType) -> bool {
    let before = conditions.len();
    conditions.retain(|c| c.type_ != type_.as_str());
    conditions.len() != before
}

/// The condition of that type.
pub fn find(conditions: &[Condition], type_: ConditionType) -> Option<&Condition> {
    conditions.iter().find(|c| c.type_ == type_.as_str())
}

/// Whether the condition of that type is there and true.
pub fn is_true(conditions: &[Condition], type_: ConditionType) -> bool {
    find(conditions, type_).is_some_and(|c| c.status == ConditionStatus::True.as_str())
}

/// The message, cut at a character boundary with an ellipsis when it is too long.
fn bounded_message(mut message: String) -> String {
    const ELLIPSIS: &str = "...";
    if message.len() > MAX_MESSAGE {
        let end = message.floor_char_boundary(MAX_MESSAGE - ELLIPSIS.len());
        message.truncate(end);
        message.push_str(ELLIPSIS);
    }
    message
}

#[cfg(test)]
mod tests;
