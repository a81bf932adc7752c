//! Which routes may serve a request at all, whatever their state.

use hedgerow_policy::time::Moment;

use crate::{
    race::action::Action,
    runtime::{Runtime, route::RouteRuntime, snapshot::Offer, target},
    wire::dialect::Dialect,
};

/// A set of places in a listing's offers; at most 256 routes per fleet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tried([u64; 4]);

impl Tried {
    /// Adds a place.
    pub fn add(&mut self, place: usize) {
        if let Some(word) = self.0.get_mut(place / 64) {
            *word |= 1 << (place % 64);
        }
    }

    /// Whether a place is in it; places beyond the bound always are.
    pub fn has(&self, place: usize) -> bool {
        self.0.get(place / 64).is_none_or(|word| word & (1 << (place % 64)) != 0)
    }
}

/// Whether `route` may serve the user action.
pub fn eligible(action: &Action, route: &RouteRuntime) -> bool {
    serves(&action.runtime, action.dialect(), &action.request.tenant, route)
}

/// Whether `route` may serve a tenant at all: dialect, suspension, tenant, credential, connections.
pub fn serves(runtime: &Runtime, dialect: Dialect, tenant: &str, route: &RouteRuntime) -> bool {
    route.dialect() == dialect
        && !route.state.suspended()
        && route.admits(tenant)
        && target::has_credential(&route.config, &runtime.credentials)
        && route.transport.load().usable()
}

/// Whether `route` takes an attempt now: breaker, its own credential, and no other route of its quota group asked to wait.
pub fn usable(action: &Action, route: &RouteRuntime, now: Moment) -> bool {
    let group = &route.config.quota_group;
    route.state.breaker(|breaker| breaker.usable(now)).is_ok()
        && !route.state.credentials_rejected(now)
        && !action.snapshot.routes.iter().any(|other| {
            other.config.quota_group == *group
                && other.config.uid != route.config.uid
                && other.state.breaker(|breaker| breaker.throttled_until(now)).is_some()
        })
}

/// Whether two attempts of one user action may run on these two routes: one data boundary, and one provider where the
/// content is pinned to it.
pub fn compatible(action: &Action, first: &RouteRuntime, second: &RouteRuntime) -> bool {
    let pinned =
        action.request.eligibility.provider_pinned && !second.config.capabilities.portable_signatures;
    first.config.data_boundary == second.config.data_boundary
        && (!pinned || first.config.failure_domain.provider == second.config.failure_domain.provider)
}

/// Eligible offers with their places.
pub fn offers(action: &Action) -> impl Iterator<Item = (usize, &Offer)> + Clone {
    action.request.listing.offers.iter().enumerate().filter(|(_, offer)| eligible(action, &offer.route))
}

#[cfg(test)]
mod tests {
    use super::Tried;

    #[test]
    fn places_beyond_the_bound_count_as_tried() {
        let mut tried = Tried::default();
        tried.add(0);
        tried.add(255);
        tried.add(999);
        assert!(tried.has(0) && tried.has(255) && tried.has(256));
        assert!(!tried.has(1) && !tried.has(254));
    }
}
