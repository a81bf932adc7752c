//! `fleet.json`: what the fleet measured, from the operator to every pod.
//!
//! Outside the digest, reloaded live, at most 64 KiB, may be stale or absent: a pod then goes on with what it last read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{gateway::ReadError, state::CellKey, state::Sparse};

/// The only value of `schema` that this version reads.
pub const SCHEMA: &str = "hedgerow.dev/fleet/v1";
/// File name in the configuration directory.
pub const FILE: &str = "fleet.json";

/// What the fleet measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FleetFile {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Ready pods of the fleet, at least 1; fleet-wide figures are divided by it.
    pub ready_replicas: u32,
    /// When the operator last looked, in milliseconds since 1970. Older than `blind.after` = nobody watches.
    pub heartbeat_unix_ms: u64,
    /// Lane means by lane name.
    #[serde(default)]
    pub lanes: BTreeMap<String, LaneMean>,
    /// The most used cells of the fleet, at most 48.
    #[serde(default)]
    pub cells: Vec<WarmCell>,
}

/// Mean of a lane over the fleet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LaneMean {
    /// Limit per pod.
    pub limit: u32,
    /// Baseline of the congestion signal, in 1/1000.
    #[serde(default)]
    pub baseline_per_mille: u32,
    /// When it was measured, in milliseconds since 1970.
    pub at_unix_ms: u64,
}

/// A latency curve for a cold pod.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WarmCell {
    /// Which cell.
    pub key: CellKey,
    /// Identity of the route's endpoint, api and upstream model; another one = the cell stays cold.
    pub identity: String,
    /// Events by bucket.
    #[serde(default)]
    pub events: Sparse,
    /// Right-censored samples by bucket.
    #[serde(default)]
    pub censored: Sparse,
}

impl FleetFile {
    /// Reads a file's bytes. Ignores unknown fields, refuses an unknown schema.
    pub fn read(bytes: &[u8]) -> Result<Self, ReadError> {
        let file: Self =
            serde_json::from_slice(bytes).map_err(|source| ReadError::Json { file: FILE, source })?;
        if file.schema == SCHEMA {
            Ok(file)
        } else {
            Err(ReadError::Schema { file: FILE, found: file.schema, expected: SCHEMA })
        }
    }

    /// The file's bytes.
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }
}
