//! Time as a value.
//!
//! A [`Moment`] counts nanoseconds since an origin that the caller chooses: a monotonic clock's start in the
//! gateway, Unix time for guardrail rings and latches (pods and operator must agree on buckets), virtual zero
//! in the simulator. Moments of different origins must not be mixed; nothing can check that here.
//!
//! Invariant: arithmetic saturates at both ends, so a clock that steps backwards or an absurd duration never
//! panics and never wraps. Range: 584 years.

use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

/// A point in time: nanoseconds since the caller's origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

impl Moment {
    /// The origin.
    pub const ZERO: Self = Self(0);
    /// The last representable moment; used as "never".
    pub const MAX: Self = Self(u64::MAX);

    /// From nanoseconds since the origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// From milliseconds since the origin, saturating.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// From seconds since the origin, saturating.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole milliseconds since the origin.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Whole seconds since the origin.
    pub const fn as_secs(self) -> u64 {
        self.0 / 1_000_000_000
    }

    /// Time from `earlier` to here; zero when `earlier` lies ahead.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// Time from here to `later`; zero when it has passed.
    pub const fn until(self, later: Self) -> Duration {
        later.since(self)
    }
}

/// A duration as whole nanoseconds, saturating at [`u64::MAX`].
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, rhs: Duration) -> Self {
        Self(self.0.saturating_add(nanos(rhs)))
    }
}

impl AddAssign<Duration> for Moment {
    fn add_assign(&mut self, rhs: Duration) {
        *self = *self + rhs;
    }
}

impl Sub<Duration> for Moment {
    type Output = Self;

    fn sub(self, rhs: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(rhs)))
    }
}

impl Sub for Moment {
    type Output = Duration;

    fn sub(self, rhs: Self) -> Duration {
        self.since(rhs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        assert_eq!(Moment::MAX + Duration::from_secs(1), Moment::MAX);
        assert_eq!(Moment::ZERO - Duration::from_secs(1), Moment::ZERO);
        assert_eq!(Moment::from_secs(1) - Moment::from_secs(2), Duration::ZERO);
        assert_eq!(Moment::from_secs(u64::MAX), Moment::MAX);
        assert_eq!(Moment::ZERO + Duration::MAX, Moment::MAX);
    }

    #[test]
    fn units_agree() {
        assert_eq!(Moment::from_millis(2_500).as_nanos(), 2_500_000_000);
        assert_eq!(Moment::from_millis(2_500).as_secs(), 2);
        assert_eq!(Moment::from_secs(3).until(Moment::from_secs(5)), Duration::from_secs(2));
    }
}
