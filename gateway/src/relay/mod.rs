//! The relay: the winner's bytes to the client, and everything that its user action still holds.
//!
//! Two bodies: [`StreamBody`] for event streams and [`WholeBody`] for complete answers. They own attempt and permits, so
//! whatever happens to the client's connection, dropping the body releases and books everything.

mod stream;
mod whole;

pub use stream::StreamBody;
pub use whole::WholeBody;

use hedgerow_policy::time::Moment;

use crate::{
    race::{action::Action, attempt::Attempt, commit},
    settle::record::StatusClass,
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

/// Notes a first token that came after the commit.
fn note_first_token(attempt: &mut Attempt, now: Moment) {
    if attempt.first_token.is_none() {
        attempt.first_token(now);
        let action = attempt.action.clone();
        commit::note_first_token(&action, attempt);
    }
}
