//! Hand-made readings of one cohort, for the tables of this module.

use std::collections::BTreeMap;

use hedgerow_config::{
    State,
    cohort::DecisionState,
    money::Picos,
    state::{CohortBucket, CohortCounters, CohortReport, InFlight, Pod, SCHEMA, SpendState},
};

use crate::domain::decision::CohortKey;

/// The cohort of the tables.
pub(crate) fn key() -> CohortKey {
    CohortKey { policy: "chat".into(), cohort: "stream".into() }
}

/// Ten seconds with `originals` requests at 1,000 each, of which `hedges` were hedged at 1,000 more, on the route `west`.
pub(crate) fn bucket(start_unix_s: u64, originals: u64, hedges: u64) -> CohortBucket {
    let cost = |attempts: u64| Picos(u128::from(attempts) * 1_000);
    let counters = CohortCounters {
        originals,
        hedges,
        wins: hedges / 2,
        cost: cost(originals + hedges),
        cost_without: cost(originals),
        cost_lost: cost(hedges),
        extra_by_route: BTreeMap::from([("west".to_owned(), cost(hedges))]),
        ..CohortCounters::default()
    };
    CohortBucket { start_unix_s, counters }
}

/// A pod whose only cohort has this ring.
pub(crate) fn state(uid: &str, ring: Vec<CohortBucket>) -> State {
    let CohortKey { policy, cohort } = key();
    State {
        schema: SCHEMA.into(),
        pod: Pod { uid: uid.into(), started_unix_ms: 1, version: String::new() },
        now_unix_ms: 0,
        digest: String::new(),
        rejected: None,
        ready: true,
        draining: false,
        objects: Vec::new(),
        cells: Vec::new(),
        cohorts: vec![CohortReport {
            policy,
            cohort,
            transition: 0,
            state: DecisionState::Active,
            ring,
            suppressed: BTreeMap::new(),
            user_latency: Vec::new(),
            control_latency: Vec::new(),
            total: CohortCounters::default(),
        }],
        lanes: Vec::new(),
        routes: Vec::new(),
        credentials: Vec::new(),
        certificate: None,
        spend: SpendState::default(),
        in_flight: InFlight::default(),
    }
}
