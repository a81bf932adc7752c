//! Coming back slowly.

use std::time::Duration;

use crate::time::{Moment, nanos};

/// Shares of a route that passed its probes, per mille, one step each [`STEP`].
const RECOVERY: [u16; 4] = [50, 250, 500, 1_000];
/// Time on each step.
const STEP: Duration = Duration::from_secs(10);

/// Share of a route that recovered at `since`.
pub(super) fn recovery_per_mille(since: Moment, now: Moment) -> u16 {
    let step = nanos(now - since) / nanos(STEP);
    RECOVERY[(step as usize).min(RECOVERY.len() - 1)]
}

/// Whether the recovery ramp has reached its end.
pub(super) fn recovered(since: Moment, now: Moment) -> bool {
    now - since >= STEP * (RECOVERY.len() as u32 - 1)
}

/// The next step up of a weight on the same ladder.
pub(super) fn next_up(weight: u16) -> u16 {
    RECOVERY.into_iter().find(|step| *step > weight).unwrap_or(1_000)
}

/// The next step down of a weight on the same ladder; 0 below it.
pub(super) fn next_down(weight: u16) -> u16 {
    RECOVERY.into_iter().rev().find(|step| *step < weight).unwrap_or(0)
}

/// `rampUp` of a route: a new, edited or resumed route doubles its share at this pace, as primary and as
/// hedge target. The share multiplies the weight, so it is relative to the other routes of the tier: a tier
/// whose routes are all new still carries everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RampUp {
    /// First share in percent, 1..=100; 100 = no ramp.
    pub start_percent: u8,
    /// Time to double.
    pub every: Duration,
}

impl Default for RampUp {
    fn default() -> Self {
        Self { start_percent: 5, every: Duration::from_mins(1) }
    }
}

impl RampUp {
    /// Share per mille, 1..=1000, of a route that appeared at `since`.
    pub fn share_per_mille(&self, since: Moment, now: Moment) -> u16 {
        let start = 10 * u32::from(self.start_percent.clamp(1, 100));
        // Ten doublings take any start to the end.
        let doublings = nanos(now - since).checked_div(nanos(self.every)).unwrap_or(10).min(10);
        (start << doublings).min(1_000) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_route_doubles_its_share_every_step() {
        let since = Moment::from_secs(100);
        for (seconds, share) in
            [(0, 50), (59, 50), (60, 100), (180, 400), (240, 800), (300, 1_000), (1 << 40, 1_000)]
        {
            let now = since + Duration::from_secs(seconds);
            assert_eq!(RampUp::default().share_per_mille(since, now), share, "after {seconds} s");
        }
        let at_once = RampUp { start_percent: 100, every: Duration::ZERO };
        assert_eq!(at_once.share_per_mille(since, since), 1_000);
    }

    #[test]
    fn recovery_takes_thirty_seconds() {
        let since = Moment::from_secs(100);
        for (seconds, share, done) in [(0, 50, false), (10, 250, false), (29, 500, false), (30, 1_000, true)]
        {
            let now = since + Duration::from_secs(seconds);
            assert_eq!((recovery_per_mille(since, now), recovered(since, now)), (share, done));
        }
        assert_eq!([0, 20, 50, 62, 500, 1_000].map(next_up), [50, 50, 250, 250, 1_000, 1_000]);
        assert_eq!([0, 20, 50, 62, 500, 1_000].map(next_down), [0, 0, 0, 50, 250, 500]);
    }
}
