//! One gateway pod: lanes, budgets, breakers, cells, and what it reports.
//!
//! The state that `gateway/src/runtime` keeps behind locks and atomics, here plain. Every rule is `hedgerow_policy`'s.

use std::collections::BTreeMap;

use fastrand::Rng;
use hedgerow_config::{
    State as Report,
    cohort::{Decision, DecisionState},
    state::{
        BUCKET_SECONDS, BUCKETS, CohortBucket, CohortCounters, CohortReport, InFlight, SCHEMA, SpendState,
    },
};
use hedgerow_policy::{
    breaker::{self, Breaker},
    budget::{self, Bucket},
    draw::Key,
    gate::Returning,
    lane::{LaneId, Lanes, Ticket},
    latency::{Counts, Curve},
    learning::{CellId, Parents},
    limiter::Warm,
    time::Moment,
};

use super::{cell::Cell, queue::Handle};
use crate::replay::{
    baseline::{Concurrency, Rival},
    model::{
        Arm, Hedging, Model,
        chance::{self, Stream},
        terms::Terms,
    },
};

/// Unix time of the virtual zero: 2026-11-29 00:00 UTC, the start of a bucket and of a day.
pub const EPOCH: Moment = Moment::from_secs(1_795_910_400);
/// Policy of every cohort.
pub const POLICY: &str = "replay";

/// Virtual time as Unix time.
pub fn unix(now: Moment) -> Moment {
    EPOCH + now.since(Moment::ZERO)
}

/// A cohort in a pod.
pub struct Cohort {
    /// The decision in force.
    pub decision: Decision,
    /// Client retries.
    pub returning: Returning,
    /// A provider asked to slow down.
    pub pushed_back_until: Moment,
}

/// A pod.
pub struct Pod {
    /// Takes traffic.
    pub live: bool,
    /// Was told to go.
    pub draining: bool,
    /// Lanes.
    pub lanes: Lanes,
    /// Their names.
    pub lane_ids: Vec<LaneId>,
    /// Budget of the model, and of the pod.
    pub budgets: (Bucket, Bucket),
    /// One per route.
    pub breakers: Vec<Breaker>,
    /// Their states when last looked at.
    pub seen: Vec<breaker::State>,
    /// Attempts in flight per route.
    pub in_flight: Vec<u32>,
    /// (cohort + 1) x routes.
    pub cells: Vec<Cell>,
    /// Cohorts.
    pub cohorts: Vec<Cohort>,
    /// Another system's rule for hedges.
    pub rival: Option<Box<dyn Rival>>,
    /// Another system's rule for concurrency.
    pub concurrency: Option<Box<dyn Concurrency>>,
    /// What `/state` says of cohorts; the rest is made when it is asked for.
    pub report: Report,
    /// First tokens as users saw them, by cohort.
    pub users: Vec<Counts>,
    /// Turn of the routes.
    pub turn: u64,
    /// Those who wait in a lane.
    pub waiting: Vec<(Ticket, Handle)>,
    /// Key of draws.
    pub key: Key,
    /// Draws of breakers.
    pub rng: Rng,
}

impl Pod {
    /// A pod that starts now.
    pub fn new(
        model: &Model,
        arm: &Arm,
        terms: &Terms,
        index: usize,
        seed: u64,
        now: Moment,
        warm: Option<&[Warm]>,
    ) -> Self {
        let mut lanes = Lanes::new(model.max_in_flight);
        let warm_of = |lane: usize| warm.and_then(|warm| warm.get(lane)).copied();
        let lane_ids = arm
            .lanes(model)
            .iter()
            .enumerate()
            .map(|(at, rule)| lanes.add(now, rule.clone(), warm_of(at)))
            .collect();
        let routes = model.providers.len();
        let cells = (0..=model.cohorts).flat_map(|cohort| {
            (0..routes).map(move |route| {
                Cell::new(CellId {
                    cohort: cohort as u16,
                    route: route as u16,
                    model: 1,
                    stream: true,
                    band: 0,
                })
            })
        });
        let mut rng = chance::stream(seed, Stream::Pod, index as u64);
        Self {
            live: true,
            draining: false,
            lanes,
            lane_ids,
            budgets: (Bucket::new(&terms.budget, now), Bucket::pod(&terms.budget, now)),
            breakers: (0..routes).map(|_| Breaker::new(arm.breaker)).collect(),
            seen: vec![breaker::State::Closed; routes],
            in_flight: vec![0; routes],
            cells: cells.collect(),
            cohorts: (0..model.cohorts).map(|_| Cohort::new(terms)).collect(),
            rival: match arm.hedging {
                Hedging::Rival(rival) => Some(rival()),
                Hedging::Policy(_) => None,
            },
            concurrency: arm.limiter.map(|limiter| limiter()),
            report: report(index, model.cohorts, now),
            users: vec![Counts::new(); model.cohorts],
            turn: index as u64 * 7,
            waiting: Vec::new(),
            key: Key::new(*b"replay: one key!"),
            rng: Rng::with_seed(rng.u64(..)),
        }
    }

    /// Index of a cell.
    pub fn cell(&self, cohort: Option<usize>, route: u8) -> usize {
        cohort.map_or(0, |cohort| cohort + 1) * self.breakers.len() + usize::from(route)
    }

    /// Counts for a cohort in the bucket of now.
    pub fn count(&mut self, cohort: usize, now: Moment, change: impl Fn(&mut CohortCounters)) {
        count(&mut self.report, cohort, now, change);
    }

