//! Exact counts of two kinds of event in ten time buckets: a burst counts the same at any rate, and an idle
//! gap of any length leaves nothing behind (moving averages by arrival do neither). For single owners; the
//! budget has an atomic form of its own.

use std::time::Duration;

use crate::time::{Moment, nanos};

const SLOTS: u64 = 10;

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    epoch: u64,
    first: u32,
    second: u32,
}

/// Two counters over the recent past.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    slots: [Slot; SLOTS as usize],
    width: u64,
}

impl Window {
    /// A window over `span`.
    pub(crate) fn new(span: Duration) -> Self {
        Self { slots: Default::default(), width: (nanos(span) / SLOTS).max(1) }
    }

    /// Epochs start at 1: an untouched slot belongs to none.
    fn epoch(&self, now: Moment) -> u64 {
        now.as_nanos() / self.width + 1
    }

    /// Counts one event: of the first kind, or of the second.
    pub(crate) fn add(&mut self, now: Moment, first: bool) {
        let epoch = self.epoch(now);
        let slot = &mut self.slots[(epoch % SLOTS) as usize];
        if slot.epoch != epoch {
            *slot = Slot { epoch, ..Slot::default() };
        }
        let counter = if first { &mut slot.first } else { &mut slot.second };
        *counter = counter.saturating_add(1);
    }

    /// (first, second) over the span that ends now.
    pub(crate) fn sums(&self, now: Moment) -> (u64, u64) {
        let epoch = self.epoch(now);
        let live = |slot: &&Slot| slot.epoch <= epoch && slot.epoch > epoch.saturating_sub(SLOTS);
        self.slots.iter().filter(live).fold((0, 0), |(first, second), slot| {
            (first + u64::from(slot.first), second + u64::from(slot.second))
        })
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.slots = Default::default();
    }
}
