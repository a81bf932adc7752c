//! The only place where this crate reads a clock.

use std::time::Instant;

/// The present moment.
#[expect(clippy::disallowed_methods, reason = "benchmarks live in real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
