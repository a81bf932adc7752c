//! The relay: the winner's bytes to the client, and everything that its user action still holds.
//!
//! Two bodies: [`StreamBody`] for event streams and [`WholeBody`] for complete answers. They own attempt and permits, so
//! whatever happens to the client's connection, dropping the body releases everything, and books it at once or, a whole
//! answer, when it has been written ([`afterwards`]). A client that does not read is no reason to keep them: [`pace`] ends
//! the body's task.

pub mod afterwards;
pub mod pace;
mod stream;
mod whole;

pub use stream::StreamBody;
pub use whole::WholeBody;

use hedgerow_policy::time::Moment;

use self::pace::Cut;
use crate::{
    race::{
        action::Action,
        attempt::{Attempt, End},
        commit,
    },
    settle::record::StatusClass,
    wire::answer::Kind,
};

/// Why a body was cut: the connection is aborted, so that no client takes the rest for a clean end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RelayError {
    /// The provider ended, broke or stalled after commit.
    #[error("the provider's answer was cut after it had begun")]
    Truncated,
    /// The answer took longer than `deadline.total`.
    #[error("the answer took longer than its total deadline")]
    Deadline,
    /// The pod is leaving.
    #[error("the gateway is shutting down")]
    ShuttingDown,
}

/// Notes how the client's part ended. The first note counts.
fn note_end(action: &Action, class: StatusClass, error: &'static str, now: Moment) {
    let mut course = action.course();
    if course.ended.is_none() {
        course.ended = Some(now);
        course.class = Some(class);
        course.error = error;
    }
}

/// Notes how a body ended that was dropped before its end. `cut` = its client did not read; otherwise the client left.
fn note_dropped(attempt: &mut Attempt, cut: Option<Cut>, now: Moment) {
    let (class, error) = match cut {
        None => (StatusClass::Canceled, "client_gone"),
        Some(Cut::Stalled) => (StatusClass::Canceled, "client_stalled"),
        Some(Cut::Deadline) => (StatusClass::GatewayError, Kind::Deadline.as_str()),
        Some(Cut::Leaving) => (StatusClass::GatewayError, Kind::ShuttingDown.as_str()),
    };
    if class == StatusClass::GatewayError && attempt.end == End::Cancelled {
        attempt.expire();
    }
    note_end(&attempt.action, class, error, now);
}

/// Notes the first token, when it came after the commit.
fn note_first_token(attempt: &mut Attempt, now: Moment) {
    attempt.first_token(now);
    let action = attempt.action.clone();
    commit::note_first_token(&action, attempt);
}
