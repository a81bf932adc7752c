//! What people read under `kubectl describe`: an Event in words, and the one of a decision.
//!
//! Pure: writing it is the shell's business. The action tells one transition from the next, because the recorder of the
//! client library counts an Event up instead of writing a new one where type, reason, action and object are the same.

use hedgerow_crds::condition::Reason;
use hedgerow_policy::guardrail::State;
use serde::Serialize;

use super::guardrail::Decision;

/// One Event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// Something that somebody should look at.
    pub warning: bool,
    /// One word.
    pub reason: &'static str,
    /// What tells this transition from others of the same reason.
    pub action: String,
    /// The sentence.
    pub note: String,
}

impl Notice {
    /// The Event of a decision.
    pub fn of(decision: &Decision) -> Self {
        Self {
            warning: decision.to == State::Suspended && decision.reason != Reason::Suspended,
            reason: match decision.to {
                State::Observing => "HedgingObserved",
                State::Ramping => "HedgingRamping",
                State::Active => "HedgingActive",
                State::Suspended => "HedgingSuspended",
                State::Trial => "HedgingTrial",
                State::Disabled => "HedgingDisabled",
            },
            action: format!("{}-{}", decision.key.cohort, decision.transition),
            note: format!("{} ({})", decision.line, decision.reason),
        }
    }
}
