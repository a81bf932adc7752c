//! The median of one window, in the buckets of [`crate::latency`]: 1 KB, no allocation while recording.

use std::time::Duration;

use crate::latency::{BUCKETS, bucket_of, lower_bound, upper_bound};

/// Durations of one window. Ratios are recorded as durations, 1.0 = one second.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    counts: Box<[u32]>,
    total: u32,
}

impl Histogram {
    pub(super) fn new() -> Self {
        Self { counts: vec![0; BUCKETS].into(), total: 0 }
    }

    pub(super) fn record(&mut self, value: Duration) {
        self.counts[usize::from(bucket_of(value))] += 1;
        self.total += 1;
    }

    pub(super) fn total(&self) -> u32 {
        self.total
    }

    /// The median, linear inside its bucket; `None` when empty.
    pub(super) fn median(&self) -> Option<Duration> {
        let half = f64::from(self.total) / 2.0;
        let mut below = 0.0;
        for (bucket, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let count = f64::from(*count);
            if below + count >= half {
                let (low, high) = (lower_bound(bucket as u16), upper_bound(bucket as u16));
                let width = if high == Duration::MAX { Duration::ZERO } else { high.saturating_sub(low) };
                return Some(low + width.mul_f64((half - below) / count));
            }
            below += count;
        }
        None
    }

    pub(super) fn clear(&mut self) {
        self.counts.fill(0);
        self.total = 0;
    }
}
