//! The pod's only background task: lanes, breakers, delays, gauges.
//!
//! Lanes every 50 ms while somebody waits, else every 500 ms; breakers every second; delays every second; decay every 30 s.

use std::{sync::Arc, time::Duration};

use hedgerow_policy::{breaker, latency, time::Moment};

use super::{Runtime, lane, learning, snapshot::Snapshot};

/// Breakers and gauges.
const BREAKERS: Duration = Duration::from_secs(1);
/// Delays; see `learning` for why not 30 s.
const DELAYS: Duration = Duration::from_secs(1);

impl Runtime {
    /// Runs for ever; started once per process.
    pub async fn tick(self: Arc<Self>) {
        let start = self.clock.now();
        let (mut breakers, mut delays, mut decay) = (start + BREAKERS, start + DELAYS, start + latency::TICK);
        loop {
            let now = self.clock.now();
            let queued = self.lanes.with(|lanes| {
                lanes.tick(now);
                lanes.next_expiry().is_some()
            });
            if now >= breakers {
                breakers = now + BREAKERS;
                self.tick_breakers(now);
                self.show(now);
            }
            if now >= delays {
                delays = now + DELAYS;
                let decays = now >= decay;
                if decays {
                    decay += latency::TICK;
                }
                learning::learn(&self, decays);
            }
            tokio::time::sleep_until(self.clock.instant(lane::next_tick(queued, now))).await;
        }
    }

    fn tick_breakers(&self, now: Moment) {
        let Some(snapshot) = self.snapshot() else { return };
        let cells = self.cells.all();
        for route in &snapshot.routes {
            let stalled = cells
                .iter()
                .filter(|cell| cell.id.route == route.state.id)
                .map(|cell| {
                    let Some(expected) = cell.expected() else { return 0 };
                    let limit = route.state.breaker(|breaker| breaker.slow_after(expected));
                    cell.ages(now).into_iter().filter(|age| *age > limit).count()
                })
                .sum::<usize>();
            let stalled = u32::try_from(stalled).unwrap_or(u32::MAX);
            let change = route.state.breaker(|breaker| breaker.tick(now, stalled));
            if let Some(change) = change {
                log_change(&route.config.name, &change);
            }
            route.metrics.breaker(route.state.breaker(|breaker| breaker.state(now)));
        }
    }

    /// Gauges that nobody else keeps up to date.
    fn show(&self, now: Moment) {
        self.budgets.show();
        let Some(snapshot) = self.snapshot() else { return };
        self.show_lanes(&snapshot, now);
        for route in &snapshot.routes {
            for (model, left) in route.state.quotas_left(now) {
                route.metrics.quota(&model, &left);
            }
        }
    }

    fn show_lanes(&self, snapshot: &Snapshot, now: Moment) {
        for lane in &snapshot.lanes {
            let view = self.lanes.with(|lanes| lanes.view(now, lane.state.id));
            lane.metrics.limit.set(i64::from(view.limit));
        }
    }
}

/// One line per change of a breaker.
pub fn log_change(route: &str, change: &breaker::Change) {
    tracing::warn!(
        route,
        from = change.from.as_str(),
        to = change.to.as_str(),
        cause = ?change.cause,
        "breaker changed"
    );
}
