//! The pods' ten-minute rings of one cohort, added up.
//!
//! A ring's buckets are aligned to the wall clock, so adding pods, and the earlier lives of restarted pods, is plain
//! addition. Data from before the last trip is left out (`from`): a trial and the time after it are judged by themselves.
//!
//! Extra spend is compared in money, unless no attempt in the window was priced: then in tokens. Of a mix, the priced part
//! decides; the policy crate says so in its reading.

use std::{collections::BTreeMap, time::Duration};

use hedgerow_config::{
    State,
    money::Picos,
    state::{BUCKET_SECONDS, BUCKETS, CohortBucket, CohortCounters},
};
use hedgerow_policy::{
    guardrail::{Ring, Tally},
    time::Moment,
};

use crate::domain::{counting::Counting as _, decision::CohortKey};

/// One cohort's rings.
#[derive(Clone, Debug)]
pub struct Rings {
    /// Over all pods.
    pub sum: Ring,
    /// Of each pod and life that has data.
    pub pods: Vec<Ring>,
    extra_by_route: BTreeMap<u64, BTreeMap<String, Picos>>,
}

/// What the bucket of a moment held at that moment, by pod life: it is taken off when only what came later counts.
#[derive(Clone, Debug, Default)]
pub struct Base {
    index: u64,
    lives: BTreeMap<(String, u64), CohortCounters>,
}

impl Base {
    /// Notes the bucket of `now` (Unix time).
    pub fn at<'a>(states: impl IntoIterator<Item = &'a State>, key: &CohortKey, now: Moment) -> Self {
        let index = now.as_secs() / BUCKET_SECONDS;
        let mut lives = BTreeMap::new();
        for state in states {
            let present = buckets(state, key).find(|bucket| bucket.start_unix_s / BUCKET_SECONDS == index);
            lives.extend(present.map(|bucket| (life(state), bucket.counters.clone())));
        }
        Self { index, lives }
    }

    /// What came after the note, of a bucket of one life.
    fn later(&self, state: &State, index: u64, counters: &CohortCounters) -> CohortCounters {
        let before = self.lives.get(&life(state)).filter(|_| index == self.index);
        before.and_then(|before| counters.minus(before)).unwrap_or_else(|| counters.clone())
    }
}

fn life(state: &State) -> (String, u64) {
    (state.pod.uid.clone(), state.pod.started_unix_ms)
}

fn buckets<'a>(state: &'a State, key: &'a CohortKey) -> impl Iterator<Item = &'a CohortBucket> {
    state
        .cohorts
        .iter()
        .filter(|report| report.policy == key.policy && report.cohort == key.cohort)
        .flat_map(|report| &report.ring)
}

impl Rings {
    /// Adds up what `states` say about the cohort: buckets that are not over at `from`, of the last 10 min before `now`
    /// (Unix time), without what `base` held already.
    pub fn of<'a>(
        states: impl IntoIterator<Item = &'a State>,
        key: &CohortKey,
        from: Moment,
        base: &Base,
        now: Moment,
    ) -> Self {
        let newest = now.as_secs() / BUCKET_SECONDS;
        let oldest = newest.saturating_sub(BUCKETS as u64 - 1).max(from.as_secs() / BUCKET_SECONDS);
        let mut rings = Self { sum: Ring::new(), pods: Vec::new(), extra_by_route: BTreeMap::new() };
        for state in states {
            let mut pod = None;
            for bucket in buckets(state, key) {
                let index = bucket.start_unix_s / BUCKET_SECONDS;
                // A clock that runs ahead must not push out what is true now.
                if (oldest..=newest + 1).contains(&index) {
                    let counters = base.later(state, index, &bucket.counters);
                    rings.add(index, &counters);
                    pod.get_or_insert_with(Ring::new).merge(index, &tally(&counters));
                }
            }
            rings.pods.extend(pod);
        }
        rings
    }

    /// What each route's extra attempts added, over the last `span`.
    pub fn extra_by_route(&self, now: Moment, span: Duration) -> BTreeMap<String, Picos> {
        let first = (now - span).as_secs() / BUCKET_SECONDS;
        let mut sum: BTreeMap<String, Picos> = BTreeMap::new();
        for routes in self.extra_by_route.range(first..).map(|(_, routes)| routes) {
            sum.plus(routes);
        }
        sum
    }

    fn add(&mut self, index: u64, counters: &CohortCounters) {
        self.sum.merge(index, &tally(counters));
        self.extra_by_route.entry(index).or_default().plus(&counters.extra_by_route);
    }
}

