//! What a fleet remembers beyond the ten minutes of its pods' rings: the day's spend and the last day by quarter hours.
//!
//! Inputs: readings and their sums, moments. Outputs: figures for guardrails and statuses, and [`Saved`], which another
//! process goes on from. Invariants: spend is in exact integers; what is lost with the memory is data, and missing data
//! trips nothing. It refuses to know where it is kept.

mod day;
mod quarters;

use std::{collections::BTreeMap, time::Duration};

use hedgerow_config::State;
use hedgerow_policy::{
    guardrail::{Past, Ratio, TailGain},
    time::Moment,
};
use serde::{Deserialize, Serialize};

use self::{day::Day, quarters::Quarters};
use crate::{domain::spent::Spent, scrape::Cumulative};
pub use quarters::Quarter;

/// Version of the saved form.
pub const SCHEMA: &str = "hedgerow.dev/history/v1";

/// The memory.
#[derive(Clone, Debug, Default)]
pub struct History {
    day: Day,
    quarters: Quarters,
}

/// What another process goes on from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Saved {
    schema: String,
    day: Day,
    /// By cohort, oldest first.
    quarters: BTreeMap<String, Vec<Quarter>>,
}

/// A saved history that cannot be gone on from.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// Not in the form.
    #[error("the saved history is not readable ({0}); spend and baselines start anew")]
    Form(#[from] serde_json::Error),
    /// Written by another version.
    #[error("the saved history has the schema {0}, and {SCHEMA} is known here; spend and baselines start anew")]
    Schema(String),
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
        Saved { schema: SCHEMA.to_owned(), day: self.day.clone(), quarters: self.quarters.save() }
    }

    /// Goes on from what another process saved.
    pub fn restore(&mut self, saved: Saved, now: Moment) {
        self.day = saved.day;
        self.quarters.restore(saved.quarters, now);
    }
}

impl Saved {
    /// The bytes to keep, at most `limit`: the oldest quarters are left out where all would be more.
    pub fn write(&self, limit: usize, pack: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
        let mut kept = self.clone();
        loop {
            let bytes = pack(&serde_json::to_vec(&kept).unwrap_or_default());
            let longest = kept.quarters.values().map(Vec::len).max().unwrap_or(0);
            if bytes.len() <= limit || longest == 0 {
                return bytes;
            }
            for quarters in kept.quarters.values_mut() {
                let surplus = quarters.len().saturating_sub(longest / 2);
                quarters.drain(..surplus);
            }
        }
    }

    /// Reads what [`Saved::write`] made, unpacked.
    ///
    /// # Errors
    /// Not the form of this version.
    pub fn read(json: &[u8]) -> Result<Self, HistoryError> {
        let saved: Self = serde_json::from_slice(json)?;
        if saved.schema == SCHEMA { Ok(saved) } else { Err(HistoryError::Schema(saved.schema)) }
    }
}
