//! Ten minutes of one cohort in buckets of 10 s.
//!
//! Moments count from the Unix epoch here: buckets of different pods line up, so a new leader reads the pods' rings and
//! decides at once. A bucket that is overtaken by a full lap is forgotten; a clock that steps back counts into the bucket
//! that is there.

use std::time::Duration;

use super::tally::Tally;
use crate::time::Moment;

/// Length of a bucket.
pub const BUCKET: Duration = Duration::from_secs(10);
/// Buckets of a ring: 10 min.
pub const RING: usize = 60;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Slot {
    /// Bucket index + 1; 0 = never used.
    lap: u64,
    tally: Tally,
}

/// The last ten minutes of one cohort.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ring {
    slots: Box<[Slot]>,
}

impl Ring {
    /// Nothing happened yet.
    pub fn new() -> Self {
        Self { slots: vec![Slot::default(); RING].into() }
    }

    /// Index of the bucket of a moment (Unix time).
    pub fn index(at: Moment) -> u64 {
        at.as_secs() / BUCKET.as_secs()
    }

    /// The bucket of now, to count into.
    pub fn at(&mut self, now: Moment) -> &mut Tally {
        let index = Self::index(now);
        let slot = &mut self.slots[index as usize % RING];
        if slot.lap <= index {
            *slot = Slot { lap: index + 1, tally: Tally::default() };
        }
        &mut slot.tally
    }

    /// Adds another ring's bucket. One that is a lap or more older than what its place holds is left out.
    pub fn merge(&mut self, index: u64, tally: &Tally) {
        let slot = &mut self.slots[index as usize % RING];
        if slot.lap <= index {
            *slot = Slot { lap: index + 1, tally: Tally::default() };
        }
        if slot.lap == index + 1 {
            slot.tally += tally;
        }
    }

    /// One bucket, if the ring still has it.
    pub fn get(&self, index: u64) -> Option<&Tally> {
        let slot = &self.slots[index as usize % RING];
        (slot.lap == index + 1).then_some(&slot.tally)
    }

    /// The sum of the bucket of now and of all that reach into the last `back`: it covers at least `back`.
    pub fn sum(&self, now: Moment, back: Duration) -> Tally {
        let (first, last) = (Self::index(now - back), Self::index(now));
        let first = first.max((last + 1).saturating_sub(RING as u64));
        let mut sum = Tally::default();
        (first..=last).filter_map(|index| self.get(index)).for_each(|tally| sum += tally);
        sum
    }

    /// All buckets with their index, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &Tally)> {
        self.slots.iter().filter(|slot| slot.lap > 0).map(|slot| (slot.lap - 1, &slot.tally))
    }
}

impl Default for Ring {
    fn default() -> Self {
        Self::new()
    }
}
