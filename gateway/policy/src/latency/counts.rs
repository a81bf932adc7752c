//! Cumulative counters at one point in time, and the difference between two points.
//!
//! This is what `/state` carries (sparse) and what the operator adds up over pods. A counter that fell means
//! another process or another generation of the cell: such a pair has no difference, and the caller discards
//! the sample instead of inventing one.

use std::fmt;
use std::time::Duration;

use super::bucket::{BUCKETS, bucket_of, lower_bound, upper_bound};

/// Event and censored counters per bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    pub(super) events: Box<[u64]>,
    pub(super) censored: Box<[u64]>,
}

/// A sparse entry names a bucket that does not exist here (another version of the bounds).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownBucket(pub u16);

impl fmt::Display for UnknownBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "latency bucket {} does not exist (there are {BUCKETS}); discard this cell", self.0)
    }
}

impl std::error::Error for UnknownBucket {}

impl Counts {
    /// All zero.
    pub fn new() -> Self {
        Self { events: vec![0; BUCKETS].into(), censored: vec![0; BUCKETS].into() }
    }

    /// From sparse (bucket, count) pairs; repeated buckets add up.
    pub fn from_sparse(
        events: impl IntoIterator<Item = (u16, u64)>,
        censored: impl IntoIterator<Item = (u16, u64)>,
    ) -> Result<Self, UnknownBucket> {
        let mut counts = Self::new();
        fill(&mut counts.events, events)?;
        fill(&mut counts.censored, censored)?;
        Ok(counts)
    }

    /// Buckets that hold events, ascending.
    pub fn events(&self) -> impl Iterator<Item = (u16, u64)> {
        sparse(&self.events)
    }

    /// Buckets that hold censored samples, ascending.
    pub fn censored(&self) -> impl Iterator<Item = (u16, u64)> {
        sparse(&self.censored)
    }

    /// All samples, events and censored.
    pub fn total(&self) -> u64 {
        self.events.iter().chain(&self.censored).fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// Mean of the events, each taken as the middle of its bucket, the open one as its lower bound; `None` without any.
    pub fn mean(&self) -> Option<Duration> {
        let (mut sum, mut count) = (0.0, 0);
        for (bucket, events) in self.events() {
            let (low, high) = (lower_bound(bucket), upper_bound(bucket));
            let middle = if high == Duration::MAX { low } else { low + high.saturating_sub(low) / 2 };
            sum += middle.as_secs_f64() * events as f64;
            count += events;
        }
        (count > 0).then(|| Duration::try_from_secs_f64(sum / count as f64).unwrap_or_default())
    }

    /// Adds one event.
    pub fn event(&mut self, elapsed: Duration) {
        self.events[usize::from(bucket_of(elapsed))] += 1;
    }

    /// Adds one censored sample.
    pub fn censor(&mut self, elapsed: Duration) {
        self.censored[usize::from(bucket_of(elapsed))] += 1;
    }

    /// What happened between `earlier` and now; `None` when any counter fell.
    pub fn delta_since(&self, earlier: &Self) -> Option<Self> {
        let minus = |now: &[u64], then: &[u64]| -> Option<Box<[u64]>> {
            now.iter().zip(then).map(|(now, then)| now.checked_sub(*then)).collect()
        };
        Some(Self {
            events: minus(&self.events, &earlier.events)?,
            censored: minus(&self.censored, &earlier.censored)?,
        })
    }

    /// Adds another pod's or cell's counters.
    pub fn merge(&mut self, other: &Self) {
        for (to, from) in self.events.iter_mut().zip(&other.events) {
            *to = to.saturating_add(*from);
        }
        for (to, from) in self.censored.iter_mut().zip(&other.censored) {
            *to = to.saturating_add(*from);
        }
    }
}

impl Default for Counts {
    fn default() -> Self {
        Self::new()
    }
}

fn fill(dense: &mut [u64], sparse: impl IntoIterator<Item = (u16, u64)>) -> Result<(), UnknownBucket> {
    for (bucket, count) in sparse {
        let slot = dense.get_mut(usize::from(bucket)).ok_or(UnknownBucket(bucket))?;
        *slot = slot.saturating_add(count);
    }
    Ok(())
}

fn sparse(dense: &[u64]) -> impl Iterator<Item = (u16, u64)> {
    dense.iter().enumerate().filter(|(_, count)| **count > 0).map(|(bucket, count)| (bucket as u16, *count))
}
