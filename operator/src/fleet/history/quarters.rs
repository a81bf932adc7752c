//! Quarter hours of a fleet's cohorts: what traffic too thin for a ring of ten minutes is judged by, and what is normal.
//!
//! Inputs: counters that only grow. Outputs: sums of up to a day for wider windows, the usual error rate and median of the
//! last hour, and the gain at the tail since a recent boundary. Quarters follow the wall clock. One that was not observed
//! from its start counts in sums and never for what is normal. It refuses to guess: too little data gives `None`.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use hedgerow_config::state::CohortCounters;
use hedgerow_policy::{
    guardrail::{Past, Ratio, TailGain},
    time::Moment,
};
use serde::{Deserialize, Serialize};

use crate::{
    domain::{counting::Counting as _, guardrail},
    scrape::{CohortCumulative, Cumulative},
};

/// Seconds of a quarter of an hour.
const QUARTER: u64 = 900;
/// Quarters of a day.
const KEPT: usize = 96;
/// Quarters from which a median is normal: an hour (resilience notes 4(g)).
const HOUR: usize = 4;
/// Samples below which the median of a quarter says nothing.
const MEDIAN_SAMPLES: u64 = 50;
/// Originals below which an error rate is not normal yet.
const NORMAL_ORIGINALS: u64 = 200;

/// One quarter hour of one cohort.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Quarter {
    /// Seconds since 1970, when it began to be observed.
    start_unix_s: u64,
    /// It was observed from its start.
    whole: bool,
    counters: CohortCounters,
    /// Median first token with primaries alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    median_ms: Option<u64>,
    /// Samples behind it.
    samples: u64,
}

/// Counters at a boundary.
#[derive(Clone, Debug)]
struct Mark {
    at: Moment,
    whole: bool,
    cohorts: BTreeMap<String, CohortCumulative>,
}

/// The last day, by cohort, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Quarters {
    by_cohort: BTreeMap<String, VecDeque<Quarter>>,
    /// The last two boundaries.
    marks: VecDeque<Mark>,
}

impl Quarters {
    /// Takes in where the counters are at `now` (Unix time); closes the quarter where its time is over.
    pub(super) fn observe(&mut self, counted: &Cumulative, now: Moment) {
        let index = |at: Moment| at.as_secs() / QUARTER;
        let last = self.marks.back();
        if last.is_some_and(|mark| index(mark.at) == index(now)) {
            return;
        }
        // After a pause the counters since the mark are of no single quarter, and a mark now is at no boundary.
        let whole = last.is_some_and(|mark| index(now) == index(mark.at) + 1);
        if let Some(mark) = last {
            for (name, cohort) in &counted.cohorts {
                let then = mark.cohorts.get(name).cloned().unwrap_or_default();
                let quarter = Quarter::of(&cohort.since(&then), mark.at, mark.whole && whole);
                let quarters = self.by_cohort.entry(name.clone()).or_default();
                quarters.push_back(quarter);
            }
        }
        self.marks.push_back(Mark { at: now, whole, cohorts: counted.cohorts.clone() });
        while self.marks.len() > 2 {
            self.marks.pop_front();
        }
        self.prune(now);
    }

    fn prune(&mut self, now: Moment) {
        let oldest = now.as_secs().saturating_sub(QUARTER * KEPT as u64);
        for quarters in self.by_cohort.values_mut() {
            quarters.retain(|quarter| {
                quarter.start_unix_s >= oldest && quarter.counters != CohortCounters::default()
            });
        }
        self.by_cohort.retain(|_, quarters| !quarters.is_empty());
    }

    /// Sums of a cohort, newest first, for windows that the ring cannot fill.
    pub(super) fn past(&self, cohort: &str, counted: &Cumulative) -> Vec<Past> {
        let mut past = Vec::new();
        if let (Some(mark), Some(now)) = (self.marks.back(), counted.cohorts.get(cohort)) {
            let then = mark.cohorts.get(cohort).map(|then| &then.total);
            let open = then.and_then(|then| now.total.minus(then)).unwrap_or_else(|| now.total.clone());
            past.push((mark.at, guardrail::tally(&open)));
        }
        for quarter in self.by_cohort.get(cohort).into_iter().flatten().rev() {
            past.push((Moment::from_secs(quarter.start_unix_s), guardrail::tally(&quarter.counters)));
        }
        past
    }

