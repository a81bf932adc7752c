//! The pods of one fleet over time: cumulative counters in, what happened since out.
//!
//! A *life* is one process: (pod uid, start). Inside a life counters only grow; a counter that fell means that something is
//! wrong with the pair of readings, so that difference is discarded and counted, and the later reading is the new base. A
//! cell's generation starts its counts again from zero. What ended lives had counted stays.
//!
//! A life that had begun before this store (the operator was restarted, leadership moved) brings its history once; its
//! latency samples enter at the weight of [`HISTORY`] samples per cell, so that fresh ones soon outweigh them.

use std::{collections::BTreeMap, time::Duration};

use hedgerow_config::{
    State,
    state::{CellState, CohortReport, LaneState, RouteState, Sparse},
};
use hedgerow_policy::{
    latency::{Counts, lower_bound},
    time::Moment,
};

use super::Cumulative;
use crate::domain::counting::Counting;
use hedgerow_config::state::CellKey;

/// A pod that could not be read for this long says nothing about the present any more.
pub const STALE: Duration = Duration::from_secs(15);
/// Rings reach back this far, so an ended life is kept as long.
const KEPT: Duration = Duration::from_mins(10);
/// Most latency samples per cell that a life brings from before this store.
const HISTORY: u64 = 200;
/// Most ages in flight that one cell reports; more would not change a curve.
const MAX_AGES: u64 = 10_000;

/// One process and the last reading of it.
#[derive(Clone, Debug)]
pub struct Life {
    /// The last reading.
    pub state: State,
    /// When it was taken, Unix time.
    pub read: Moment,
}

impl Life {
    /// Whether the last reading says something about the present.
    pub fn fresh(&self, now: Moment) -> bool {
        now.since(self.read) < STALE
    }
}

/// All lives of a fleet and what they have counted.
#[derive(Clone, Debug)]
pub struct Store {
    born: Moment,
    lives: BTreeMap<(String, u64), Life>,
    counted: Cumulative,
    discarded: u64,
}

impl Store {
    /// An empty store, made at `now` (Unix time).
    pub fn new(now: Moment) -> Self {
        Self { born: now, lives: BTreeMap::new(), counted: Cumulative::default(), discarded: 0 }
    }

    /// Takes in one reading. Call it only for a successful read: a missing one is no reading.
    pub fn observe(&mut self, state: State, now: Moment) {
        let key = (state.pod.uid.clone(), state.pod.started_unix_ms);
        let old = self.lives.remove(&key);
        let history = old.is_none() && state.pod.started_unix_ms < self.born.as_millis();
        let before = old.as_ref().map(|life| &life.state);
        for cell in &state.cells {
            self.cell(cell, before, history);
        }
        for cohort in &state.cohorts {
            self.cohort(cohort, before);
        }
        for lane in &state.lanes {
            self.lane(lane, before);
        }
        for route in &state.routes {
            self.route(route, before);
        }
        let spend = match before {
            Some(before) => state.spend.minus(&before.spend),
            None => Some(state.spend.clone()),
        };
        match spend {
            Some(spend) => self.counted.spend.plus(&spend),
            None => self.discarded += 1,
        }
        self.lives.insert(key, Life { state, read: now });
        self.lives.retain(|_, life| now.since(life.read) < KEPT);
    }

    /// Everything counted so far.
    pub fn counted(&self) -> &Cumulative {
        &self.counted
    }

    /// Differences thrown away because a counter fell.
    pub fn discarded(&self) -> u64 {
        self.discarded
    }

    /// Every life of the last ten minutes, ended ones included: their rings still count.
    pub fn lives(&self) -> impl Iterator<Item = &Life> {
        self.lives.values()
    }

    /// The running processes that were read lately: of each pod the latest life.
    pub fn present(&self, now: Moment) -> impl Iterator<Item = &Life> {
        let mut latest: BTreeMap<&str, &Life> = BTreeMap::new();
        for ((uid, _), life) in &self.lives {
            // Keys ascend by start, so a later life of the same pod replaces the earlier one.
            latest.insert(uid, life);
        }
        latest.into_values().filter(move |life| life.fresh(now))
    }

    /// Forgets a pod that was ended on purpose from the present; its counts and its ring stay.
    pub fn ended(&mut self, uid: &str, now: Moment) {
        for ((_, _), life) in self.lives.iter_mut().filter(|((name, _), _)| name == uid) {
            life.read = life.read.min(now - STALE);
        }
    }

    /// Ages of attempts in flight, by cell, over the present processes.
    pub fn in_flight(&self, now: Moment) -> BTreeMap<CellKey, Vec<Duration>> {
        let mut ages: BTreeMap<CellKey, Vec<Duration>> = BTreeMap::new();
        for cell in self.present(now).flat_map(|life| &life.state.cells) {
            for (bucket, count) in &cell.in_flight {
                let age = lower_bound(*bucket);
                let count = usize::try_from(*count.min(&MAX_AGES)).unwrap_or(0);
                ages.entry(cell.key.clone()).or_default().extend(std::iter::repeat_n(age, count));
            }
        }
        ages
    }

