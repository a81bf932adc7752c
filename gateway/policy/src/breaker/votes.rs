//! Exact counts of two outcomes in ten time buckets: a burst trips at any rate, an idle gap forgets all.

use std::time::Duration;

use crate::time::{Moment, nanos};

const SLOTS: u64 = 10;

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    epoch: u64,
    good: u32,
    bad: u32,
}

/// Good and bad outcomes of the recent past.
#[derive(Clone, Debug)]
pub(super) struct Votes {
    slots: [Slot; SLOTS as usize],
    width: u64,
}

impl Votes {
    pub(super) fn new(span: Duration) -> Self {
        Self { slots: Default::default(), width: (nanos(span) / SLOTS).max(1) }
    }

    /// Epochs start at 1: an untouched slot belongs to none.
    fn epoch(&self, now: Moment) -> u64 {
        now.as_nanos() / self.width + 1
    }

    pub(super) fn add(&mut self, now: Moment, good: bool) {
        let epoch = self.epoch(now);
        let slot = &mut self.slots[(epoch % SLOTS) as usize];
        if slot.epoch != epoch {
            *slot = Slot { epoch, ..Slot::default() };
        }
        let counter = if good { &mut slot.good } else { &mut slot.bad };
        *counter = counter.saturating_add(1);
    }

    /// (good, bad) over the span that ends now.
    pub(super) fn sums(&self, now: Moment) -> (u64, u64) {
        let epoch = self.epoch(now);
        let live = |slot: &&Slot| slot.epoch <= epoch && slot.epoch > epoch.saturating_sub(SLOTS);
        self.slots
            .iter()
            .filter(live)
            .fold((0, 0), |(good, bad), slot| (good + u64::from(slot.good), bad + u64::from(slot.bad)))
    }

    pub(super) fn clear(&mut self) {
        self.slots = Default::default();
    }
}
