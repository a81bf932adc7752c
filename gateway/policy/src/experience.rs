//! What became of the hedges of a cell, against what was predicted for them.
//!
//! A prediction takes the two legs for independent; where prompts are slow everywhere they are not, and hedges win less
//! often. Cumulative counts ([`Races`]) go in, a corrected win probability comes out ([`Experience::corrected`]).
//!
//! **Beyond chance.** Of 50 hedges that win one race in four, fewer than ten win in every sixth sample. A correction that took them
//! at their word would now and then close a pair that pays, and a closed pair brings no more hedges that could show it. So a prediction is
//! corrected by no more than the counts say beyond chance (three standard deviations, as the guardrail's minimum of wins).
//!
//! **Forgetting.** Counts lose half of their weight in [`HALF_LIFE`]: a pair that was useless an hour ago is tried again, by a
//! trickle (with 50 hedges remembered, half of them are forgotten and sent again in that time), and one that has become useless is found out.
//!
//! Refuses: to say anything below [`LEARNING_HEDGES`] hedges.

use std::{ops::Sub, time::Duration};

use crate::{gate::LEARNING_HEDGES, latency::TICK};

/// Time in which a race loses half of its weight.
pub const HALF_LIFE: Duration = Duration::from_mins(15);
/// Standard deviations that chance is given.
const BEYOND: f64 = 3.0;

/// Cumulative counts of a cell's hedges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Races {
    /// Hedges sent to the cell.
    pub hedges: u64,
    /// Those of them that won.
    pub wins: u64,
    /// Sum of the win probabilities that were predicted for them, in 1/1000.
    pub predicted: u64,
}

impl Sub for Races {
    type Output = Self;

    /// What was added since an earlier count; nothing where a counter began again.
    fn sub(self, earlier: Self) -> Self {
        Self {
            hedges: self.hedges.saturating_sub(earlier.hedges),
            wins: self.wins.saturating_sub(earlier.wins),
            predicted: self.predicted.saturating_sub(earlier.predicted),
        }
    }
}

/// Races that are remembered, recent ones with more weight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Experience {
    hedges: f64,
    wins: f64,
    predicted: f64,
}

impl Experience {
    /// The same with more races in full weight.
    #[must_use]
    pub fn with(self, races: Races) -> Self {
        Self {
            hedges: self.hedges + races.hedges as f64,
            wins: self.wins + races.wins as f64,
            predicted: self.predicted + races.predicted as f64 / 1_000.0,
        }
    }

    /// The same after one more [`TICK`].
    #[must_use]
    pub fn aged(self) -> Self {
        let keep = (-std::f64::consts::LN_2 * TICK.as_secs_f64() / HALF_LIFE.as_secs_f64()).exp();
        Self { hedges: self.hedges * keep, wins: self.wins * keep, predicted: self.predicted * keep }
    }

    /// Hedges that are remembered, by their weights.
    pub fn hedges(&self) -> u32 {
        self.hedges as u32
    }

    /// A predicted win probability (1/1000) as far as experience contradicts it: scaled by wins over predictions, less what
    /// chance explains. Between a quarter, so that a bad start can be unlearnt, and one and a half.
    pub fn corrected(&self, predicted: u16) -> u16 {
        if self.hedges < f64::from(LEARNING_HEDGES) || self.predicted <= 0.0 {
            return predicted;
        }
        let mean = (self.predicted / self.hedges).min(1.0);
        let chance = BEYOND * (self.hedges * mean * (1.0 - mean)).sqrt();
        let ratio = if self.wins < self.predicted {
            ((self.wins + chance) / self.predicted).clamp(0.25, 1.0)
        } else {
            ((self.wins - chance) / self.predicted).clamp(1.0, 1.5)
        };
        (f64::from(predicted) * ratio).min(1_000.0) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(hedges: u64, wins: u64, predicted: u16) -> Experience {
        Experience::default().with(Races { hedges, wins, predicted: u64::from(predicted) * hedges })
    }

    #[test]
    fn wins_correct_predictions_beyond_chance_and_within_bounds() {
        for (hedges, wins, predicted, corrected) in [
            (49, 0, 600, 600),
            (50, 0, 600, 207),
            (50, 20, 600, 600),
            (50, 10, 300, 300),
            (50, 0, 300, 194),
            (1_000, 150, 300, 193),
            (1_000, 210, 300, 253),
            (100_000, 21_000, 300, 214),
            (10_000, 0, 600, 150),
            (50, 20, 300, 300),
            (1_000, 400, 300, 356),
            (1_000, 900, 300, 450),
            (100, 100, 1_000, 1_000),
            (100, 0, 0, 0),
        ] {
            let found = of(hedges, wins, predicted).corrected(predicted);
            assert_eq!(found, corrected, "{wins} of {hedges} at {predicted}");
        }
    }

    #[test]
    fn a_pair_that_is_not_asked_any_more_is_forgotten() {
        let mut experience = of(400, 0, 300);
        assert!(experience.corrected(300) < 100);
        let ticks = HALF_LIFE.as_secs() / TICK.as_secs();
        for half_lives in 1..=3_u32 {
            (0..ticks).for_each(|_| experience = experience.aged());
            assert!(experience.hedges().abs_diff(400 >> half_lives) <= 1);
        }
        (0..ticks).for_each(|_| experience = experience.aged());
        assert_eq!(experience.corrected(300), 300, "25 hedges say nothing");
    }

    #[test]
    fn a_counter_that_began_again_adds_nothing() {
        let (now, before) =
            (Races { hedges: 3, wins: 1, predicted: 900 }, Races { hedges: 9, wins: 0, predicted: 800 });
        assert_eq!(now - before, Races { hedges: 0, wins: 1, predicted: 100 });
    }
}
