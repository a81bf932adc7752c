//! Exact counts over a sliding window, without a lock: ten slots of equal width.
//!
//! A slot packs its epoch (time / width) and two counters into one atomic word, so a slot of an older lap is
//! recognised and replaced in the same compare-exchange that adds to it. A burst is counted the same at any
//! rate, and an idle gap of any length leaves nothing behind.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use crate::atomic::AtomicU64;
use crate::time::{Moment, nanos};

const SLOTS: u64 = 10;
/// Bits of each counter: a million per slot and pod; more saturates.
const BITS: u32 = 20;
const MASK: u64 = (1 << BITS) - 1;

/// Two counters over the last ten slots.
#[derive(Debug)]
pub(super) struct Window {
    slots: [AtomicU64; SLOTS as usize],
    width: u64,
}

impl Window {
    /// A window over `span`, which is divided into ten slots.
    pub(super) fn new(span: Duration) -> Self {
        Self { slots: Default::default(), width: (nanos(span) / SLOTS).max(1) }
    }

    /// Epochs start at 1, so that an untouched slot (0) belongs to none; they wrap after years and then at
    /// worst forget one slot.
    fn epoch(&self, now: Moment) -> u64 {
        (now.as_nanos() / self.width + 1) & ((1 << (64 - 2 * BITS)) - 1)
    }

    /// Adds one to the first counter, or to the second.
    pub(super) fn count(&self, now: Moment, second: bool) {
        let epoch = self.epoch(now);
        let add = |word: u64| {
            let word = if word >> (2 * BITS) == epoch { word } else { epoch << (2 * BITS) };
            let (shift, at) = if second { (BITS, (word >> BITS) & MASK) } else { (0, word & MASK) };
            Some(if at == MASK { word } else { word + (1 << shift) })
        };
        // The closure always returns Some, so this cannot fail.
        let _ = self.slots[(epoch % SLOTS) as usize].fetch_update(Relaxed, Relaxed, add);
    }

    /// Both sums over the window that ends now.
    pub(super) fn sums(&self, now: Moment) -> (u64, u64) {
        let epoch = self.epoch(now);
        self.slots.iter().map(|slot| slot.load(Relaxed)).fold((0, 0), |(first, second), word| {
            if epoch.wrapping_sub(word >> (2 * BITS)) < SLOTS {
                (first + (word & MASK), second + ((word >> BITS) & MASK))
            } else {
                (first, second)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_counts_the_same_at_any_rate_and_a_gap_forgets_everything() {
        let window = Window::new(Duration::from_secs(10));
        for i in 0..100 {
            window.count(Moment::from_millis(50_000 + i * 50), i % 4 == 0);
        }
        assert_eq!(window.sums(Moment::from_millis(54_999)), (75, 25));
        for _ in 0..100 {
            window.count(Moment::from_secs(90), false);
        }
        assert_eq!(window.sums(Moment::from_secs(90)), (100, 0));
        assert_eq!(window.sums(Moment::from_secs(99)), (100, 0));
        assert_eq!(window.sums(Moment::from_secs(100)), (0, 0));
        assert_eq!(window.sums(Moment::from_secs(1_000_000_000)), (0, 0));
    }

    #[test]
    fn the_first_moment_counts() {
        let window = Window::new(Duration::from_secs(30));
        window.count(Moment::ZERO, true);
        assert_eq!(window.sums(Moment::ZERO), (0, 1));
    }
}
