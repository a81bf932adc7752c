//! `GET /state`: what this pod runs and what it has counted.
//!
//! Inputs: the runtime. Outputs: the contract's [`State`]. Counters are cumulative; the 512 most recently used cells are
//! reported. Nothing here is on the way of a request.

use std::{
    collections::BTreeMap,
    sync::{PoisonError, atomic::Ordering},
    time::Duration,
};

use hedgerow_config::{
    cohort::DecisionState,
    state::{
        CellState, CohortReport, DigestOnly, InFlight, LaneState, MAX_CELLS, QuotaLeft, QuotaState,
        RouteState, SCHEMA, Sparse, State,
    },
};
use hedgerow_policy::{
    breaker,
    latency::{Recorder, bucket_of},
    quota,
    time::Moment,
};

use super::{
    Runtime, cell::CellRuntime, cohort::CohortRuntime, lane::LaneRuntime, route::RouteRuntime, target,
};

impl Runtime {
    /// The whole document.
    pub fn state(&self) -> State {
        let now = self.clock.now();
        let snapshot = self.snapshot();
        let snapshot = snapshot.as_deref();
        State {
            schema: SCHEMA.to_owned(),
            pod: self.pod.clone(),
            now_unix_ms: self.clock.unix_ms(),
            digest: snapshot.map(|snapshot| snapshot.digest.clone()).unwrap_or_default(),
            rejected: self.rejected(),
            ready: self.ready(),
            draining: self.draining(),
            objects: snapshot.map(|snapshot| snapshot.objects.clone()).unwrap_or_default(),
            cells: self.cell_states(now),
            cohorts: snapshot.map_or_else(Vec::new, |snapshot| {
                snapshot.cohorts.iter().map(|cohort| self.cohort_report(cohort, now)).collect()
            }),
            lanes: snapshot.map_or_else(Vec::new, |snapshot| {
                snapshot.lanes.iter().map(|lane| self.lane_state(lane, now)).collect()
            }),
            routes: snapshot.map_or_else(Vec::new, |snapshot| {
                snapshot.routes.iter().map(|route| self.route_state(route, now)).collect()
            }),
            credentials: self.credentials.states(),
            certificate: self.serving.report(),
            spend: self.spend.state(),
            in_flight: self.in_flight(),
        }
    }

    /// Answer to `?only=digest`.
    pub fn digest_only(&self) -> DigestOnly {
        DigestOnly {
            digest: self.snapshot().map(|snapshot| snapshot.digest.clone()).unwrap_or_default(),
            ready: self.ready(),
            rejected: self.rejected(),
        }
    }

    /// Everything that must return to zero when nobody is asking.
    pub fn in_flight(&self) -> InFlight {
        InFlight {
            actions: self.gauges.actions.get(),
            attempts: self.gauges.attempts.get(),
            lane_permits: self.lanes.permits.get(),
            route_permits: self.gauges.route_permits.get(),
            budget_reserved_milli: self.budgets.reserved.get(),
            buffered_bytes: self.gauges.buffered.get(),
            handshakes: self.serving.handshakes.get(),
        }
    }

