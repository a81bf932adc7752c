//! What follows when a leg fails.
//!
//! While another leg lives: nothing, the group goes on. Otherwise one retry may follow, if attempts remain, the class of
//! the request allows it, the deadline leaves time and the budget gives a token (taken when the retry is scheduled,
//! refunded if it is never sent). A pushback permits one retry on another quota group and never a hedge. Retry-After is a
//! minimum; one that is longer than the deadline leaves means failing now with the truth.

use hedgerow_policy::{
    budget::Spend,
    draw::Purpose,
    ledger::Kind,
    limiter,
    retry::{self, Rule},
    time::Moment,
};
use std::time::Duration;

use super::{Race, Side, failure::Failure};
use crate::{
    plan::{
        self,
        retry::{Place, Wish},
    },
    runtime::{budget::Reservation, snapshot::Offer},
    wire::{
        eligibility::RetryRule,
        error_table::{Retry, Scope},
    },
};

/// A retry on the same route that waits for its back-off.
pub struct Scheduled {
    /// When it is sent.
    pub at: Moment,
    offer: Offer,
    reservation: Reservation,
}

/// Longest pushback that is taken to heart when the provider names none.
const PUSHBACK: Duration = Duration::from_secs(1);

impl Race<'_> {
    /// A leg has failed: retry, go on, or end.
    pub(super) fn leg_failed(&mut self, side: Side, failure: Box<Failure>) {
        let now = self.action.now();
        let Some(mut leg) = self.leg(side).take() else { return };
        let offer = leg.attempt.offer.clone();
        self.heed(&failure, &offer, now);
        if self.in_flight() == 0 && self.retry.is_none() && self.may_retry(&failure, &offer) {
            leg.attempt.replaced = self.schedule(&failure, &offer, now);
        }
        drop(leg);
        self.note(failure);
    }

    /// Tells cohort, lane and route what a failure says about them.
    fn heed(&self, failure: &Failure, offer: &Offer, now: Moment) {
        if self.action.request.passthrough {
            return;
        }
        if failure.scope == Scope::RouteLocal
            && failure.upstream_status().is_some_and(|status| {
                status == http::StatusCode::UNAUTHORIZED || status == http::StatusCode::FORBIDDEN
            })
        {
            offer.route.state.reject_credentials(now);
        }
        if !failure.scope.suppresses_hedges() {
            return;
        }
        if let Some(cohort) = &self.action.request.cohort {
            cohort.state.push_back(now + failure.wait.unwrap_or(PUSHBACK));
        }
        let others = plan::candidate::offers(self.action).any(|(_, other)| {
            other.route.config.uid != offer.route.config.uid
                && plan::candidate::usable(self.action, &other.route, now)
        });
        if !others {
            self.permits.lane.sample(limiter::Sample::Overloaded);
        }
    }

    fn may_retry(&self, failure: &Failure, offer: &Offer) -> bool {
        let safe = match self.action.request.eligibility.retry {
            RetryRule::BeforeFirstToken => true,
            RetryRule::OnlyIfNothingRan | RetryRule::SameRouteOnly => failure.nothing_ran,
        };
        let once = failure.scope != Scope::Pushback || self.retries == 0;
        self.slots.left() > 0
            && safe
            && once
            && failure.retry != Retry::No
            && !self.action.request.client_retry
            && !self.action.request.passthrough
            && self.action.within_spend(offer)
    }

    /// Schedules or sends a retry; `false` = there is none.
    fn schedule(&mut self, failure: &Failure, offer: &Offer, now: Moment) -> bool {
        let wish = Wish { failed: offer, retry: failure.retry, used: &self.used };
        let Ok(place) = plan::retry::choose(self.action, &wish, now) else { return false };
        let budget = &self.action.request.listing.budget;
        let Ok(reservation) = budget.reserve(Spend::Retry, now) else { return false };
        match place {
            Place::Elsewhere(choice) => {
                reservation.spend();
                self.retries += 1;
                self.launch_primary(Kind::Retry, choice, now);
                true
            }
            Place::Again => {
                let at = now + self.wait(failure);
                if at >= self.action.request.deadline {
                    return false;
                }
                self.retries += 1;
                self.retry = Some(Scheduled { at, offer: offer.clone(), reservation });
                true
            }
        }
    }

    /// Back-off on the same route: full jitter, or what the provider asked for plus a spread.
    fn wait(&self, failure: &Failure) -> Duration {
        let terms = self.action.snapshot.terms(self.action.request.cohort.as_deref());
        let rule = Rule {
            base: Duration::from_millis(terms.retry.backoff_base_ms),
            max: Duration::from_millis(terms.retry.backoff_max_ms),
        };
        let draw = self.action.draw(Purpose::Backoff);
        let own = retry::backoff(&rule, self.retries, draw);
        failure.wait.map_or(own, |asked| retry::after_pushback(asked, draw).max(own))
    }

    /// The back-off is over.
    pub(super) fn launch_retry(&mut self, now: Moment) {
        let Some(Scheduled { offer, reservation, .. }) = self.retry.take() else { return };
        match plan::retry::again(self.action, &offer, now) {
            Ok(choice) => {
                reservation.spend();
                self.launch_primary(Kind::Retry, choice, now);
            }
            Err(why) => self.note(Box::new(super::no_route(self.action, why))),
        }
    }
}
