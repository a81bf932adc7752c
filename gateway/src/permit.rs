//! What a user action and an attempt hold while they live, given back by `Drop` wherever they end.
//!
//! [`ActionPermits`] belongs to the handler and then to the response body; [`RoutePermit`] belongs to one attempt.
//! Released exactly once on success, error, client gone, loser cancel and panic, because nothing else can release them.

use std::sync::Arc;

use hedgerow_policy::gauge::Held;

use crate::{
    runtime::{Runtime, lane::LanePermit, route::RouteRuntime},
    telemetry::metrics::Gauge,
};

/// Everything that a user action holds.
pub struct ActionPermits {
    /// Its place in its lane.
    pub lane: LanePermit,
    /// One of `maxInFlight`.
    pub in_flight: Held,
    /// Buffered body bytes, given back at commit.
    pub buffered: Option<Held>,
}

/// One attempt in flight on one route.
#[must_use = "dropping it gives the permit back"]
pub struct RoutePermit {
    _route: Held,
    _permit: Held,
    _attempt: Held,
    shown: Gauge,
}

/// Why there is no permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// The route carries its share of `limits`.
    Route,
    /// The pod carries 1.5 x `maxInFlight` attempts.
    Pod,
}

impl RoutePermit {
    /// Takes a permit. `extra` = a hedge or retry, which the pod refuses above 1.5 x `maxInFlight` attempts.
    pub fn take(
        runtime: &Runtime,
        route: &Arc<RouteRuntime>,
        max_in_flight: u32,
        tokens: u64,
        extra: bool,
    ) -> Result<Self, Full> {
        let replicas = runtime.fleet().replicas;
        let most = if extra { u64::from(max_in_flight) * 3 / 2 } else { u64::MAX };
        let attempt = runtime.gauges.attempts.hold_within(1, most).ok_or(Full::Pod)?;
        let limit = route.concurrency(replicas).unwrap_or(u64::MAX);
        let held = route.state.in_flight.hold_within(1, limit).ok_or(Full::Route)?;
        let share = |limit: Option<u64>| limit.map(|limit| (limit / u64::from(replicas.max(1))).max(1));
        let limits = &route.config.limits;
        if limits.requests_per_minute.is_some() || limits.tokens_per_minute.is_some() {
            let mut minute = route.state.minute.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let now = runtime.clock.now();
            if !minute.take(now, tokens, share(limits.requests_per_minute), share(limits.tokens_per_minute)) {
                return Err(Full::Route);
            }
        }
        route.metrics.in_flight.inc();
        Ok(Self {
            _route: held,
            _permit: runtime.gauges.route_permits.hold(1),
            _attempt: attempt,
            shown: route.metrics.in_flight.clone(),
        })
    }
}

impl Drop for RoutePermit {
    fn drop(&mut self) {
        self.shown.dec();
    }
}