    /// The usual share of enrolled requests that end in an error: over the last whole hour, or further back where that holds
    /// too few.
    pub(super) fn error_rate(&self, cohort: &str) -> Option<Ratio> {
        let (mut errors, mut originals) = (0, 0);
        for (age, quarter) in self.normal(cohort).enumerate() {
            if age >= HOUR && originals >= NORMAL_ORIGINALS {
                break;
            }
            errors += quarter.counters.errors;
            originals += quarter.counters.originals;
        }
        (originals >= NORMAL_ORIGINALS).then(|| Ratio::of(errors, originals))
    }

    /// The usual median with primaries alone: the middle one of the last whole hour's.
    pub(super) fn median(&self, cohort: &str) -> Option<Duration> {
        let enough = |quarter: &&Quarter| quarter.samples >= MEDIAN_SAMPLES;
        let mut medians: Vec<u64> =
            self.normal(cohort).filter(enough).take(HOUR).filter_map(|quarter| quarter.median_ms).collect();
        medians.sort_unstable();
        let middle = medians.get(medians.len().checked_sub(1)? / 2)?;
        Some(Duration::from_millis(*middle))
    }

    /// How much hedging has shortened the 99th percentile since the older of the last two boundaries after `from`.
    pub(super) fn tail_gain(&self, cohort: &str, counted: &Cumulative, from: Moment) -> Option<TailGain> {
        let mark = self.marks.iter().find(|mark| mark.whole && mark.at >= from)?;
        let since = counted.cohorts.get(cohort)?.since(mark.cohorts.get(cohort)?);
        gain(&since)
    }

    fn normal(&self, cohort: &str) -> impl Iterator<Item = &Quarter> {
        self.by_cohort.get(cohort).into_iter().flatten().rev().filter(|quarter| quarter.whole)
    }

    /// What is worth keeping over a restart.
    pub(super) fn save(&self) -> BTreeMap<String, Vec<Quarter>> {
        self.by_cohort
            .iter()
            .map(|(name, quarters)| (name.clone(), quarters.iter().cloned().collect()))
            .collect()
    }

    /// Goes on from there.
    pub(super) fn restore(&mut self, saved: BTreeMap<String, Vec<Quarter>>, now: Moment) {
        self.by_cohort = saved.into_iter().map(|(name, quarters)| (name, quarters.into())).collect();
        self.prune(now);
    }
}

impl Quarter {
    fn of(cohort: &CohortCumulative, start: Moment, whole: bool) -> Self {
        let estimate = cohort.without_hedging();
        let counters = CohortCounters { extra_by_route: BTreeMap::new(), ..cohort.total.clone() };
        Self {
            start_unix_s: start.as_secs(),
            whole,
            counters,
            median_ms: estimate.p50.map(|median| u64::try_from(median.as_millis()).unwrap_or(u64::MAX)),
            samples: estimate.samples as u64,
        }
    }
}

/// The gain with the upper end of its 95 % interval: what users saw at its best against primaries alone at their worst.
fn gain(cohort: &CohortCumulative) -> Option<TailGain> {
    let (seen, alone) = (cohort.first_token(), cohort.without_hedging());
    let per_mille = |with: Duration, without: Duration| {
        let gain = 1.0 - with.as_secs_f64() / without.as_secs_f64().max(f64::MIN_POSITIVE);
        (gain.clamp(0.0, 1.0) * 1_000.0).round() as u32
    };
    Some(TailGain {
        per_mille: per_mille(seen.p99?, alone.p99?),
        upper_per_mille: per_mille(seen.p99_low.or(seen.p99)?, alone.p99_high?),
        requests: seen.samples as u64,
    })
}

#[cfg(test)]
#[path = "quarters_tests.rs"]
mod tests;
