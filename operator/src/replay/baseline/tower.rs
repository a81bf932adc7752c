//! tower::hedge (tower 0.5, `src/hedge/{mod,rotating_histogram,select}.rs`).
//!
//! Two histograms take turns each `period`: the one of the last period is read, the other written. The delay is the
//! read one's percentile; no hedge while it holds fewer than `min_data_points`. Both attempts of a call share the
//! histogram, and an attempt is recorded when *it* completes: a cancelled loser never is. There is no budget; the policy's
//! `can_retry` is asked after the delay. Values of the crate's documentation: 10 data points; percentile and period are the
//! user's, here 0.95 and 30 s like ours.

use std::time::Duration;

use hedgerow_policy::{
    latency::{Counts, Curve, Decayed, Quantile},
    ledger::Kind,
    time::Moment,
};

use super::{Ended, Rival};

const PERIOD: Duration = Duration::from_secs(30);
const MIN_DATA_POINTS: u64 = 10;
const PERCENTILE: f64 = 0.95;

/// One client's rotating histograms.
pub struct Tower {
    read: Counts,
    write: Counts,
    rotated: Moment,
    delay: Option<Duration>,
}

impl Tower {
    /// Empty.
    pub fn boxed() -> Box<dyn Rival> {
        let (read, write) = (Counts::new(), Counts::new());
        Box::new(Self { read, write, rotated: Moment::ZERO, delay: None })
    }

    fn rotate(&mut self, now: Moment) {
        let idle = now - self.rotated;
        if idle < PERIOD {
            return;
        }
        // After two periods without a call both are stale and cleared.
        let written = std::mem::take(&mut self.write);
        self.read = if idle < PERIOD * 2 { written } else { Counts::new() };
        self.rotated = now;
        let enough = self.read.total() >= MIN_DATA_POINTS;
        let curve = Curve::new(&Decayed::from(&self.read), &[]);
        self.delay = curve.quantile(PERCENTILE).filter(|_| enough).map(Quantile::bound);
    }
}

impl Rival for Tower {
    fn original(&mut self, now: Moment) {
        self.rotate(now);
    }

    fn delay(&mut self, now: Moment, _route: u8) -> Option<Duration> {
        self.rotate(now);
        self.delay
    }

    fn take(&mut self, _now: Moment) -> bool {
        true
    }

    fn ended(&mut self, now: Moment, _route: u8, _kind: Kind, elapsed: Duration, how: Ended) {
        self.rotate(now);
        if how == Ended::Answered {
            self.write.event(elapsed);
        }
    }

    fn answered(&mut self, _now: Moment, _route: u8, _elapsed: Duration) {}
}
