//! Do the clients retry by themselves?
//!
//! A client that sends the same user action again already hedges for itself, and its retries during an incident would make
//! every hedge one copy more. Counted in whole minutes, this one and the last.

use crate::time::Moment;

/// Arrivals below which a share says nothing.
const LEAST: u32 = 20;

/// Originals and client retries of the last one to two minutes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Returning {
    minutes: [Minute; 2],
}

#[derive(Clone, Copy, Debug, Default)]
struct Minute {
    index: u64,
    originals: u32,
    retries: u32,
}

impl Returning {
    /// Counts an arrival.
    pub fn arrived(&mut self, now: Moment, client_retry: bool) {
        let index = now.as_secs() / 60;
        let [before, this] = &mut self.minutes;
        if this.index != index {
            *before = if this.index + 1 == index { *this } else { Minute::default() };
            *this = Minute { index, ..Minute::default() };
        }
        *if client_retry { &mut this.retries } else { &mut this.originals } += 1;
    }

    /// Client retries over originals, in 1/1000; 0 below 20 arrivals.
    pub fn per_mille(&self) -> u16 {
        let sum = |count: fn(&Minute) -> u32| self.minutes.iter().map(count).sum::<u32>();
        let (originals, retries) = (sum(|minute| minute.originals), sum(|minute| minute.retries));
        if originals + retries < LEAST {
            return 0;
        }
        u16::try_from(u64::from(retries) * 1_000 / u64::from(originals.max(1))).unwrap_or(u16::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_that_of_two_minutes_and_an_idle_gap_forgets() {
        let mut returning = Returning::default();
        for i in 0..40 {
            returning.arrived(Moment::from_secs(30 + i), i % 4 == 0);
        }
        assert_eq!(returning.per_mille(), 333, "10 retries to 30 originals");
        for _ in 0..20 {
            returning.arrived(Moment::from_secs(300), false);
        }
        assert_eq!(returning.per_mille(), 0);
    }
}
