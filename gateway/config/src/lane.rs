//! One `PriorityLane` with all defaults applied.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cohort::Operation;

/// Name of the built-in lane for requests that match no other.
pub const DEFAULT: &str = "default";

/// Requests that share one adaptive concurrency limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lane {
    /// `metadata.name`.
    pub name: String,
    /// Higher is served first and shed last, 0 to 1000.
    pub priority: u32,
    /// Absent = the fallback lane of the fleet.
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    pub matches: Option<LaneMatch>,
    /// The limit.
    #[serde(default)]
    pub concurrency: Concurrency,
    /// Share of the pod's `maxInFlight`.
    #[serde(default)]
    pub share: Share,
    /// How tenants share the lane.
    #[serde(default)]
    pub tenants: Tenants,
    /// Who may wait.
    #[serde(default)]
    pub queue: Queue,
    /// Bounds of the Retry-After header.
    #[serde(default)]
    pub retry_after: RetryAfter,
}

impl Lane {
    /// The built-in lane: fallback, priority 0, all defaults.
    pub fn built_in() -> Self {
        Self {
            name: DEFAULT.to_owned(),
            priority: 0,
            matches: None,
            concurrency: Concurrency::default(),
            share: Share::default(),
            tenants: Tenants::default(),
            queue: Queue::default(),
            retry_after: RetryAfter::default(),
        }
    }
}

/// Which requests a lane takes; an empty part matches everything.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LaneMatch {
    /// Exact header values, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// Tenants.
    pub tenants: Vec<String>,
    /// Public model names.
    pub models: Vec<String>,
    /// Operations.
    pub operations: Vec<Operation>,
}

/// The adaptive concurrency limit, per pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Concurrency {
    /// Rule.
    pub algorithm: Algorithm,
    /// First limit.
    pub initial: u32,
    /// Lowest limit.
    pub min: u32,
    /// Highest limit.
    pub max: u32,
    /// Cut of one congested window, in percent of the limit.
    pub decrease_percent: u32,
    /// Growth of one good window, in percent of `max`, at least 1.
    pub increase_percent: u32,
    /// Median first token above this is congestion whatever the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_first_token_ms: Option<u64>,
}

impl Default for Concurrency {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::Aimd,
            initial: 20,
            min: 4,
            max: 1000,
            decrease_percent: 25,
            increase_percent: 1,
            target_first_token_ms: None,
        }
    }
}

/// Limit rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Algorithm {
    /// Additive increase, multiplicative decrease, one decision per window.
    #[serde(rename = "AIMD")]
    Aimd,
    /// Always `initial`.
    Fixed,
}

/// Share of the pod's `maxInFlight`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Share {
    /// Kept for this lane, 0 to 100.
    pub guaranteed_percent: u32,
    /// Never exceeded by this lane, 1 to 100.
    pub ceiling_percent: u32,
}

impl Default for Share {
    fn default() -> Self {
        Self { guaranteed_percent: 0, ceiling_percent: 100 }
    }
}

/// How tenants share a lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Tenants {
    /// Most of the lane that one tenant may hold, 1 to 100.
    pub max_share_percent: u32,
    /// Weights by tenant; absent = 1.
    pub weights: BTreeMap<String, u32>,
    /// Tenants that are refused.
    pub deny: Vec<String>,
}

impl Default for Tenants {
    fn default() -> Self {
        Self { max_share_percent: 100, weights: BTreeMap::new(), deny: Vec::new() }
    }
}

/// Who may wait for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Queue {
    /// Longest wait; 0 = shed at once.
    pub max_wait_ms: u64,
    /// Longest queue in percent of the limit.
    pub max_depth_percent: u32,
}

impl Default for Queue {
    fn default() -> Self {
        Self { max_wait_ms: 500, max_depth_percent: 25 }
    }
}

/// Bounds of the Retry-After header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RetryAfter {
    /// Shortest.
    pub min_ms: u64,
    /// Longest.
    pub max_ms: u64,
}

impl Default for RetryAfter {
    fn default() -> Self {
        Self { min_ms: 1_000, max_ms: 60_000 }
    }
}
