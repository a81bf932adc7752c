//! Figures of a fleet that only make sense over all its pods and over time.

use std::{collections::BTreeMap, time::Duration};

use hedgerow_config::{
    FleetFile,
    fleet_file::{self, LaneMean, WarmCell},
    state::Sparse,
};
use hedgerow_policy::time::Moment;

use super::Memory;

/// Most curves in `fleet.json`, which stays below 64 KiB with them.
const WARM_CELLS: usize = 48;
/// Samples below which a curve is no start for anybody.
const WARM_SAMPLES: f64 = 20.0;

impl Memory {
    /// Brings the figures up to date after a round of readings.
    pub fn digest_readings(&mut self, now: Moment) {
        self.recent.observe(self.store.counted(), self.store.in_flight(now), now);
        self.trail.observe(self.store.counted(), now);
        let states = self.store.lives().map(|life| &life.state);
        self.history.observe(states, self.store.counted(), now);
    }

    /// Delay in force by the primary's route: the longest of its cells.
    pub fn delays(&self, cohort: &str) -> Vec<(String, Duration)> {
        let mut delays: BTreeMap<String, u64> = BTreeMap::new();
        let cells = self.store.lives().flat_map(|life| &life.state.cells);
        for cell in cells.filter(|cell| cell.key.cohort == cohort) {
            if let Some(delay) = cell.delay_ms {
                let longest = delays.entry(cell.key.route.clone()).or_default();
                *longest = delay.max(*longest);
            }
        }
        delays.into_iter().map(|(route, millis)| (route, Duration::from_millis(millis))).collect()
    }

    /// 95th percentile of each route's first tokens, recent.
    pub fn route_p95(&self) -> BTreeMap<String, Duration> {
        let routes = self.snapshot.routes.iter();
        routes.filter_map(|route| Some((route.name.clone(), self.recent.route(&route.name).p95?))).collect()
    }

    /// `fleet.json` as of `now` for `ready` pods; divided by at least one.
    pub fn fleet_file(&self, ready: usize, now: Moment) -> FleetFile {
        FleetFile {
            schema: fleet_file::SCHEMA.to_owned(),
            ready_replicas: u32::try_from(ready).unwrap_or(u32::MAX).max(1),
            heartbeat_unix_ms: now.as_millis(),
            lanes: self.lane_means(now),
            cells: self.warm_cells(),
        }
    }

    /// Curves for pods that have none: the most used cells, as they were lately.
    fn warm_cells(&self) -> Vec<WarmCell> {
        let Some(config) = &self.config else { return Vec::new() };
        let whole = |samples: (u16, f64)| (samples.0, samples.1.round() as u64);
        let sparse = |samples: &mut dyn Iterator<Item = (u16, f64)>| -> Sparse {
            samples.map(whole).filter(|(_, count)| *count > 0).collect()
        };
        let warm = self.recent.busiest(WARM_SAMPLES).into_iter().filter_map(|(key, primaries)| {
            let route = config.routes.iter().find(|route| route.name == key.route)?;
            let named = |name: &str| route.models.iter().find(|model| model.name == name);
            let model = named(&key.model).or_else(|| named("*"))?;
            Some(WarmCell {
                key: key.clone(),
                identity: route.identity(model),
                events: sparse(&mut primaries.events()),
                censored: sparse(&mut primaries.censored()),
            })
        });
        warm.take(WARM_CELLS).collect()
    }

    fn lane_means(&self, now: Moment) -> BTreeMap<String, LaneMean> {
        let mut sums: BTreeMap<String, (u64, u64, u64)> = BTreeMap::new();
        for lane in self.store.present(now).flat_map(|life| &life.state.lanes) {
            let sum = sums.entry(lane.lane.clone()).or_default();
            *sum = (sum.0 + u64::from(lane.limit), sum.1 + u64::from(lane.baseline_per_mille), sum.2 + 1);
        }
        let mean = |sum: u64, pods: u64| u32::try_from(sum / pods.max(1)).unwrap_or(u32::MAX);
        sums.into_iter()
            .map(|(lane, (limit, baseline, pods))| {
                let mean = LaneMean {
                    limit: mean(limit, pods),
                    baseline_per_mille: mean(baseline, pods),
                    at_unix_ms: now.as_millis(),
                };
                (lane, mean)
            })
            .collect()
    }
}

#[cfg(test)]
#[path = "figures_tests.rs"]
mod tests;