    fn rejected(&self) -> Option<hedgerow_config::state::Rejected> {
        self.rejected.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn cell_states(&self, now: Moment) -> Vec<CellState> {
        let mut cells = self.cells.all();
        cells.sort_by_key(|cell| std::cmp::Reverse(cell.used.load(Ordering::Relaxed)));
        cells.truncate(MAX_CELLS);
        cells.sort_by(|left, right| left.key.cmp(&right.key));
        cells.iter().map(|cell| cell_state(cell, now)).collect()
    }

    fn cohort_report(&self, cohort: &CohortRuntime, now: Moment) -> CohortReport {
        let config = &cohort.config;
        let unix_s = self.clock.wall(now).as_secs();
        let blind = config.decision.state.hedges() && cohort.blind(now, self.fleet().heartbeat);
        let (ring, total) = cohort.state.ring(|ring| (ring.buckets(unix_s), ring.total().clone()));
        CohortReport {
            policy: config.policy.clone(),
            cohort: config.name.clone(),
            transition: config.decision.transition,
            state: if blind { DecisionState::Suspended } else { config.decision.state },
            ring,
            suppressed: cohort.state.suppressed(),
            user_latency: events(&cohort.state.user_latency),
            control_latency: events(&cohort.state.control_latency),
            total,
        }
    }

    fn lane_state(&self, lane: &LaneRuntime, now: Moment) -> LaneState {
        let view = self.lanes.with(|lanes| lanes.view(now, lane.state.id));
        LaneState {
            lane: lane.config.name.clone(),
            limit: view.limit,
            in_flight: view.in_flight,
            queued: view.queued,
            admitted: lane.state.admitted.load(Ordering::Relaxed),
            shed: lane.state.shed(),
            failed: lane.state.failed.load(Ordering::Relaxed),
            wait: events(&lane.state.wait),
            last_retry_after_s: lane.state.last_retry_after.load(Ordering::Relaxed),
            baseline_per_mille: view.warm.baseline_per_mille,
        }
    }

    fn route_state(&self, route: &RouteRuntime, now: Moment) -> RouteState {
        let (state, throttled) =
            route.state.breaker(|breaker| (breaker.state(now), breaker.throttled_until(now)));
        RouteState {
            route: route.config.name.clone(),
            in_flight: u32::try_from(route.state.in_flight.get()).unwrap_or(u32::MAX),
            breaker: breaker_name(state).to_owned(),
            weight_percent: route.share_per_mille(now) / 10,
            throttled_until_unix_ms: throttled.map_or(0, |until| self.clock.wall(until).as_millis()),
            blocked: self.blocked(route, state, now).to_owned(),
            outcomes: route.state.outcomes(),
            first_token: events(&route.state.first_token),
            quotas: route.state.quotas_left(now).into_iter().filter_map(quota_state).collect(),
        }
    }

    /// Why a route takes no traffic; empty = it does.
    fn blocked(&self, route: &RouteRuntime, state: breaker::State, now: Moment) -> &'static str {
        if route.config.suspend {
            "Suspended"
        } else if !target::has_credential(&route.config, &self.credentials) {
            "CredentialMissing"
        } else if !route.transport.load().usable() {
            "NotSetUp"
        } else if route.state.credentials_rejected(now) {
            "CredentialsRejected"
        } else if state == breaker::State::QuotaOpen {
            "QuotaExhausted"
        } else {
            ""
        }
    }
}

/// `None`: nobody knows.
fn quota_state((model, report): (String, quota::Report)) -> Option<QuotaState> {
    let left =
        |told: quota::Left| QuotaLeft { limit: told.limit, left: told.left, reset_ms: millis(told.reset) };
    let (requests, tokens) = (report.requests.map(left), report.tokens.map(left));
    (requests.is_some() || tokens.is_some()).then_some(QuotaState { model, requests, tokens })
}

fn cell_state(cell: &CellRuntime, now: Moment) -> CellState {
    let mut ages: BTreeMap<u16, u64> = BTreeMap::new();
    for age in cell.ages(now) {
        *ages.entry(bucket_of(age)).or_default() += 1;
    }
    let learnt = cell.learnt.load();
    CellState {
        key: cell.key.clone(),
        generation: cell.generation,
        events: events(&cell.primary),
        censored: censored(&cell.primary),
        hedge_events: events(&cell.hedge),
        hedge_censored: censored(&cell.hedge),
        in_flight: ages.into_iter().collect(),
        delay_ms: learnt.as_ref().map(|learnt| millis(learnt.plan.delay)),
    }
}

/// The contract's words for a breaker's state; a throttled route is not open.
fn breaker_name(state: breaker::State) -> &'static str {
    match state {
        breaker::State::Open | breaker::State::QuotaOpen => "open",
        breaker::State::HalfOpen => "halfOpen",
        breaker::State::Recovering => "recovering",
        breaker::State::Slow => "slow",
        breaker::State::Throttled | breaker::State::Closed => "closed",
    }
}

fn events(recorder: &Recorder) -> Sparse {
    recorder.counts().events().collect()
}

fn censored(recorder: &Recorder) -> Sparse {
    recorder.counts().censored().collect()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
