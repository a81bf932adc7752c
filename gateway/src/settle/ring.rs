//! The last 10 min of a cohort in 10 s buckets, and the sums since the start of the process.
//!
//! Buckets are aligned to wall-clock multiples of 10 s, so that the operator can add pods bucket by bucket. Sums never
//! decay. Empty buckets are left out.

use std::collections::VecDeque;

use hedgerow_config::state::{BUCKET_SECONDS, BUCKETS, CohortBucket, CohortCounters};

/// Ring and sums of one cohort.
#[derive(Debug, Default)]
pub struct CohortRing {
    buckets: VecDeque<CohortBucket>,
    total: CohortCounters,
}

impl CohortRing {
    /// Adds `change` to the bucket of `unix_s` and to the sums.
    pub fn add(&mut self, unix_s: u64, change: &CohortCounters) {
        accumulate(&mut self.total, change);
        let start = unix_s - unix_s % BUCKET_SECONDS;
        // Time never runs backwards here (runtime::clock), so the newest bucket is the last one.
        if self.buckets.back().is_none_or(|bucket| bucket.start_unix_s < start) {
            self.buckets.push_back(CohortBucket { start_unix_s: start, counters: CohortCounters::default() });
        }
        if let Some(bucket) = self.buckets.back_mut() {
            accumulate(&mut bucket.counters, change);
        }
        self.forget(unix_s);
    }

    /// Buckets of the last 10 min, oldest first.
    pub fn buckets(&mut self, unix_s: u64) -> Vec<CohortBucket> {
        self.forget(unix_s);
        self.buckets.iter().cloned().collect()
    }

    /// Sums since the start of the process.
    pub fn total(&self) -> &CohortCounters {
        &self.total
    }

    /// Hedges over originals of the last 10 min; `None` without originals.
    pub fn duplicate_rate(&self) -> Option<f64> {
        let (hedges, originals) = self.buckets.iter().fold((0, 0), |(hedges, originals), bucket| {
            (hedges + bucket.counters.hedges, originals + bucket.counters.originals)
        });
        (originals > 0).then(|| hedges as f64 / originals as f64)
    }

    fn forget(&mut self, unix_s: u64) {
        let oldest = (unix_s - unix_s % BUCKET_SECONDS).saturating_sub(BUCKET_SECONDS * (BUCKETS as u64 - 1));
        while self.buckets.front().is_some_and(|bucket| bucket.start_unix_s < oldest) {
            self.buckets.pop_front();
        }
    }
}

fn accumulate(sum: &mut CohortCounters, change: &CohortCounters) {
    sum.originals += change.originals;
    sum.not_enrolled += change.not_enrolled;
    sum.hedges += change.hedges;
    sum.wins += change.wins;
    sum.withheld += change.withheld;
    sum.thinned += change.thinned;
    sum.errors += change.errors;
    sum.objective_met += change.objective_met;
    sum.objective_measured += change.objective_measured;
    sum.audited += change.audited;
    sum.late += change.late;
    sum.cost += change.cost;
    sum.cost_without += change.cost_without;
    sum.cost_lost += change.cost_lost;
    sum.cost_retries += change.cost_retries;
    sum.cost_estimated += change.cost_estimated;
    sum.unpriced_tokens += change.unpriced_tokens;
    sum.unpriced_tokens_without += change.unpriced_tokens_without;
    sum.answers += change.answers;
    sum.answers_ms += change.answers_ms;
    sum.answers_tokens += change.answers_tokens;
    sum.slow_answers += change.slow_answers;
    sum.slow_answers_ms += change.slow_answers_ms;
    sum.slow_answers_tokens += change.slow_answers_tokens;
    for (route, extra) in &change.extra_by_route {
        *sum.extra_by_route.entry(route.clone()).or_default() += *extra;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_minutes_are_kept_and_the_sums_keep_everything() {
        let mut ring = CohortRing::default();
        let one = CohortCounters { originals: 1, hedges: 1, ..CohortCounters::default() };
        for second in 0..1_200 {
            ring.add(1_000_000 + second, &one);
        }
        let buckets = ring.buckets(1_001_199);
        assert_eq!(buckets.len(), BUCKETS);
        assert!(buckets.iter().all(|bucket| bucket.start_unix_s % BUCKET_SECONDS == 0));
        assert_eq!(buckets.iter().map(|bucket| bucket.counters.originals).sum::<u64>(), 600);
        assert_eq!(ring.total().originals, 1_200);
        assert!(ring.buckets(2_000_000).is_empty(), "old buckets go even when nothing happens");
    }
}
