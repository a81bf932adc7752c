//! The primary: lowest tier with a usable route, inside it by weight.
//!
//! With affinity: weighted rendezvous over a keyed hash (Schindelhauer and Schomaker), so a conversation stays where its
//! prompt cache is, and an ejected route moves only its own keys. Without: turns spread by the golden ratio, which keeps
//! every prefix of the sequence close to the weights. Stateful requests have a home route: lowest tier, rendezvous by
//! tenant, usable or not.

use std::sync::atomic::Ordering;

use hedgerow_policy::{routing, time::Moment};

use super::{Choice, NoRoute, acquire, candidate, candidate::Tried};
use crate::{permit::Want, race::action::Action, runtime::snapshot::Offer};

/// Chooses and takes the primary's route.
pub fn choose(action: &Action, now: Moment) -> Result<Choice, NoRoute> {
    if action.request.eligibility.home_route {
        return home(action, now);
    }
    let mut tried = Tried::default();
    let mut why = NoRoute::NoneConfigured;
    let point = point(action);
    let provider = pinned_provider(action);
    let allowed = |offer: &Offer| {
        provider.as_ref().is_none_or(|provider| *provider == offer.route.config.failure_domain.provider)
    };
    while let Some((place, offer)) = best(action, now, &tried, point, true, &allowed) {
        match acquire(action, offer, now, false, Want::Primary) {
            Ok(choice) => return Ok(choice),
            Err(refusal) => why = why.or(refusal),
        }
        tried.add(place);
    }
    // Nothing is usable: the breaker never closes the last way.
    while let Some((place, offer)) = best(action, now, &tried, point, false, &allowed) {
        match acquire(action, offer, now, true, Want::Primary) {
            Ok(choice) => return Ok(choice),
            Err(refusal) => why = why.or(refusal),
        }
        tried.add(place);
    }
    // What providers say is left only moves traffic: before a user is refused, they are asked.
    if why == NoRoute::Saturated {
        let mut tried = Tried::default();
        while let Some((place, offer)) = best(action, now, &tried, point, true, &allowed) {
            if let Ok(choice) = acquire(action, offer, now, false, Want::LastPrimary) {
                return Ok(choice);
            }
            tried.add(place);
        }
    }
    Err(why)
}

/// The point of the affinity hash or of the next turn.
#[derive(Clone, Copy)]
enum Point {
    Affinity(u64),
    Turn(u64),
}

fn point(action: &Action) -> Point {
    action.request.affinity.map_or_else(
        || Point::Turn(routing::point(action.request.listing.turn.fetch_add(1, Ordering::Relaxed))),
        Point::Affinity,
    )
}

/// Weight of an offer now: configured weight by its share in force. Routes of weight 0 serve when no other does.
fn weight(offer: &Offer, now: Moment) -> u32 {
    // Thousandths, at least 1 where the configuration wants any, so that an ejected route is still probed.
    let configured = offer.route.config.weight;
    if configured == 0 { 0 } else { (configured * offer.route.share_per_mille(now)).max(1) }
}

/// The best offer that is not tried: smallest (weight 0, tier), then by weight.
fn best<'a>(
    action: &'a Action,
    now: Moment,
    tried: &Tried,
    point: Point,
    usable: bool,
    allowed: &impl Fn(&Offer) -> bool,
) -> Option<(usize, &'a Offer)> {
    let candidates = || {
        candidate::offers(action).filter(|(place, offer)| {
            !tried.has(*place) && allowed(offer) && (!usable || candidate::usable(action, &offer.route, now))
        })
    };
    let rank = |offer: &Offer| (offer.route.config.weight == 0, offer.route.config.tier);
    let first = candidates().map(|(_, offer)| rank(offer)).min()?;
    let tier = || candidates().filter(move |(_, offer)| rank(offer) == first);
    match point {
        Point::Affinity(key) => {
            tier().max_by(|(_, left), (_, right)| score(key, left, now).total_cmp(&score(key, right, now)))
        }
        Point::Turn(turn) => {
            let place = routing::by_turn(turn, || tier().map(|(_, offer)| weight(offer, now)))?;
            tier().nth(place)
        }
    }
}

fn score(key: u64, offer: &Offer, now: Moment) -> f64 {
    routing::score(key, offer.route.state.id, weight(offer, now))
}

/// The offer that keeps a tenant's stored state.
fn home_offer(action: &Action) -> Option<&Offer> {
    let tenant = action.snapshot.key.hash(action.request.tenant.as_bytes());
    home_of(tenant, candidate::offers(action).map(|(_, offer)| offer))
}

/// The one of a model's offers that keeps the stored state of a tenant, by its hash.
pub fn home_of<'a>(tenant: u64, offers: impl Iterator<Item = &'a Offer> + Clone) -> Option<&'a Offer> {
    let tier = offers.clone().map(|offer| offer.route.config.tier).min()?;
    offers.filter(|offer| offer.route.config.tier == tier).max_by(|left, right| {
        let score = |offer: &Offer| routing::score(tenant, offer.route.state.id, offer.route.config.weight);
        score(left).total_cmp(&score(right))
    })
}

fn home(action: &Action, now: Moment) -> Result<Choice, NoRoute> {
    let offer = home_offer(action).ok_or(NoRoute::NoneConfigured)?;
    acquire(action, offer, now, false, Want::LastPrimary)
}

/// The provider to which pinned content is bound: that of the tenant's home route.
fn pinned_provider(action: &Action) -> Option<String> {
    if !action.request.eligibility.provider_pinned {
        return None;
    }
    home_offer(action).map(|offer| offer.route.config.failure_domain.provider.clone())
}
