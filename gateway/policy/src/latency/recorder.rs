//! Where the data path writes: two arrays of atomic counters.
//!
//! Cumulative: never reset and never decayed, so that any number of readers (the pod's own delay, the
//! operator) can take deltas at their own pace. One relaxed increment per sample, about 3 ns, 4 KB per cell.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use super::bucket::{BUCKETS, bucket_of};
use super::counts::Counts;

/// Lock-free cumulative sample counters of one cell.
#[derive(Debug)]
pub struct Recorder {
    events: Box<[AtomicU64]>,
    censored: Box<[AtomicU64]>,
}

impl Recorder {
    /// An empty recorder.
    pub fn new() -> Self {
        let zeros = || (0..BUCKETS).map(|_| AtomicU64::new(0)).collect();
        Self { events: zeros(), censored: zeros() }
    }

    /// A first token arrived after `elapsed`.
    pub fn event(&self, elapsed: Duration) {
        self.events[usize::from(bucket_of(elapsed))].fetch_add(1, Relaxed);
    }

    /// The attempt ended after `elapsed` without a first token: how slow it would have been is unknown.
    pub fn censor(&self, elapsed: Duration) {
        self.censored[usize::from(bucket_of(elapsed))].fetch_add(1, Relaxed);
    }

    /// Copies the counters into `into`, overwriting it. Samples recorded meanwhile may or may not be seen;
    /// each counter on its own never goes backwards.
    pub fn read(&self, into: &mut Counts) {
        for (to, from) in into.events.iter_mut().zip(&self.events) {
            *to = from.load(Relaxed);
        }
        for (to, from) in into.censored.iter_mut().zip(&self.censored) {
            *to = from.load(Relaxed);
        }
    }

    /// The counters as a new [`Counts`].
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::new();
        self.read(&mut counts);
        counts
    }
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}
