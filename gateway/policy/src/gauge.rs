//! Counts of things that are held now, returned by `Drop`.
//!
//! Why: whatever a user action holds (its place in the pod, buffered bytes, permits, attempts) must be given back exactly
//! once on success, error, client gone, cancellation and panic. A [`Held`] owns its share of a [`Gauge`] and nothing else
//! can lower it, so a leak is a value that is still alive.

use std::sync::{Arc, atomic::Ordering};

use crate::atomic::AtomicU64;

/// A count of things held.
#[derive(Clone, Debug, Default)]
pub struct Gauge(Arc<AtomicU64>);

impl Gauge {
    /// The count.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes `amount` without a limit.
    pub fn hold(&self, amount: u64) -> Held {
        self.0.fetch_add(amount, Ordering::Relaxed);
        Held { gauge: self.0.clone(), amount }
    }

    /// Takes `amount` if the count stays at or below `limit`.
    pub fn hold_within(&self, amount: u64, limit: u64) -> Option<Held> {
        let mut now = self.0.load(Ordering::Relaxed);
        loop {
            let next = now.checked_add(amount).filter(|next| *next <= limit)?;
            match self.0.compare_exchange_weak(now, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(Held { gauge: self.0.clone(), amount }),
                Err(seen) => now = seen,
            }
        }
    }
}

/// A share of a [`Gauge`]; dropping gives it back.
#[derive(Debug)]
#[must_use = "dropping it gives the share back at once"]
pub struct Held {
    gauge: Arc<AtomicU64>,
    amount: u64,
}

impl Held {
    /// How much is held.
    pub fn amount(&self) -> u64 {
        self.amount
    }

    /// Takes `more` if the gauge stays at or below `limit`; otherwise changes nothing and returns `false`.
    pub fn grow_within(&mut self, more: u64, limit: u64) -> bool {
        let Some(mut extra) = Gauge(self.gauge.clone()).hold_within(more, limit) else { return false };
        self.amount += extra.amount;
        extra.amount = 0;
        true
    }

    /// Gives back what is held beyond `amount`.
    pub fn shrink_to(&mut self, amount: u64) {
        let excess = self.amount.saturating_sub(amount);
        self.gauge.fetch_sub(excess, Ordering::Relaxed);
        self.amount -= excess;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.gauge.fetch_sub(self.amount, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_comes_back_exactly_once_and_the_limit_holds() {
        let gauge = Gauge::default();
        let mut first = gauge.hold_within(6, 10).unwrap();
        assert!(gauge.hold_within(5, 10).is_none());
        assert!(first.grow_within(4, 10));
        assert!(!first.grow_within(1, 10));
        assert_eq!((gauge.get(), first.amount()), (10, 10));
        first.shrink_to(7);
        first.shrink_to(9);
        assert_eq!((gauge.get(), first.amount()), (7, 7));
        drop(first);
        assert_eq!(gauge.get(), 0);
    }
}
