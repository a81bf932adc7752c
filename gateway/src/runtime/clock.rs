//! The pod's clock: the one place of the gateway's core that reads time.
//!
//! Why: every mechanism takes `now` as an argument, so that it can be tested with invented time. This type turns the
//! machine's clock into such arguments. Monotonic moments come from tokio's clock, so paused tests move them too;
//! wall-clock moments are the start of the process plus monotonic progress, so a step of the machine's clock never
//! moves a window backwards.

use std::time::{Duration, SystemTime};

use hedgerow_policy::time::Moment;
use tokio::time::Instant;

/// Monotonic origin and its place in wall-clock time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
    unix_nanos: u64,
}

impl Clock {
    /// A clock whose origin is one second ago, so that "before the start" can be expressed.
    #[expect(clippy::disallowed_methods, reason = "the shell that reads the clock for everybody else")]
    pub fn start() -> Self {
        let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let unix_nanos = u64::try_from(unix.as_nanos()).unwrap_or(u64::MAX).saturating_sub(1_000_000_000);
        let now = Instant::now();
        Self { origin: now.checked_sub(Duration::from_secs(1)).unwrap_or(now), unix_nanos }
    }

    /// Monotonic now.
    #[expect(clippy::disallowed_methods, reason = "the shell that reads the clock for everybody else")]
    pub fn now(&self) -> Moment {
        let elapsed = Instant::now().saturating_duration_since(self.origin);
        Moment::from_nanos(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX))
    }

    /// The instant that a tokio timer needs for a monotonic moment.
    pub fn instant(&self, moment: Moment) -> Instant {
        self.origin + Duration::from_nanos(moment.as_nanos())
    }

    /// Wall-clock form of a monotonic moment, origin 1970.
    pub fn wall(&self, moment: Moment) -> Moment {
        Moment::from_nanos(self.unix_nanos.saturating_add(moment.as_nanos()))
    }

    /// Monotonic form of a wall-clock time in milliseconds since 1970; the origin for times before it.
    pub fn monotonic(&self, unix_ms: u64) -> Moment {
        Moment::from_nanos(unix_ms.saturating_mul(1_000_000).saturating_sub(self.unix_nanos))
    }

    /// Wall clock in milliseconds since 1970.
    pub fn unix_ms(&self) -> u64 {
        self.wall(self.now()).as_millis()
    }

    /// Wall clock as the standard library's type, for dates in headers.
    pub fn system_time(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_nanos(self.wall(self.now()).as_nanos())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn wall_and_monotonic_time_advance_together() {
        let clock = Clock::start();
        let (mono, unix) = (clock.now(), clock.unix_ms());
        tokio::time::advance(Duration::from_secs(3)).await;
        assert_eq!(clock.now().since(mono), Duration::from_secs(3));
        assert_eq!(clock.unix_ms() - unix, 3_000);
        // Whole milliseconds of the wall clock: what is lost is less than one.
        let back = clock.monotonic(clock.unix_ms());
        assert!(clock.now().since(back) < Duration::from_millis(1));
    }
}
