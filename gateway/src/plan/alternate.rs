//! The hedge's target: the best usable route of another failure domain.
//!
//! Usable: same data boundary, tenant allowed, inside `hedgeTo`, breaker not refusing, credential present. Lowest tier
//! first, then the smallest known p95; a route that nobody knows yet counts as average.

use std::time::Duration;

use hedgerow_policy::{breaker::Refusal, gate, learning::win_per_mille, time::Moment};

use super::{Choice, NoRoute, acquire, candidate};
use crate::{
    permit::Want,
    race::{action::Action, attempt::Attempt},
    runtime::{cohort::allows_hedge_to, snapshot::Offer},
};

/// A possible target and what the gate is told about it.
pub struct Alternate {
    /// The route's entry.
    pub offer: Offer,
    /// Facts for the gate.
    pub facts: gate::Alternate,
    /// Predicted win probability in 1/1000, before scaling.
    pub predicted: Option<u16>,
}

/// The best alternate to `primary`, or `None`.
pub fn best(action: &Action, primary: &Attempt, now: Moment) -> Option<Alternate> {
    let own = &primary.offer.route;
    let hedge_to = action.request.cohort.as_ref().map(|cohort| &cohort.config.hedge_to);
    let (_, offer) = candidate::offers(action)
        .filter(|(_, offer)| {
            let route = &offer.route;
            route.config.failure_domain != own.config.failure_domain
                && candidate::compatible(action, own, route)
                && hedge_to.is_none_or(|rule| allows_hedge_to(rule, &route.config.failure_domain))
                && passable(route.state.breaker(|breaker| breaker.usable(now)))
        })
        .min_by_key(|(_, offer)| {
            (offer.route.config.tier, p95(action, offer).unwrap_or(Duration::from_secs(5)))
        })?;
    Some(describe(action, primary, offer, now))
}

/// A throttled route is still an alternate: the gate then says `Pushback`, which tells more than `NoAlternate`.
fn passable(usable: Result<(), Refusal>) -> bool {
    matches!(usable, Ok(()) | Err(Refusal::Throttled(_)))
}

fn p95(action: &Action, offer: &Offer) -> Option<Duration> {
    let cell = action.runtime.cells.find(action.cell_id(offer))?;
    cell.learnt.load().as_ref().and_then(|learnt| learnt.p95)
}

fn describe(action: &Action, primary: &Attempt, offer: &Offer, now: Moment) -> Alternate {
    let route = &offer.route;
    let cell = action.cell(offer);
    let learnt = cell.learnt.load();
    let predicted = win(primary, &cell, now);
    let experience = learnt.as_ref().map(|learnt| learnt.experience).unwrap_or_default();
    let throttled = route.state.breaker(|breaker| breaker.throttled_until(now)).is_some();
    let facts = gate::Alternate {
        p50: learnt.as_ref().and_then(|learnt| learnt.p50),
        busy_per_mille: route.busy_per_mille(offer.model_name(), now, action.runtime.fleet().replicas),
        pushback: throttled || group_pushed_back(action, &route.config.quota_group, now),
        win_per_mille: predicted.map(|predicted| experience.corrected(predicted)),
        pair_hedges: experience.hedges(),
    };
    Alternate { offer: offer.clone(), facts, predicted }
}

/// P(the alternate's answer comes before the rest of the primary's wait), in 1/1000.
fn win(primary: &Attempt, cell: &crate::runtime::cell::CellRuntime, now: Moment) -> Option<u16> {
    let own = primary.cell.learnt.load();
    win_per_mille(own.as_ref()?, cell.learnt.load().as_deref(), primary.age(now))
}

/// Whether any route of a quota group is throttled.
pub fn group_pushed_back(action: &Action, group: &str, now: Moment) -> bool {
    action
        .snapshot
        .routes
        .iter()
        .filter(|route| route.config.quota_group == group)
        .any(|route| route.state.breaker(|breaker| breaker.throttled_until(now)).is_some())
}

/// Takes breaker pass and route permit for a hedge.
pub fn take(action: &Action, offer: &Offer, now: Moment) -> Result<Choice, NoRoute> {
    acquire(action, offer, now, false, Want::Extra)
}
