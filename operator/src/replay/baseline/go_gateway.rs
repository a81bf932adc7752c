//! The gateway of "Hedged Requests and Load Shedding: Finishing the Go LLM Gateway Resilience Stack", as its code says.
//!
//! Per region a reservoir of 512 samples, replaced at random, fed with what the *user* waited, successes only. The delay is
//! its 95th percentile, sorted every 30 s, within 1 to 8 s; 4 s below 32 samples. A hedge takes one token of the budget that
//! retries use: 0.1 per original, at most 50, full at the start. Its limiter adds one per good sample and cuts by a quarter
//! per bad one, as each request ends.

use std::time::Duration;

use fastrand::Rng;
use hedgerow_policy::{ledger::Kind, time::Moment};

use super::{Concurrency, Ended, Rival};

const RESERVOIR: usize = 512;
const READ_EVERY: Duration = Duration::from_secs(30);
const CAP: f64 = 50.0;

/// Hedging of one pod.
pub struct GoGateway {
    regions: Vec<Region>,
    tokens: f64,
    rng: Rng,
}

#[derive(Clone)]
struct Region {
    samples: Vec<Duration>,
    read: Moment,
    delay: Duration,
}

impl GoGateway {
    /// A pod that just started.
    pub fn boxed() -> Box<dyn Rival> {
        let region = Region { samples: Vec::new(), read: Moment::ZERO, delay: Duration::from_secs(4) };
        Box::new(Self { regions: vec![region; 8], tokens: CAP, rng: Rng::with_seed(512) })
    }
}

impl Rival for GoGateway {
    fn original(&mut self, _now: Moment) {
        self.tokens = (self.tokens + 0.1).min(CAP);
    }

    fn delay(&mut self, now: Moment, route: u8) -> Option<Duration> {
        let region = self.regions.get_mut(usize::from(route))?;
        if now - region.read >= READ_EVERY {
            region.read = now;
            if region.samples.len() >= 32 {
                let mut sorted = region.samples.clone();
                sorted.sort_unstable();
                let p95 = sorted[sorted.len() * 95 / 100];
                region.delay = p95.clamp(Duration::from_secs(1), Duration::from_secs(8));
            }
        }
        Some(region.delay)
    }

    fn take(&mut self, _now: Moment) -> bool {
        let enough = self.tokens >= 1.0;
        if enough {
            self.tokens -= 1.0;
        }
        enough
    }

    fn ended(&mut self, _now: Moment, _route: u8, _kind: Kind, _elapsed: Duration, _how: Ended) {}

    fn answered(&mut self, _now: Moment, route: u8, elapsed: Duration) {
        let Some(region) = self.regions.get_mut(usize::from(route)) else { return };
        if region.samples.len() < RESERVOIR {
            region.samples.push(elapsed);
        } else {
            let place = self.rng.usize(..RESERVOIR);
            region.samples[place] = elapsed;
        }
    }
}

/// Its lane: +1 per good sample, x 3/4 per bad one.
pub struct GoLane {
    limit: u32,
    target: Duration,
    max: u32,
}

impl GoLane {
    /// A limit of 20, at most 1,000, with a target of 10 s for a whole call: about twice a usual one.
    pub fn boxed() -> Box<dyn Concurrency> {
        Box::new(Self { limit: 20, target: Duration::from_secs(10), max: 1_000 })
    }
}

impl Concurrency for GoLane {
    fn limit(&self) -> u32 {
        self.limit
    }

    fn sample(&mut self, _now: Moment, elapsed: Duration, _in_flight: u32, dropped: bool) {
        self.limit = if dropped || elapsed > self.target {
            (self.limit * 3 / 4).max(4)
        } else {
            (self.limit + 1).min(self.max)
        };
    }
}
