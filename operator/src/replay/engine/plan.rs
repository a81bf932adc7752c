//! Where attempts go: the order of `gateway/src/plan`, over one tier of routes that are each a failure domain and quota
//! group of their own.

use std::time::Duration;

use hedgerow_policy::{
    breaker::{Pass, Refusal},
    gate, learning, routing,
    time::Moment,
};

use super::{action::Leg, pod::Pod};
use crate::replay::model::Model;

/// A route with the breaker's leave.
pub struct Choice {
    /// Route.
    pub route: u8,
    /// The leave.
    pub pass: Pass,
}

/// Why there is no route now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoRoute {
    /// Every usable route asked to wait, the shortest for this long.
    Throttled(Duration),
    /// All breakers are open.
    Unusable,
}

/// Longest lease of a half-open probe when the cell has no curve.
const LEASE: Duration = Duration::from_secs(30);

impl Pod {
    /// The primary's route. `affinity` 0 = turns.
    pub fn primary(
        &mut self,
        model: &Model,
        cohort: Option<usize>,
        affinity: u64,
        now: Moment,
    ) -> Result<Choice, NoRoute> {
        let turn = routing::point(self.turn);
        if affinity == 0 {
            self.turn += 1;
        }
        let mut why = NoRoute::Unusable;
        for usable in [true, false] {
            let mut tried = 0_u8;
            while let Some(route) = self.next(model, affinity, turn, tried, usable, now) {
                tried |= 1 << route;
                match self.acquire(cohort, route, now, !usable) {
                    Ok(choice) => return Ok(choice),
                    Err(refusal) => why = telling(why, refusal),
                }
            }
        }
        Err(why)
    }

    fn next(
        &self,
        model: &Model,
        affinity: u64,
        turn: u64,
        tried: u8,
        usable: bool,
        now: Moment,
    ) -> Option<u8> {
        let candidates = || {
            (0..self.breakers.len() as u8).filter(move |route| {
                tried & (1 << route) == 0
                    && (!usable || self.breakers[usize::from(*route)].usable(now).is_ok())
            })
        };
        let weight = |route: u8| {
            let configured = model.providers[usize::from(route)].weight;
            (configured * u32::from(self.breakers[usize::from(route)].weight_per_mille(now))).max(1)
        };
        if affinity == 0 {
            let place = routing::by_turn(turn, || candidates().map(weight))?;
            return candidates().nth(place);
        }
        let score = |route: u8| routing::score(affinity, u16::from(route) + 1, weight(route));
        candidates().max_by(|a, b| score(*a).total_cmp(&score(*b)))
    }

    /// Takes the breaker's leave on a route.
    pub fn acquire(
        &mut self,
        cohort: Option<usize>,
        route: u8,
        now: Moment,
        last_usable: bool,
    ) -> Result<Choice, NoRoute> {
        let p95 = self.cells[self.cell(cohort, route)].p95();
        let lease = p95.map_or(LEASE, |p95| p95 * 3);
        let pass = self.breakers[usize::from(route)].admit(now, last_usable, lease);
        pass.map(|pass| Choice { route, pass }).map_err(|refusal| match refusal {
            Refusal::Throttled(until) => NoRoute::Throttled(now.until(until)),
            _ => NoRoute::Unusable,
        })
    }

    /// Another route for a retry that none of `used` is.
    pub fn elsewhere(&mut self, cohort: Option<usize>, used: u8, now: Moment) -> Option<Choice> {
        let routes = 0..self.breakers.len() as u8;
        let free: Vec<u8> = routes
            .filter(|route| {
                used & (1 << route) == 0 && self.breakers[usize::from(*route)].usable(now).is_ok()
            })
            .collect();
        free.into_iter().find_map(|route| self.acquire(cohort, route, now, false).ok())
    }

    /// The best alternate to a primary, with what the gate is told about it and its predicted win probability.
    pub fn alternate(
        &self,
        cohort: Option<usize>,
        primary: &Leg,
        now: Moment,
    ) -> Option<(u8, gate::Alternate, Option<u16>)> {
        let passable = |route: &u8| {
            let usable = self.breakers[usize::from(*route)].usable(now);
            *route != primary.route && matches!(usable, Ok(()) | Err(Refusal::Throttled(_)))
        };
        let cell = |route: u8| &self.cells[self.cell(cohort, route)];
        let route = (0..self.breakers.len() as u8)
            .filter(passable)
            .min_by_key(|route| cell(*route).p95().unwrap_or(Duration::from_secs(5)))?;
        let other = cell(route);
        let own = cell(primary.route).learnt.as_ref();
        let age = now.since(primary.started);
        let predicted = own.and_then(|own| learning::win_per_mille(own, other.learnt.as_ref(), age));
        let experience = other.learnt.as_ref().map(|learnt| learnt.experience).unwrap_or_default();
        let facts = gate::Alternate {
            p50: other.learnt.as_ref().and_then(|learnt| learnt.p50),
            busy_per_mille: 0,
            pushback: self.breakers[usize::from(route)].throttled_until(now).is_some(),
            win_per_mille: predicted.map(|predicted| experience.corrected(predicted)),
            pair_hedges: experience.hedges(),
        };
        Some((route, facts, predicted))
    }
}

/// The more telling of two: what can be waited for before what cannot.
fn telling(left: NoRoute, right: NoRoute) -> NoRoute {
    match (left, right) {
        (NoRoute::Throttled(left), NoRoute::Throttled(right)) => NoRoute::Throttled(left.min(right)),
        (throttled @ NoRoute::Throttled(_), _) | (_, throttled @ NoRoute::Throttled(_)) => throttled,
        _ => NoRoute::Unusable,
    }
}
