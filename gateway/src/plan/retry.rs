//! Where a retry goes.
//!
//! After a pushback only to another quota group; after a failure of the route or of its answer to another route, the
//! failed one's failure domain last; the same route again only when the failure may be of the moment.

use hedgerow_policy::time::Moment;

use super::{Choice, NoRoute, acquire, candidate};
use crate::{
    permit::Want,
    race::action::Action,
    runtime::snapshot::Offer,
    wire::{eligibility::RetryRule, error_table::Retry},
};

/// What a retry may do, after what failed.
pub struct Wish<'a> {
    /// Where the failed attempt ran.
    pub failed: &'a Offer,
    /// What the error's table says.
    pub retry: Retry,
    /// Names of routes that were used before.
    pub used: &'a [String],
}

/// A retry's place.
pub enum Place {
    /// On another route, at once.
    Elsewhere(Choice),
    /// On the same route, after a back-off.
    Again,
}

/// Chooses a route for a retry.
pub fn choose(action: &Action, wish: &Wish<'_>, now: Moment) -> Result<Place, NoRoute> {
    let stays = matches!(action.request.eligibility.retry, RetryRule::SameRouteOnly);
    let mut why = NoRoute::NoneConfigured;
    if !stays && !matches!(wish.retry, Retry::No) {
        let mut best: Option<(usize, (bool, u32, bool))> = None;
        let mut tried = candidate::Tried::default();
        loop {
            for (place, offer) in candidate::offers(action) {
                let failed = &wish.failed.route;
                let route = &offer.route;
                let barred = tried.has(place)
                    || route.config.uid == failed.config.uid
                    || wish.used.iter().any(|used| *used == route.config.name)
                    || !candidate::compatible(action, failed, route)
                    || (matches!(wish.retry, Retry::OtherQuotaGroup)
                        && route.config.quota_group == failed.config.quota_group)
                    || !candidate::usable(action, route, now);
                if barred {
                    continue;
                }
                let rank = (
                    route.config.failure_domain == failed.config.failure_domain,
                    route.config.tier,
                    route.config.weight == 0,
                );
                if best.is_none_or(|(_, so_far)| rank < so_far) {
                    best = Some((place, rank));
                }
            }
            let Some((place, _)) = best.take() else { break };
            tried.add(place);
            if let Some(offer) = action.request.listing.offers.get(place) {
                match acquire(action, offer, now, false, Want::Extra) {
                    Ok(choice) => return Ok(Place::Elsewhere(choice)),
                    Err(refusal) => why = why.or(refusal),
                }
            }
        }
    }
    if matches!(wish.retry, Retry::Any) { Ok(Place::Again) } else { Err(why) }
}

/// Takes the failed attempt's own route again.
pub fn again(action: &Action, offer: &Offer, now: Moment) -> Result<Choice, NoRoute> {
    acquire(action, offer, now, true, Want::Extra)
}
