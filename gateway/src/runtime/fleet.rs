//! What this pod believes about its fleet: the newest `fleet.json`, or that it is alone.

use std::collections::{BTreeMap, HashMap};

use hedgerow_config::{
    FleetFile,
    fleet_file::{LaneMean, WarmCell},
    state::CellKey,
};
use hedgerow_policy::time::Moment;

use super::clock::Clock;

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
        Self {
            replicas: file.ready_replicas.max(1),
            heartbeat: clock.monotonic(file.heartbeat_unix_ms),
            lanes: file.lanes,
            cells: file.cells.into_iter().map(|cell| (cell.key.clone(), cell)).collect(),
        }
    }
}
