//! What a fleet's cohorts have spent since midnight UTC, exact across restarts of pods and of whoever adds them up.
//!
//! A process (pod uid and start) reports what it has spent since it began. Its part of the day is that less what it had
//! spent at midnight, or when it was first seen if it is older than the day: what came before is of unknown days, and a
//! ceiling must not trip over it. Both ends are remembered with the day, so that whoever reads the process again goes on
//! exactly, and a process that has ended meanwhile keeps the part that was seen.

use std::collections::BTreeMap;

use hedgerow_config::State;
use hedgerow_policy::time::Moment;
use serde::{Deserialize, Serialize};

use crate::domain::{counting::Counting as _, spent::Spent};

/// Seconds of a day.
const DAY: u64 = 86_400;
/// Processes that are remembered one by one; the parts of older ones are only kept as a sum.
const LIVES: usize = 1_000;

type Cohorts = BTreeMap<String, Spent>;

/// The day so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Day {
    /// Days since 1970, UTC.
    number: u64,
    /// Parts of processes that are not remembered one by one.
    gone: Cohorts,
    lives: Vec<Life>,
    /// The sum as of the last reading.
    #[serde(skip)]
    sum: Cohorts,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Life {
    uid: String,
    started_unix_ms: u64,
    /// At midnight, or when it was first seen.
    base: Cohorts,
    last: Cohorts,
}

impl Day {
    /// Takes in the latest readings, at `now` (Unix time).
    pub(super) fn observe<'a>(&mut self, states: impl IntoIterator<Item = &'a State>, now: Moment) {
        let today = now.as_secs() / DAY;
        if self.number != today {
            self.number = today;
            self.gone.clear();
            for life in &mut self.lives {
                life.base.clone_from(&life.last);
            }
        }
        for state in states {
            self.life(state).take(state);
        }
        let surplus = self.lives.len().saturating_sub(LIVES);
        for life in self.lives.drain(..surplus) {
            self.gone.plus(&life.part());
        }
        self.sum.clone_from(&self.gone);
        for life in &self.lives {
            self.sum.plus(&life.part());
        }
    }

    /// What a cohort has spent since midnight UTC.
    pub(super) fn of(&self, cohort: &str) -> Spent {
        self.sum.get(cohort).cloned().unwrap_or_default()
    }

    /// Whether nothing was spent.
    pub(super) fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.lives.iter().all(|life| life.last.is_empty())
    }

    fn life(&mut self, state: &State) -> &mut Life {
        let known = self
            .lives
            .iter()
            .position(|life| life.started_unix_ms == state.pod.started_unix_ms && life.uid == state.pod.uid);
        let at = known.unwrap_or_else(|| {
            let is_of_today = state.pod.started_unix_ms / 1_000 / DAY >= self.number;
            let base = if is_of_today { Cohorts::new() } else { spent(state) };
            self.lives.push(Life {
                uid: state.pod.uid.clone(),
                started_unix_ms: state.pod.started_unix_ms,
                last: base.clone(),
                base,
            });
            self.lives.len() - 1
        });
        &mut self.lives[at]
    }
}

impl Life {
    /// What fell is wrong and changes nothing.
    fn take(&mut self, state: &State) {
        for (cohort, spent) in spent(state) {
            let last = self.last.entry(cohort).or_default();
            if spent.minus(last).is_some() {
                *last = spent;
            }
        }
    }

    fn part(&self) -> Cohorts {
        let since = |(cohort, last): (&String, &Spent)| {
            let base = self.base.get(cohort).cloned().unwrap_or_default();
            (cohort.clone(), last.minus(&base).unwrap_or_default())
        };
        self.last.iter().map(since).collect()
    }
}

/// What a process says that it has spent, by cohort; cohorts without any are left out.
fn spent(state: &State) -> Cohorts {
    let mut sum = Cohorts::new();
    for report in &state.cohorts {
        let spent = Spent::from(&report.total);
        if !spent.is_nothing() {
            sum.entry(report.cohort.clone()).or_default().plus(&spent);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use hedgerow_config::money::Picos;

    use super::*;
    use crate::domain::guardrail::fixture;

    const MIDNIGHT: u64 = 20_000 * DAY;

    fn pod(uid: &str, started: u64, cost: u128) -> State {
        let mut state = fixture::state(uid, Vec::new());
        state.pod.started_unix_ms = started * 1_000;
        state.cohorts[0].total.cost = Picos(cost);
        state
    }

    fn cost(day: &Day) -> u128 {
        day.of(&fixture::key().cohort).cost.0
    }

    fn at(seconds: u64) -> Moment {
        Moment::from_secs(MIDNIGHT + seconds)
    }

    #[test]
    fn a_day_counts_from_midnight_and_of_an_older_process_from_when_it_was_first_seen() {
        let mut day = Day::default();
        let old = MIDNIGHT - 5;
        day.observe([&pod("old", old, 700), &pod("new", MIDNIGHT + 10, 30)], at(20));
        assert_eq!(cost(&day), 30);
        day.observe([&pod("old", old, 750), &pod("new", MIDNIGHT + 10, 40)], at(30));
        assert_eq!(cost(&day), 90);
        day.observe([&pod("old", old, 760), &pod("new", MIDNIGHT + 10, 40)], at(DAY + 1));
        assert_eq!(cost(&day), 10, "the next day");
    }

    #[test]
    fn a_restart_goes_on_exactly_and_keeps_what_ended_meanwhile() {
        let mut day = Day::default();
        day.observe([&pod("a", MIDNIGHT - 5, 700), &pod("b", MIDNIGHT + 1, 5)], at(20));
        day.observe([&pod("a", MIDNIGHT - 5, 710), &pod("b", MIDNIGHT + 1, 9)], at(30));
        let saved = serde_json::to_vec(&day).unwrap();
        let mut next: Day = serde_json::from_slice(&saved).unwrap();
        next.observe([&pod("a", MIDNIGHT - 5, 800)], at(400));
        assert_eq!(cost(&next), 100 + 9, "what came between writing and reading is not lost");
    }

    #[test]
    fn a_counter_that_fell_changes_nothing_and_a_new_process_of_the_pod_adds() {
        let mut day = Day::default();
        day.observe([&pod("a", MIDNIGHT + 1, 50)], at(20));
        day.observe([&pod("a", MIDNIGHT + 1, 7)], at(30));
        assert_eq!(cost(&day), 50);
        day.observe([&pod("a", MIDNIGHT + 40, 7)], at(50));
        assert_eq!(cost(&day), 57);
    }

    #[test]
    fn of_very_many_processes_the_sum_is_kept() {
        let mut day = Day::default();
        for life in 0..LIVES as u64 + 50 {
            day.observe([&pod("a", MIDNIGHT + life, 2)], at(life + 1));
        }
        assert_eq!(day.lives.len(), LIVES);
        assert_eq!(cost(&day), 2 * (LIVES as u128 + 50));
    }
}
