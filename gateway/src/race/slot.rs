//! The right to start an attempt, as values that cannot be copied.
//!
//! Invariants by type: a user action owns one [`Slots`], which gives at most [`MOST_ATTEMPTS`] slots, and one
//! [`HedgeRight`]; an attempt consumes a slot and a hedge also consumes the right. So there is no way to write a fourth
//! attempt or a second hedge.

use hedgerow_policy::gate::MOST_ATTEMPTS;

/// Attempts that a user action may still start.
#[derive(Debug)]
pub struct Slots {
    started: u8,
    most: u8,
}

/// The right to start one attempt.
#[derive(Debug)]
#[must_use = "an attempt must be started with it"]
pub struct Slot(u8);

/// The right to start the one hedge of a user action.
#[derive(Debug)]
pub struct HedgeRight(());

impl Slots {
    /// The slots and the hedge right of a new user action; `most` is clamped to 1..=3.
    pub fn new(most: u32) -> (Self, HedgeRight) {
        let most = u8::try_from(most).unwrap_or(MOST_ATTEMPTS).clamp(1, MOST_ATTEMPTS);
        (Self { started: 0, most }, HedgeRight(()))
    }

    /// The next slot.
    pub fn take(&mut self) -> Option<Slot> {
        if self.started == self.most {
            return None;
        }
        self.started += 1;
        Some(Slot(self.started))
    }

    /// Attempts started.
    pub fn started(&self) -> u8 {
        self.started
    }

    /// Attempts allowed.
    pub fn most(&self) -> u8 {
        self.most
    }

    /// Attempts left.
    pub fn left(&self) -> u8 {
        self.most - self.started
    }
}

impl Slot {
    /// Number of the attempt, from 1.
    pub fn number(&self) -> u8 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_never_more_than_three_slots_and_never_less_than_one() {
        for (asked, given) in [(0, 1), (1, 1), (2, 2), (3, 3), (4, 3), (u32::MAX, 3)] {
            let (mut slots, _right) = Slots::new(asked);
            let taken: Vec<_> = std::iter::from_fn(|| slots.take()).map(|slot| slot.number()).collect();
            assert_eq!(taken.len(), given, "{asked}");
            assert_eq!(taken.last().copied(), Some(slots.started()));
        }
    }
}
