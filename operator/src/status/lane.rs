//! Status of a `PriorityLane`.

use std::{collections::BTreeMap, time::Duration};

use hedgerow_config::{gateway::ObjectRef, state::LaneState};
use hedgerow_crds::{
    condition::ConditionType,
    v1alpha1::{
        PriorityLaneStatus,
        priority_lane::{LaneObserved, LaneSummary},
    },
};

use super::{
    conditions::{self, set_all},
    pods::Pods,
};
use crate::domain::{Verdict, figure};

/// The highest limit that a lane may have; what a pod says may be more.
const MOST_LIMIT: u32 = 100_000;

/// What a lane's status is made from.
#[derive(Clone, Debug)]
pub struct LaneFacts<'a> {
    /// What the compiler said.
    pub verdict: &'a Verdict,
    /// The object.
    pub object: &'a ObjectRef,
    /// The pods of its fleet.
    pub pods: &'a Pods<'a>,
    /// Figures that need more than one reading.
    pub figures: LaneFigures,
}

/// Figures of the last five minutes.
#[derive(Clone, Debug, Default)]
pub struct LaneFigures {
    /// User actions admitted.
    pub admitted: u64,
    /// User actions shed, by reason.
    pub shed: BTreeMap<String, u64>,
    /// 95th percentile of the wait in the queue.
    pub wait_p95: Option<Duration>,
}

/// The status now. Without a reading the figures stay as they were.
pub fn lane(old: &PriorityLaneStatus, facts: &LaneFacts<'_>) -> PriorityLaneStatus {
    let generation = facts.object.generation;
    let mut status = old.clone();
    status.observed_generation = Some(generation);
    set_all(
        &mut status.conditions,
        vec![
            (ConditionType::Accepted, conditions::accepted(facts.verdict)),
            (
                ConditionType::Programmed,
                conditions::programmed(&old.conditions, facts.verdict, Some(facts.object), facts.pods),
            ),
        ],
        &[],
        generation,
        figure::timestamp(facts.pods.now),
    );
    let lanes: Vec<&LaneState> = facts
        .pods
        .ready()
        .flat_map(|state| &state.lanes)
        .filter(|lane| lane.lane == facts.object.name)
        .collect();
    if !lanes.is_empty() {
        observe(&mut status, &lanes, &facts.figures);
    }
    status
}

fn observe(status: &mut PriorityLaneStatus, lanes: &[&LaneState], figures: &LaneFigures) {
    let mut limits: Vec<u32> = lanes.iter().map(|lane| lane.limit).collect();
    limits.sort_unstable();
    let limit = |place: usize| i64::from(limits.get(place).copied().unwrap_or(0).min(MOST_LIMIT));
    let in_flight: u64 = lanes.iter().map(|lane| u64::from(lane.in_flight)).sum();
    let shed: u64 = figures.shed.values().sum();
    let median = limit(limits.len() / 2);
    status.summary = Some(LaneSummary {
        limit: format!("{median} per pod"),
        in_flight: in_flight.to_string(),
        shed: shed.to_string(),
    });
    status.observed = Some(LaneObserved {
        limit_min: limit(0),
        limit_median: median,
        limit_max: limit(limits.len() - 1),
        in_flight: figure::whole(in_flight),
        admitted: figure::whole(figures.admitted),
        shed: figure::whole(shed),
        queue_wait_p95: figures.wait_p95.map(figure::latency),
        top_shedding_reason: figures
            .shed
            .iter()
            .max_by_key(|(_, count)| **count)
            .map(|(reason, _)| reason.clone()),
        top_tenants: Vec::new(),
    });
}
