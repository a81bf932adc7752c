//! The retry reserve: a rate in time, as one atomic word.
//!
//! Virtual scheduling (GCRA): `free_from` is the moment up to which the reserve is spent. A token costs one
//! interval; it may be taken when the interval ends no later than now. At most one second's worth (at least
//! one token) is kept, and a new reserve is empty, so over any span it gives at most rate x span + 1 tokens.

use std::sync::atomic::Ordering::Relaxed;

use crate::atomic::AtomicU64;
use crate::time::Moment;

#[derive(Debug)]
pub(super) struct Reserve {
    /// Nanoseconds from which on time has not been spent.
    free_from: AtomicU64,
    /// Nanoseconds per token; 0 = there is no reserve.
    interval: AtomicU64,
}

const SECOND: u64 = 1_000_000_000;

impl Reserve {
    pub(super) fn new(per_second: u64, replicas: u64, now: Moment) -> Self {
        let reserve = Self { free_from: AtomicU64::new(now.as_nanos()), interval: AtomicU64::new(0) };
        reserve.set(per_second, replicas);
        reserve
    }

    pub(super) fn set(&self, per_second: u64, replicas: u64) {
        let interval = (SECOND * replicas.max(1)).checked_div(per_second).unwrap_or(0);
        self.interval.store(interval, Relaxed);
    }

    /// Takes one token if one has accrued.
    pub(super) fn take(&self, now: Moment) -> bool {
        let (now, interval) = (now.as_nanos(), self.interval.load(Relaxed));
        if interval == 0 {
            return false;
        }
        let kept = SECOND.max(interval);
        self.free_from
            .fetch_update(Relaxed, Relaxed, |free_from| {
                let next = free_from.max(now.saturating_sub(kept)) + interval;
                (next <= now).then_some(next)
            })
            .is_ok()
    }

    /// Gives one token back.
    pub(super) fn give_back(&self) {
        let interval = self.interval.load(Relaxed);
        let _ = self.free_from.fetch_update(Relaxed, Relaxed, |at| Some(at.saturating_sub(interval)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_accrue_with_time_and_are_kept_for_a_second_at_most() {
        let start = Moment::from_secs(100);
        let reserve = Reserve::new(2, 1, start);
        assert!(!reserve.take(start));
        assert!(reserve.take(Moment::from_millis(100_500)));
        assert!(!reserve.take(Moment::from_millis(100_999)));
        let later = Moment::from_secs(500);
        assert!(reserve.take(later) && reserve.take(later) && !reserve.take(later));
        reserve.give_back();
        assert!(reserve.take(later) && !reserve.take(later));
    }

    #[test]
    fn replicas_share_the_rate_and_zero_is_none() {
        let quarter = Reserve::new(1, 4, Moment::ZERO);
        assert!(!quarter.take(Moment::from_millis(3_999)));
        assert!(quarter.take(Moment::from_secs(4)));
        assert!(!Reserve::new(0, 1, Moment::ZERO).take(Moment::from_secs(1_000)));
    }
}
