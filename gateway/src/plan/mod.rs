//! Where attempts go: primary, retry and hedge.
//!
//! Inputs: a user action and the state of its model's routes. Outputs: a [`Choice`] whose breaker pass and route permit
//! are already taken, or why there is none. Rules that bind every attempt of a user action: dialect, tenant, data
//! boundary, credentials, provider of pinned content. Nothing is queued: a full route is `RouteSaturated`.

pub mod alternate;
pub mod candidate;
pub mod primary;
pub mod retry;

use std::time::Duration;

use hedgerow_policy::{
    breaker::{Pass, Refusal},
    time::Moment,
};

use crate::{
    permit::{Full, RoutePermit, Want},
    race::action::Action,
    runtime::snapshot::Offer,
};

/// A route on which an attempt may be sent now.
pub struct Choice {
    /// The route's entry for the model.
    pub offer: Offer,
    /// The breaker's leave.
    pub pass: Pass,
    /// A place on the route.
    pub permit: RoutePermit,
}

/// Why no route takes an attempt now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRoute {
    /// Every usable route asked to wait; the shortest wait.
    Throttled(Duration),
    /// Every usable route is full.
    Saturated,
    /// The pod carries as many attempts as it may.
    PodFull,
    /// All breakers are open or quotas used up.
    Unusable,
    /// The configuration has no route for this request: tenant, credential, boundary or suspension.
    NoneConfigured,
}

/// Longest lease of a half-open probe when the cell has no curve.
const LEASE: Duration = Duration::from_secs(30);

/// Takes breaker pass and permit on `offer`.
fn acquire(
    action: &Action,
    offer: &Offer,
    now: Moment,
    last_usable: bool,
    want: Want,
) -> Result<Choice, NoRoute> {
    let request = &action.request;
    let tokens = request.quota_tokens();
    let max = action.snapshot.settings.max_in_flight;
    let model = Some(offer.model_name());
    let permit = RoutePermit::take(&action.runtime, &offer.route, model, max, tokens, want).map_err(
        |full| match full {
            Full::Route => NoRoute::Saturated,
            Full::Pod => NoRoute::PodFull,
        },
    )?;
    let p95 = action.cell(offer).learnt.load().as_ref().and_then(|learnt| learnt.p95);
    let lease = p95.map_or(LEASE, |p95| p95 * 3).min(now.until(request.deadline));
    let pass = offer
        .route
        .state
        .breaker(|breaker| breaker.admit(now, last_usable, lease))
        .map_err(|refusal| refused(refusal, now))?;
    Ok(Choice { offer: offer.clone(), pass, permit })
}

fn refused(refusal: Refusal, now: Moment) -> NoRoute {
    match refusal {
        Refusal::Throttled(until) => NoRoute::Throttled(now.until(until)),
        Refusal::Open(_) | Refusal::Quota(_) | Refusal::ProbeInFlight(_) => NoRoute::Unusable,
    }
}

impl NoRoute {
    /// The more telling of two: what can be waited for before what cannot.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Throttled(left), Self::Throttled(right)) => Self::Throttled(left.min(right)),
            (throttled @ Self::Throttled(_), _) | (_, throttled @ Self::Throttled(_)) => throttled,
            (Self::PodFull, _) | (_, Self::PodFull) => Self::PodFull,
            (Self::Saturated, _) | (_, Self::Saturated) => Self::Saturated,
            (Self::Unusable, _) | (_, Self::Unusable) => Self::Unusable,
            (Self::NoneConfigured, Self::NoneConfigured) => Self::NoneConfigured,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_wait_tells_most_and_an_empty_configuration_least() {
        let (long, short) =
            (NoRoute::Throttled(Duration::from_secs(9)), NoRoute::Throttled(Duration::from_secs(2)));
        assert_eq!(long.or(short), short);
        assert_eq!(NoRoute::Unusable.or(long), long);
        assert_eq!(NoRoute::NoneConfigured.or(NoRoute::Unusable), NoRoute::Unusable);
        assert_eq!(NoRoute::Saturated.or(NoRoute::NoneConfigured), NoRoute::Saturated);
    }
}
