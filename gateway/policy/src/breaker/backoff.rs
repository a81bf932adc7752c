//! How long a route stays open or throttled.

use std::time::Duration;

use crate::draw::within;

/// Least and most time a route is throttled, whatever it asked for.
pub(super) const THROTTLE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(5));
/// Most time of a throttle that named no figure.
const UNNAMED: Duration = Duration::from_secs(30);
/// How long a quota or billing refusal keeps a route open, and the most it may ask for.
const QUOTA: (Duration, Duration) = (Duration::from_mins(5), Duration::from_hours(1));

/// Equal jitter: half of the doubled time is certain, the other half is drawn. `times` counts earlier openings.
pub(super) fn open_for(base: Duration, max: Duration, times: u32, draw: u64) -> Duration {
    let half = base.saturating_mul(1_u32.checked_shl(times).unwrap_or(u32::MAX)).min(max) / 2;
    half + within(draw, half)
}

/// The provider's figure within bounds; without one (or 0) our own, doubling from 1 s.
pub(super) fn throttle_for(retry_after: Option<Duration>, times: u32, draw: u64) -> Duration {
    match retry_after {
        Some(asked) if asked > Duration::ZERO => asked.clamp(THROTTLE.0, THROTTLE.1),
        _ => open_for(THROTTLE.0 * 2, UNNAMED, times, draw).max(THROTTLE.0),
    }
}

/// At least 5 minutes.
pub(super) fn quota_for(retry_after: Option<Duration>) -> Duration {
    retry_after.unwrap_or(QUOTA.0).clamp(QUOTA.0, QUOTA.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opening_doubles_with_equal_jitter_up_to_its_maximum() {
        let (base, max) = (Duration::from_secs(5), Duration::from_mins(5));
        for (times, full) in [(0, 5_000), (1, 10_000), (5, 160_000), (6, 300_000), (99, 300_000)] {
            assert_eq!(open_for(base, max, times, 0), Duration::from_millis(full / 2));
            let most = open_for(base, max, times, u64::MAX);
            assert!(most <= Duration::from_millis(full) && most > Duration::from_millis(full - 1));
        }
    }

    #[test]
    fn a_named_wait_is_kept_within_bounds() {
        for (asked, kept) in [(1, 1_000), (2_500, 2_500), (900_000, 300_000)] {
            let wait = throttle_for(Some(Duration::from_millis(asked)), 0, 0);
            assert_eq!(wait, Duration::from_millis(kept));
        }
        assert!(throttle_for(Some(Duration::ZERO), 0, 0) >= Duration::from_secs(1));
        assert!(throttle_for(None, 20, u64::MAX) <= UNNAMED);
        assert_eq!(quota_for(Some(Duration::from_secs(1))), Duration::from_mins(5));
    }
}
