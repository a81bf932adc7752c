//! The primary: lowest tier with a usable route, inside it by weight.
//!
//! With affinity: weighted rendezvous over a keyed hash (Schindelhauer and Schomaker), so a conversation stays where its
//! prompt cache is, and an ejected route moves only its own keys. Without: turns spread by the golden ratio, which keeps
//! every prefix of the sequence close to the weights. Stateful requests have a home route: lowest tier, rendezvous by
//! tenant, usable or not.

use std::sync::atomic::Ordering;

use hedgerow_policy::{draw::rendezvous, time::Moment};

use super::{Choice, NoRoute, acquire, candidate, candidate::Tried};
use crate::{race::action::Action, runtime::snapshot::Offer};

/// 2^64 divided by the golden ratio: the multiplicative constant of Fibonacci hashing (Knuth, TAOCP 3, 6.4).
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

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
        match acquire(action, offer, now, false, false) {
            Ok(choice) => return Ok(choice),
            Err(refusal) => why = why.or(refusal),
        }
        tried.add(place);
    }
    // Nothing is usable: the breaker never closes the last way.
    while let Some((place, offer)) = best(action, now, &tried, point, false, &allowed) {
        match acquire(action, offer, now, true, false) {
            Ok(choice) => return Ok(choice),
            Err(refusal) => why = why.or(refusal),
        }
        tried.add(place);
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
        || Point::Turn(action.request.listing.turn.fetch_add(1, Ordering::Relaxed).wrapping_mul(GOLDEN)),
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
            let total: u64 = tier().map(|(_, offer)| u64::from(weight(offer, now).max(1))).sum();
            let mut left = ((u128::from(turn) * u128::from(total)) >> 64) as u64;
            tier().find(|(_, offer)| {
                let own = u64::from(weight(offer, now).max(1));
                let here = left < own;
                left = left.saturating_sub(own);
                here
            })
        }
    }
}

fn score(key: u64, offer: &Offer, now: Moment) -> f64 {
    rendezvous(mix(key, offer.route.state.id), weight(offer, now).max(1))
}

/// Spreads key and route over 64 bits (splitmix64's finaliser, Steele, Lea, Flood 2014).
fn mix(key: u64, route: u16) -> u64 {
    let mut z = key ^ u64::from(route).wrapping_mul(GOLDEN);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
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
        let score =
            |offer: &Offer| rendezvous(mix(tenant, offer.route.state.id), offer.route.config.weight.max(1));
        score(left).total_cmp(&score(right))
    })
}

fn home(action: &Action, now: Moment) -> Result<Choice, NoRoute> {
    let offer = home_offer(action).ok_or(NoRoute::NoneConfigured)?;
    acquire(action, offer, now, false, false)
}

/// The provider to which pinned content is bound: that of the tenant's home route.
fn pinned_provider(action: &Action) -> Option<String> {
    if !action.request.eligibility.provider_pinned {
        return None;
    }
    home_offer(action).map(|offer| offer.route.config.failure_domain.provider.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_keep_every_prefix_close_to_the_weights() {
        // 3 : 1, so the first quarter of the unit interval belongs to the second route.
        for turns in [8_u64, 40, 400] {
            let second = (0..turns).filter(|turn| turn.wrapping_mul(GOLDEN) < u64::MAX / 4).count() as f64;
            assert!((second - turns as f64 / 4.0).abs() <= 2.0, "{turns}: {second}");
        }
    }

    #[test]
    fn losing_one_route_moves_only_its_own_keys() {
        let pick = |key: u64, routes: &[u16]| {
            routes
                .iter()
                .copied()
                .max_by(|a, b| rendezvous(mix(key, *a), 100).total_cmp(&rendezvous(mix(key, *b), 100)))
        };
        for key in 0..500_u64 {
            let key = mix(key, 7);
            let before = pick(key, &[1, 2, 3]);
            let after = pick(key, &[1, 3]);
            assert!(before == after || before == Some(2), "{key}");
        }
    }
}
