//! What a fleet remembers beyond the ten minutes of its pods' rings: the day's spend and the last day by quarter hours.
//!
//! Inputs: readings and their sums, moments. Outputs: figures for guardrails and statuses, and [`Saved`], which another
//! process goes on from. Invariants: spend is in exact integers; what is lost with the memory is data, and missing data
//! trips nothing. It refuses to know where it is kept.

mod day;
mod keeper;
mod quarters;
mod saved;

use std::time::Duration;

use self::{day::Day, quarters::Quarters};
pub use self::{
    keeper::Keeper,
    quarters::Quarter,
    saved::{HistoryError, Saved},
};
use crate::{domain::spent::Spent, scrape::Cumulative};
use hedgerow_config::State;
use hedgerow_policy::{
    guardrail::{Past, Ratio, TailGain},
    time::Moment,
};

/// The memory.
#[derive(Clone, Debug, Default)]
pub struct History {
    day: Day,
    quarters: Quarters,
}

impl History {
    /// Takes in a round of readings at `now` (Unix time).
    pub fn observe<'a>(
        &mut self,
        states: impl IntoIterator<Item = &'a State>,
        counted: &Cumulative,
        now: Moment,
    ) {
        self.day.observe(states, now);
        self.quarters.observe(counted, now);
    }

    /// What a cohort has spent since midnight UTC.
    pub fn today(&self, cohort: &str) -> Spent {
        self.day.of(cohort)
    }

    /// Sums of a cohort, newest first, for windows that the ring cannot fill.
    pub fn past(&self, cohort: &str, counted: &Cumulative) -> Vec<Past> {
        self.quarters.past(cohort, counted)
    }

    /// The usual share of a cohort's enrolled requests that end in an error; `None` = not known.
    pub fn error_rate(&self, cohort: &str) -> Option<Ratio> {
        self.quarters.error_rate(cohort)
    }

    /// A cohort's usual median first token with primaries alone; `None` = not known.
    pub fn median(&self, cohort: &str) -> Option<Duration> {
        self.quarters.median(cohort)
    }

    /// How much hedging shortens a cohort's 99th percentile lately, but not before `from`; `None` = not known.
    pub fn tail_gain(&self, cohort: &str, counted: &Cumulative, from: Moment) -> Option<TailGain> {
        self.quarters.tail_gain(cohort, counted, from)
    }

    /// What is worth keeping over a restart.
    pub fn save(&self) -> Saved {
        Saved::new(self.day.clone(), self.quarters.save())
    }

    /// Goes on from what another process saved.
    pub fn restore(&mut self, saved: Saved, now: Moment) {
        self.day = saved.day;
        self.quarters.restore(saved.quarters, now);
    }
}
