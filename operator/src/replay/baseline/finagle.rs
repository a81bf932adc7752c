//! Finagle's BackupRequestFilter (finagle-core `client/BackupRequestFilter.scala`, `util/WindowedPercentileHistogram.scala`).
//!
//! The delay is the (1 - maxExtraLoad) percentile of the last three windows of 10 s, read again every 3 s. Successes and
//! superseded attempts count at their elapsed time; fast failures do not, since they would lower the delay. A budget of its
//! own (ttl 10 s, no reserve) gives maxExtraLoad tokens per request. One deviation: the highest trackable delay is 60 s
//! instead of 2 s, because at 2 s it would never send a backup for a language model.

use std::{collections::VecDeque, time::Duration};

use hedgerow_policy::{
    latency::{Counts, Curve, Decayed, Quantile},
    ledger::Kind,
    time::Moment,
};

use super::{Ended, Rival};

const MAX_EXTRA_LOAD: f64 = 0.05;
const BUCKET: u64 = 10;
const BUCKETS: usize = 3;
const READ_EVERY: Duration = Duration::from_secs(3);
const HIGHEST: Duration = Duration::from_mins(1);

/// One client's filter.
pub struct Finagle {
    windows: VecDeque<(u64, Counts)>,
    read: Moment,
    delay: Option<Duration>,
    /// Deposits and withdrawals by second, the last ten.
    budget: VecDeque<(u64, f64)>,
}

impl Finagle {
    /// Empty.
    pub fn boxed() -> Box<dyn Rival> {
        let (windows, budget) = (VecDeque::new(), VecDeque::new());
        Box::new(Self { windows, read: Moment::ZERO, delay: None, budget })
    }

    fn pay(&mut self, now: Moment, amount: f64) {
        let second = now.as_secs();
        match self.budget.back_mut() {
            Some((at, sum)) if *at == second => *sum += amount,
            _ => self.budget.push_back((second, amount)),
        }
        while self.budget.front().is_some_and(|(at, _)| at + 10 <= second) {
            self.budget.pop_front();
        }
    }
}

impl Rival for Finagle {
    fn original(&mut self, now: Moment) {
        self.pay(now, MAX_EXTRA_LOAD);
    }

    fn delay(&mut self, now: Moment, _route: u8) -> Option<Duration> {
        if now - self.read >= READ_EVERY {
            self.read = now;
            let mut all = Counts::new();
            self.windows.iter().for_each(|(_, window)| all.merge(window));
            let curve = Curve::new(&Decayed::from(&all), &[]);
            self.delay = curve.quantile(1.0 - MAX_EXTRA_LOAD).map(Quantile::bound);
        }
        self.delay.filter(|delay| *delay > Duration::from_millis(1) && *delay < HIGHEST)
    }

    fn take(&mut self, now: Moment) -> bool {
        self.pay(now, 0.0);
        let enough = self.budget.iter().map(|(_, sum)| sum).sum::<f64>() >= 1.0;
        if enough {
            self.pay(now, -1.0);
        }
        enough
    }

    fn ended(&mut self, now: Moment, _route: u8, _kind: Kind, elapsed: Duration, how: Ended) {
        if how == Ended::Failed {
            return;
        }
        let window = now.as_secs() / BUCKET;
        if self.windows.back().is_none_or(|(at, _)| *at != window) {
            self.windows.push_back((window, Counts::new()));
        }
        while self.windows.len() > BUCKETS {
            self.windows.pop_front();
        }
        if let Some((_, counts)) = self.windows.back_mut() {
            counts.event(elapsed);
        }
    }

    fn answered(&mut self, _now: Moment, _route: u8, _elapsed: Duration) {}
}
