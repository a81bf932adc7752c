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
    route: Option<Held>,
    _permit: Held,
    _attempt: Held,
    shown: Gauge,
}

/// What a permit is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// A primary, which may find its place elsewhere.
    Primary,
    /// A primary that has no other place.
    LastPrimary,
    /// A hedge or retry.
    Extra,
}

/// Why there is no permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// The route carries its share of `limits`, or of what its provider says is left.
    Route,
    /// The pod carries 1.5 x `maxInFlight` attempts.
    Pod,
}

impl RoutePermit {
    /// Takes a permit; hedges and retries are refused above 1.5 x `maxInFlight` attempts. `model` as configured; without
    /// one (stored answers) the provider's own limits are not asked.
    pub fn take(
        runtime: &Runtime,
        route: &Arc<RouteRuntime>,
        model: Option<&str>,
        max_in_flight: u32,
        tokens: u64,
        want: Want,
    ) -> Result<Self, Full> {
        let replicas = runtime.fleet().replicas;
        let most = if want == Want::Extra { u64::from(max_in_flight) * 3 / 2 } else { u64::MAX };
        let attempt = runtime.gauges.attempts.hold_within(1, most).ok_or(Full::Pod)?;
        let limit = route.concurrency(replicas).unwrap_or(u64::MAX);
        let held = route.state.in_flight.hold_within(1, limit).ok_or(Full::Route)?;
        let share = |limit: Option<u64>| limit.map(|limit| (limit / u64::from(replicas.max(1))).max(1));
        let limits = &route.config.limits;
        let now = runtime.clock.now();
        // The provider's own count closes no last way: it may be wrong, and its 429 is heeded anyway.
        let asked = model.filter(|_| want != Want::LastPrimary);
        if asked.is_some_and(|model| !route.state.quota_fits(model, now, tokens, replicas)) {
            return Err(Full::Route);
        }
        if limits.requests_per_minute.is_some() || limits.tokens_per_minute.is_some() {
            let mut minute = route.state.minute.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if !minute.take(now, tokens, share(limits.requests_per_minute), share(limits.tokens_per_minute)) {
                return Err(Full::Route);
            }
        }
        route.metrics.in_flight.inc();
        Ok(Self {
            route: Some(held),
            _permit: runtime.gauges.route_permits.hold(1),
            _attempt: attempt,
            shown: route.metrics.in_flight.clone(),
        })
    }

    /// Gives the place on the route back before the attempt is booked. Until then the attempt still counts as in flight, so
    /// that all is booked when nothing is.
    pub fn vacate(&mut self) {
        self.route = None;
    }
}

impl Drop for RoutePermit {
    fn drop(&mut self) {
        self.shown.dec();
    }
}
