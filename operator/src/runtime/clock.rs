//! The one place where the operator's shells read the wall clock.

use std::time::{SystemTime, UNIX_EPOCH};

use hedgerow_policy::time::Moment;

/// Unix time.
#[expect(clippy::disallowed_methods, reason = "a shell: time enters here and is an argument from here on")]
pub fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}
