//! The account limits that answer 429, as pure arithmetic.
//!
//! In: a limit, the elapsed time of the provider and the requests inside. Out: the wait that is announced.
//! The bucket holds 10 seconds' worth, because providers check their minute limits over 1 to 10 s windows.

use std::time::Duration;

use crate::profile::Quota;

/// Requests left of the minute limit.
#[derive(Debug, Default)]
pub(crate) struct Bucket {
    /// The limit that the level belongs to; a new limit starts with a full bucket.
    per_minute: u32,
    level: f64,
    at: Duration,
}

impl Bucket {
    /// Takes one request at `now` with `running` requests inside, or says how long to wait.
    pub(crate) fn take(&mut self, quota: &Quota, running: u64, now: Duration) -> Result<(), Duration> {
        if quota.max_concurrent.is_some_and(|most| running >= u64::from(most)) {
            return Err(Duration::from_secs(1));
        }
        let Some(per_minute) = quota.requests_per_minute else { return Ok(()) };
        let per_second = f64::from(per_minute) / 60.0;
        let full = (per_second * 10.0).max(1.0);
        if self.per_minute == per_minute {
            self.level = (self.level + per_second * now.saturating_sub(self.at).as_secs_f64()).min(full);
        } else {
            (self.per_minute, self.level) = (per_minute, full);
        }
        self.at = now;
        if self.level >= 1.0 {
            self.level -= 1.0;
            return Ok(());
        }
        Err(crate::profile::millis((1.0 - self.level) / per_second * 1000.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_limit_lets_its_rate_through_after_the_burst() {
        let quota = Quota { requests_per_minute: Some(120), max_concurrent: None };
        let mut bucket = Bucket::default();
        let passed =
            (0..1000).filter(|tick| bucket.take(&quota, 0, Duration::from_millis(tick * 10)).is_ok()).count();
        assert!((39..=40).contains(&passed), "20 at once and 2 a second for 10 s, not {passed}");
    }

    #[test]
    fn the_announced_wait_is_enough() {
        let quota = Quota { requests_per_minute: Some(6), max_concurrent: None };
        let mut bucket = Bucket::default();
        bucket.take(&quota, 0, Duration::ZERO).unwrap();
        let wait = bucket.take(&quota, 0, Duration::ZERO).unwrap_err();
        assert!(bucket.take(&quota, 0, wait / 2).is_err());
        assert!(bucket.take(&quota, 0, wait + Duration::from_millis(1)).is_ok());
    }

    #[test]
    fn the_concurrent_limit_counts_who_is_inside() {
        let quota = Quota { requests_per_minute: None, max_concurrent: Some(2) };
        let mut bucket = Bucket::default();
        assert!(bucket.take(&quota, 1, Duration::ZERO).is_ok());
        assert_eq!(bucket.take(&quota, 2, Duration::ZERO), Err(Duration::from_secs(1)));
    }
}