/// Counters in the words of the policy crate.
pub fn tally(counters: &CohortCounters) -> Tally {
    Tally {
        originals: counters.originals,
        originals_errors: counters.errors,
        firings: counters.hedges + counters.withheld + counters.thinned,
        hedges: counters.hedges,
        hedge_wins: counters.wins,
        withheld: counters.withheld,
        thinned: counters.thinned,
        audited: counters.audited,
        late: counters.late,
        deadline_misses: counters.objective_measured.saturating_sub(counters.objective_met),
        // The report does not tell primaries from hedges; only their sum is compared.
        primaries_cost: counters.cost.0,
        losers_cost: counters.cost_lost.0,
        retries_cost: counters.cost_retries.0,
        primaries_alone_cost: counters.cost_without.0,
        tokens_total: counters.unpriced_tokens,
        tokens_alone: counters.unpriced_tokens_without,
        answers: counters.answers,
        answers_ms: counters.answers_ms,
        answers_tokens: counters.answers_tokens,
        slow_answers: counters.slow_answers,
        slow_answers_ms: counters.slow_answers_ms,
        slow_answers_tokens: counters.slow_answers_tokens,
        ..Tally::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::guardrail::fixture::{bucket, key, state};

    const NOW: Moment = Moment::from_secs(1_000_005);

    fn originals(rings: &Rings, back: u64) -> u64 {
        rings.sum.sum(NOW, Duration::from_secs(back)).originals
    }

    #[test]
    fn pods_add_up_and_other_cohorts_do_not_count() {
        let here = state("a", vec![bucket(999_990, 30, 1), bucket(1_000_000, 5, 0)]);
        let mut there = state("b", vec![bucket(999_990, 12, 1)]);
        there.cohorts.push(hedgerow_config::state::CohortReport {
            cohort: "other".into(),
            ..there.cohorts[0].clone()
        });
        let rings = Rings::of([&here, &there], &key(), Moment::ZERO, &Base::default(), NOW);
        assert_eq!((originals(&rings, 300), rings.pods.len()), (47, 2));
    }

    #[test]
    fn buckets_before_the_last_trip_or_out_of_reach_are_left_out() {
        let state = state(
            "a",
            vec![
                bucket(999_000, 1, 0),
                bucket(999_950, 2, 0),
                bucket(999_960, 4, 0),
                bucket(2_000_000, 8, 0),
            ],
        );
        let all = Rings::of([&state], &key(), Moment::ZERO, &Base::default(), NOW);
        assert_eq!(originals(&all, 600), 6, "neither the one that is too old nor the one from a wrong clock");
        let since = Rings::of([&state], &key(), Moment::from_secs(999_965), &Base::default(), NOW);
        assert_eq!(originals(&since, 600), 4, "the bucket in which the trip fell is not over at the trip");
    }

    #[test]
    fn what_a_bucket_held_before_a_trial_does_not_count_for_it() {
        let before = state("a", vec![bucket(1_000_000, 30, 9)]);
        let base = Base::at([&before], &key(), NOW);
        let after = state("a", vec![bucket(1_000_000, 42, 9), bucket(1_000_010, 8, 0)]);
        let later = Moment::from_secs(1_000_015);
        let rings = Rings::of([&after], &key(), NOW, &base, later);
        let sum = rings.sum.sum(later, Duration::from_mins(1));
        assert_eq!((sum.originals, sum.hedges), (20, 0));
    }
}
