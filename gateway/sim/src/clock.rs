//! The only place where this crate reads a clock. Scripted providers and traffic are shells: they exist in real
//! time. The pure parts (profiles, plans, arrivals, retry rules) take times as arguments.

use std::time::{SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// The present moment, in tokio's time (a paused runtime stops it).
#[expect(clippy::disallowed_methods, reason = "providers and traffic live in real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Milliseconds since 1970, for people and for tests in other processes.
#[expect(clippy::disallowed_methods, reason = "answers carry a creation date")]
pub(crate) fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64)
}
