//! Netflix concurrency-limits 0.5: `AIMDLimit` and `Gradient2Limit` with their defaults.
//!
//! AIMD: a dropped call or one longer than 5 s cuts to 90 %; any other adds one if twice the calls in flight are at least the
//! limit; per sample, 20 to 200, start 20. Gradient2: once a second, from at least ten samples, on the mean time; the long
//! average is exponential over 600 windows (the first 10 plainly) and is pulled back by 5 % when it is more than twice the
//! short one; `L' = 0.8 L + 0.2 (L clamp(1.5 long / short, 0.5, 1) + 4)`, not while fewer than half of the limit are in
//! flight; 20 to 200, start 20. Both time whole calls.

use std::time::Duration;

use hedgerow_policy::time::Moment;

use super::Concurrency;

const START: u32 = 20;
const MOST: u32 = 200;

/// `AIMDLimit`.
pub struct Aimd {
    limit: u32,
}

impl Aimd {
    /// At its start.
    pub fn boxed() -> Box<dyn Concurrency> {
        Box::new(Self { limit: START })
    }
}

impl Concurrency for Aimd {
    fn limit(&self) -> u32 {
        self.limit
    }

    fn sample(&mut self, _now: Moment, elapsed: Duration, in_flight: u32, dropped: bool) {
        if dropped || elapsed > Duration::from_secs(5) {
            self.limit = (f64::from(self.limit) * 0.9) as u32;
        } else if in_flight * 2 >= self.limit {
            self.limit += 1;
        }
        self.limit = self.limit.clamp(START, MOST);
    }
}

/// `Gradient2Limit` behind a `WindowedLimit`.
pub struct Gradient2 {
    limit: f64,
    long: f64,
    windows: u32,
    since: Moment,
    sum: f64,
    count: u32,
    most: u32,
}

impl Gradient2 {
    /// At its start.
    pub fn boxed() -> Box<dyn Concurrency> {
        Box::new(Self {
            limit: f64::from(START),
            long: 0.0,
            windows: 0,
            since: Moment::ZERO,
            sum: 0.0,
            count: 0,
            most: 0,
        })
    }

    fn window(&mut self, short: f64) {
        self.windows += 1;
        let weight = if self.windows <= 10 { 1.0 / f64::from(self.windows) } else { 2.0 / 601.0 };
        self.long += (short - self.long) * weight;
        if self.long / short > 2.0 {
            self.long *= 0.95;
        }
        if f64::from(self.most) < self.limit / 2.0 {
            return;
        }
        let gradient = (1.5 * self.long / short).clamp(0.5, 1.0);
        let next = 0.8 * self.limit + 0.2 * (self.limit * gradient + 4.0);
        self.limit = next.clamp(f64::from(START), f64::from(MOST));
    }
}

impl Concurrency for Gradient2 {
    fn limit(&self) -> u32 {
        self.limit as u32
    }

    fn sample(&mut self, now: Moment, elapsed: Duration, in_flight: u32, dropped: bool) {
        self.most = self.most.max(in_flight);
        if !dropped {
            self.sum += elapsed.as_secs_f64();
            self.count += 1;
        }
        if now - self.since >= Duration::from_secs(1) && self.count >= 10 {
            self.window(self.sum / f64::from(self.count));
            (self.since, self.sum, self.count, self.most) = (now, 0.0, 0, 0);
        }
    }
}
