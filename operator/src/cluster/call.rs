//! One request to the API server, bounded in time, and what its failure means.

use std::{future::Future, time::Duration};

use tokio::time;

/// Longest wait for an answer. The API server's own limit is a minute, which would hold up a worker for longer than the
/// Lease lasts.
const ANSWER: Duration = Duration::from_secs(5);

/// Why a request did not do what it should.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// No answer in time.
    #[error("no answer from the API server within {}s", ANSWER.as_secs())]
    Late,
    /// The API server said no.
    #[error("the API server refused ({code} {reason}): {message}")]
    Refused {
        /// HTTP status.
        code: u16,
        /// Its word.
        reason: String,
        /// Its sentence.
        message: String,
    },
    /// There was no answer, or none that makes sense.
    #[error("the API server cannot be reached: {0}")]
    Unreachable(String),
}

impl CallError {
    /// The object is not there.
    pub fn is_not_found(&self) -> bool {
        self.code() == Some(404)
    }

    /// Somebody else was first.
    pub fn is_conflict(&self) -> bool {
        self.code() == Some(409)
    }

    /// The same request will be refused again unless something else changes.
    pub fn is_final(&self) -> bool {
        matches!(self.code(), Some(400 | 403 | 413 | 422))
    }

    fn code(&self) -> Option<u16> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            _ => None,
        }
    }
}

impl From<kube::Error> for CallError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => {
                Self::Refused { code: status.code, reason: status.reason.clone(), message: status.message }
            }
            other => Self::Unreachable(innermost(&other)),
        }
    }
}

/// Waits for an answer, but not for ever.
pub async fn bounded<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, CallError> {
    match time::timeout(ANSWER, request).await {
        Ok(answer) => answer.map_err(CallError::from),
        Err(_) => Err(CallError::Late),
    }
}

/// The cause at the bottom: the outer ones only repeat that a request failed.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
