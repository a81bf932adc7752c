//! What this pod believes about its fleet: the newest `fleet.json`, or that it is alone.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use hedgerow_config::{
    FleetFile,
    fleet_file::{LaneMean, WarmCell},
    state::CellKey,
};
use hedgerow_policy::{latency::Counts, time::Moment};

use super::clock::Clock;

/// Curves of a file older than this are no start (research: warm start).
const WARM_FOR: Duration = Duration::from_mins(15);

/// The fleet as last heard of.
pub struct FleetView {
    /// Ready pods, at least 1; fleet-wide figures are divided by it.
    pub replicas: u32,
    /// When the operator last looked. Without a file: the start of the process.
    pub heartbeat: Moment,
    /// Lane means by lane.
    pub lanes: BTreeMap<String, LaneMean>,
    /// Latency curves for cells that have none.
    pub cells: HashMap<CellKey, WarmCell>,
}

impl FleetView {
    /// Before the first file.
    pub fn alone(start: Moment) -> Self {
        Self { replicas: 1, heartbeat: start, lanes: BTreeMap::new(), cells: HashMap::new() }
    }

    /// What a file says.
    pub fn read(file: FleetFile, clock: &Clock) -> Self {
        let heartbeat = clock.monotonic(file.heartbeat_unix_ms);
        let age = Duration::from_millis(clock.unix_ms().saturating_sub(file.heartbeat_unix_ms));
        let cells = if age > WARM_FOR { Vec::new() } else { file.cells };
        Self {
            replicas: file.ready_replicas.max(1),
            heartbeat,
            lanes: file.lanes,
            cells: cells.into_iter().map(|cell| (cell.key.clone(), cell)).collect(),
        }
    }

    /// Samples of the fleet for a cell that has none; another identity is another thing, whose cell stays cold.
    pub fn warm(&self, key: &CellKey, identity: &str) -> Option<Counts> {
        let warm = self.cells.get(key).filter(|warm| warm.identity == identity)?;
        Counts::from_sparse(warm.events.iter().copied(), warm.censored.iter().copied()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_starts_warm_from_a_fresh_file_about_the_same_upstream_only() {
        let clock = Clock::start();
        let key =
            CellKey { cohort: "chat".into(), route: "east".into(), model: "m".into(), stream: true, band: 0 };
        let warm = WarmCell {
            key: key.clone(),
            identity: "OpenAI https://east m ".into(),
            events: vec![(40, 9), (80, 1)],
            censored: vec![(60, 2)],
        };
        let view = |age: Duration| {
            let file = FleetFile {
                schema: hedgerow_config::fleet_file::SCHEMA.into(),
                ready_replicas: 2,
                heartbeat_unix_ms: clock.unix_ms() - u64::try_from(age.as_millis()).unwrap(),
                lanes: BTreeMap::new(),
                cells: vec![warm.clone()],
            };
            FleetView::read(file, &clock)
        };
        let fresh = view(Duration::from_mins(1));
        assert_eq!(fresh.warm(&key, &warm.identity).map(|counts| counts.total()), Some(12));
        assert_eq!(fresh.warm(&key, "OpenAI https://elsewhere m "), None);
        assert_eq!(fresh.warm(&CellKey { band: 3, ..key.clone() }, &warm.identity), None);
        assert_eq!(view(Duration::from_mins(16)).warm(&key, &warm.identity), None);
    }
}