    /// Whether there is something to read from it: it takes traffic, or ends what it has.
    pub fn speaks(&self) -> bool {
        self.live || self.in_flight.iter().any(|count| *count > 0)
    }

    /// What `/state` says now.
    pub fn state(&self, model: &Model, now: Moment) -> Report {
        let mut report = self.report.clone();
        for (cohort, users) in report.cohorts.iter_mut().zip(&self.users) {
            cohort.user_latency = users.events().collect();
        }
        let in_cohorts = self.cells.iter().filter(|cell| cell.id.cohort > 0);
        report.cells = in_cohorts
            .map(|cell| {
                let cohort = cohort_name(usize::from(cell.id.cohort) - 1);
                cell.state(cohort, model.providers[usize::from(cell.id.route)].name, now)
            })
            .collect();
        report
    }

    /// Shares of caps and reserves changed.
    pub fn share(&mut self, terms: &Terms, replicas: u32) {
        let rule = budget::Rule { replicas: replicas.max(1), ..terms.budget };
        self.budgets.0.set_rule(&rule);
        self.budgets.1.set_rule(&rule);
    }

    /// Every second: delays of all cells, then breakers.
    pub fn second(&mut self, terms: &Terms, now: Moment, decay: bool) {
        self.learn(terms, now, decay);
        let routes = self.breakers.len();
        for (route, breaker) in self.breakers.iter_mut().enumerate() {
            let stalled = self.cells.iter().skip(route).step_by(routes).map(|cell| {
                cell.expected().map_or(0, |expected| cell.stalled(now, breaker.slow_after(expected)))
            });
            let stalled = stalled.sum();
            breaker.tick(now, stalled);
        }
    }

    fn learn(&mut self, terms: &Terms, now: Moment, decay: bool) {
        let readings: Vec<_> = self
            .cells
            .iter_mut()
            .map(|cell| {
                let ages = cell.ages(now);
                cell.memory.read(cell.id, cell.counted(), ages, decay)
            })
            .collect();
        let parents = Parents::of(&readings);
        let curves: Vec<Option<Curve>> = readings.iter().map(|reading| parents.curve(reading)).collect();
        let routes = self.breakers.len();
        for (at, (cell, reading)) in self.cells.iter_mut().zip(&readings).enumerate() {
            let Some(curve) = &curves[at] else { continue };
            let (own, row) = (at % routes, at - at % routes);
            let alternate = (0..routes)
                .filter(|route| *route != own && self.breakers[*route].usable(now).is_ok())
                .filter_map(|route| {
                    let curve = curves[row + route].as_ref()?;
                    Some((curve, curve.quantile(0.95)?.bound()))
                })
                .min_by_key(|(_, p95)| *p95)
                .map(|(curve, _)| curve);
            let slow = self.breakers[own].is_slow();
            cell.learnt = Some(cell.memory.learn(reading, &terms.delay, curve, alternate, decay, slow));
        }
    }
}

impl Cohort {
    fn new(terms: &Terms) -> Self {
        let decision = crate::domain::decision::decision(terms.mode, None, terms.start_percent);
        Self { decision, returning: Returning::default(), pushed_back_until: Moment::ZERO }
    }

    /// Whether a guardrail forbids hedges.
    pub fn suspended(&self) -> bool {
        matches!(self.decision.state, DecisionState::Suspended | DecisionState::Disabled)
    }
}

/// Counts for a cohort in a report's bucket of now, and in its total.
pub fn count(report: &mut Report, cohort: usize, now: Moment, change: impl Fn(&mut CohortCounters)) {
    let start = unix(now).as_secs() / BUCKET_SECONDS * BUCKET_SECONDS;
    let Some(report) = report.cohorts.get_mut(cohort) else { return };
    change(&mut report.total);
    let ring = &mut report.ring;
    if ring.last().is_none_or(|bucket| bucket.start_unix_s < start) {
        if ring.len() >= BUCKETS {
            ring.remove(0);
        }
        ring.push(CohortBucket { start_unix_s: start, counters: CohortCounters::default() });
    }
    if let Some(bucket) = ring.last_mut() {
        change(&mut bucket.counters);
    }
}

/// What `/state` of a pod says that just started.
pub fn report(index: usize, cohorts: usize, now: Moment) -> Report {
    let cohorts = (0..cohorts).map(|cohort| CohortReport {
        policy: POLICY.into(),
        cohort: cohort_name(cohort).into(),
        transition: 0,
        state: DecisionState::Active,
        ring: Vec::with_capacity(BUCKETS),
        suppressed: BTreeMap::new(),
        user_latency: Vec::new(),
        control_latency: Vec::new(),
        total: CohortCounters::default(),
    });
    Report {
        schema: SCHEMA.into(),
        pod: hedgerow_config::state::Pod {
            uid: format!("pod-{index}"),
            started_unix_ms: unix(now).as_millis(),
            version: String::new(),
        },
        now_unix_ms: 0,
        digest: String::new(),
        rejected: None,
        ready: true,
        draining: false,
        objects: Vec::new(),
        cells: Vec::new(),
        cohorts: cohorts.collect(),
        lanes: Vec::new(),
        routes: Vec::new(),
        credentials: Vec::new(),
        certificate: None,
        spend: SpendState::default(),
        in_flight: InFlight::default(),
    }
}

/// Name of a cohort by number.
pub fn cohort_name(cohort: usize) -> &'static str {
    if cohort == 0 { "chat" } else { "second" }
}