    fn cell(&mut self, cell: &CellState, before: Option<&State>, history: bool) {
        let old = before.and_then(|state| {
            state.cells.iter().find(|old| old.key == cell.key && old.generation == cell.generation)
        });
        if old.is_some_and(|old| old.events == cell.events && old.censored == cell.censored) {
            return;
        }
        let new = dense(&cell.events, &cell.censored);
        let difference = match old {
            Some(old) => new.zip(dense(&old.events, &old.censored)).and_then(|(new, old)| new.minus(&old)),
            None if history => new.map(|new| thinned(&new, HISTORY)),
            None => new,
        };
        match difference {
            Some(difference) => {
                let cohort = self.counted.cohorts.entry(cell.key.cohort.clone()).or_default();
                cohort.cells.entry(cell.key.clone()).or_default().plus(&difference);
            }
            None => self.discarded += 1,
        }
    }

    fn cohort(&mut self, report: &CohortReport, before: Option<&State>) {
        let old = before.and_then(|state| {
            state.cohorts.iter().find(|old| old.cohort == report.cohort && old.policy == report.policy)
        });
        let total = old.map_or_else(|| Some(report.total.clone()), |old| report.total.minus(&old.total));
        let suppressed = old
            .map_or_else(|| Some(report.suppressed.clone()), |old| report.suppressed.minus(&old.suppressed));
        let users = sparse_difference(&report.user_latency, old.map(|old| &old.user_latency));
        let control = sparse_difference(&report.control_latency, old.map(|old| &old.control_latency));
        let (Some(total), Some(suppressed), Some(users), Some(control)) = (total, suppressed, users, control)
        else {
            self.discarded += 1;
            return;
        };
        let sum = self.counted.cohorts.entry(report.cohort.clone()).or_default();
        sum.total.plus(&total);
        sum.suppressed.plus(&suppressed);
        sum.users.plus(&users);
        sum.control.plus(&control);
    }

    fn lane(&mut self, lane: &LaneState, before: Option<&State>) {
        let old = before.and_then(|state| state.lanes.iter().find(|old| old.lane == lane.lane));
        let admitted = lane.admitted.checked_sub(old.map_or(0, |old| old.admitted));
        let shed = old.map_or_else(|| Some(lane.shed.clone()), |old| lane.shed.minus(&old.shed));
        let failed = lane.failed.checked_sub(old.map_or(0, |old| old.failed));
        let wait = sparse_difference(&lane.wait, old.map(|old| &old.wait));
        let (Some(admitted), Some(shed), Some(failed), Some(wait)) = (admitted, shed, failed, wait) else {
            self.discarded += 1;
            return;
        };
        let sum = self.counted.lanes.entry(lane.lane.clone()).or_default();
        sum.admitted.plus(&admitted);
        sum.shed.plus(&shed);
        sum.failed.plus(&failed);
        sum.wait.plus(&wait);
    }

    fn route(&mut self, route: &RouteState, before: Option<&State>) {
        let old = before.and_then(|state| state.routes.iter().find(|old| old.route == route.route));
        let outcomes =
            old.map_or_else(|| Some(route.outcomes.clone()), |old| route.outcomes.minus(&old.outcomes));
        let first_token = sparse_difference(&route.first_token, old.map(|old| &old.first_token));
        let (Some(outcomes), Some(first_token)) = (outcomes, first_token) else {
            self.discarded += 1;
            return;
        };
        let sum = self.counted.routes.entry(route.route.clone()).or_default();
        sum.outcomes.plus(&outcomes);
        sum.first_token.plus(&first_token);
    }
}

fn dense(events: &Sparse, censored: &Sparse) -> Option<Counts> {
    Counts::from_sparse(events.iter().copied(), censored.iter().copied()).ok()
}

fn sparse_difference(now: &Sparse, then: Option<&Sparse>) -> Option<Counts> {
    let now = dense(now, &Sparse::new())?;
    match then {
        Some(then) => now.minus(&dense(then, &Sparse::new())?),
        None => Some(now),
    }
}

/// The same shape with about `most` samples at most; rounding is to the nearest, so rare buckets may vanish.
fn thinned(counts: &Counts, most: u64) -> Counts {
    let total = counts.total();
    if total <= most {
        return counts.clone();
    }
    let scale = |(bucket, count): (u16, u64)| {
        let scaled = (u128::from(count) * u128::from(most) + u128::from(total) / 2) / u128::from(total);
        (bucket, u64::try_from(scaled).unwrap_or(u64::MAX))
    };
    Counts::from_sparse(counts.events().map(scale), counts.censored().map(scale)).unwrap_or_default()
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
