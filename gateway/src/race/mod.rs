//! The race: one task, at most two legs, one winner.
//!
//! Why: the tail of first tokens is cut by a delayed second attempt, and whatever happens the client gets the bytes of
//! exactly one attempt. Inputs: a user action, its body, its permits. Outputs: a [`Won`] (`Racing -> Committed` by move:
//! committing consumes the race, so nothing can be launched afterwards) or the one [`Failure`] that tells most.
//!
//! No spawn, no channel, no lock across an await: both legs are polled by the handler's own task until one commits.
//! Launching is synchronous. Everything that is held is released by `Drop`, at any point.
//!
//! - `slot`: at most three attempts and one hedge, by type - `leg`: one attempt's bytes until commit
//! - `hedge`: the timer and the gate - `retry`: what follows a failure - `commit`: who wins, what becomes of the loser

pub mod action;
pub mod attempt;
pub mod audit;
pub mod commit;
pub mod failure;
pub mod hedge;
pub mod launch;
pub mod leg;
pub mod retry;
pub mod slot;
pub mod timer;
pub mod transport;

use std::{
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use hedgerow_policy::{ledger::Kind, time::Moment};

use self::{
    action::Action,
    commit::Won,
    failure::Failure,
    hedge::HedgeTimer,
    launch::Prepared,
    leg::{Event, Leg},
    retry::Scheduled,
    slot::Slots,
    timer::Timer,
};
use crate::{
    permit::ActionPermits,
    plan::{self, Choice, NoRoute},
    settle::record::Outcome,
    wire::{answer, error_table::Scope},
};

/// `holdMax`: how long frames are held once no hedge can be launched any more.
const HOLD_MAX: Duration = Duration::from_secs(20);

/// Which leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Primary,
    Hedge,
}

/// How the race ended.
enum Verdict {
    Commit(Side),
    Lost,
}

/// A race before its commit.
pub struct Race<'a> {
    action: &'a Arc<Action>,
    prepared: &'a Prepared,
    permits: &'a ActionPermits,
    slots: Slots,
    timer: HedgeTimer,
    primary: Option<Leg>,
    hedge: Option<Leg>,
    retry: Option<Scheduled>,
    failure: Option<Box<Failure>>,
    used: Vec<String>,
    retries: u32,
    hold_until: Option<Moment>,
    /// Nothing can be launched besides the one attempt: it is committed at its head.
    alone: bool,
}

/// Runs a user action's attempts until one can be answered with, or none.
pub async fn run(
    action: &Arc<Action>,
    prepared: Prepared,
    permits: &ActionPermits,
    timer: &mut Timer,
) -> Result<Won, Box<Failure>> {
    let mut race = Race::start(action, &prepared, permits)?;
    match poll_fn(|cx| race.poll(cx, timer)).await {
        Verdict::Commit(side) => race.commit(side),
        Verdict::Lost => Err(Box::new(race.lost())),
    }
}

impl<'a> Race<'a> {
    fn start(
        action: &'a Arc<Action>,
        prepared: &'a Prepared,
        permits: &'a ActionPermits,
    ) -> Result<Self, Box<Failure>> {
        let request = &action.request;
        let terms = action.snapshot.terms(request.cohort.as_deref());
        let most = if request.client_retry { 1 } else { terms.retry.max_attempts };
        let (slots, right) = Slots::new(most);
        let now = action.now();
        let choice = plan::primary::choose(action, now).map_err(|why| Box::new(no_route(action, why)))?;
        let mut race = Self {
            action,
            prepared,
            permits,
            slots,
            timer: HedgeTimer::new(right),
            primary: None,
            hedge: None,
            retry: None,
            failure: None,
            used: Vec::new(),
            retries: 0,
            hold_until: None,
            alone: false,
        };
        race.launch_primary(Kind::Primary, choice, now);
        race.alone = race.slots.left() == 0;
        Ok(race)
    }

    /// Sends a primary or a retry, which then is the primary, and arms its timer if a hedge is still possible.
    fn launch_primary(&mut self, kind: Kind, choice: Choice, now: Moment) {
        let Some(slot) = self.slots.take() else { return };
        self.used.push(choice.offer.route.config.name.clone());
        match launch::launch(self.action, self.prepared, &slot, kind, choice, now) {
            Ok(leg) => {
                self.arm(&leg.attempt, now);
                self.primary = Some(leg);
            }
            Err(failure) => self.note(failure),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>, timer: &mut Timer) -> Poll<Verdict> {
        loop {
            if self.action.runtime.aborted() {
                self.give_up(answer::Kind::ShuttingDown, "the gateway is shutting down: try again");
                return Poll::Ready(Verdict::Lost);
            }
            let mut moved = false;
            for side in [Side::Primary, Side::Hedge] {
                match self.leg(side).as_mut().map(|leg| leg.poll(cx)) {
                    Some(Poll::Ready(Event::Valid)) => return Poll::Ready(Verdict::Commit(side)),
                    Some(Poll::Ready(Event::Overflow)) => {
                        if let Some(verdict) = self.overflow(side) {
                            return Poll::Ready(verdict);
                        }
                        moved = true;
                    }
                    Some(Poll::Ready(Event::Failed(failure))) => {
                        self.leg_failed(side, failure);
                        moved = true;
                    }
                    Some(Poll::Pending) | None => {}
                }
            }
            let now = self.action.now();
            if let Some(verdict) = self.due(now, &mut moved) {
                return Poll::Ready(verdict);
            }
            if moved {
                continue;
            }
            match timer.poll(cx, &self.action.runtime.clock, self.next_due()) {
                Poll::Ready(()) => {}
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn leg(&mut self, side: Side) -> &mut Option<Leg> {
        match side {
            Side::Primary => &mut self.primary,
            Side::Hedge => &mut self.hedge,
        }
    }

    fn in_flight(&self) -> u8 {
        u8::from(self.primary.is_some()) + u8::from(self.hedge.is_some())
    }

    /// Does what is due; `moved` = a leg was launched or lost.
    fn due(&mut self, now: Moment, moved: &mut bool) -> Option<Verdict> {
        if now >= self.action.request.deadline {
            self.give_up(
                answer::Kind::Deadline,
                "no answer before the deadline: allow more time or ask for less",
            );
            return Some(Verdict::Lost);
        }
        for side in [Side::Primary, Side::Hedge] {
            if self.first_token_due(side).is_some_and(|due| now >= due)
                && let Some(leg) = self.leg(side).as_mut()
            {
                let failure = leg.give_up(Failure::timed_out());
                self.leg_failed(side, failure);
                *moved = true;
            }
        }
        if self.retry.as_ref().is_some_and(|retry| now >= retry.at) {
            self.launch_retry(now);
            *moved = true;
        }
        if self.timer.due(now) {
            self.fire(now);
            *moved = true;
        }
        if self.in_flight() == 0 && self.retry.is_none() {
            return Some(Verdict::Lost);
        }
        self.hold_over(now)
    }

    /// Commits an only attempt as it is: at its head when nothing else can be launched, else when `holdMax` is over.
    fn hold_over(&mut self, now: Moment) -> Option<Verdict> {
        if self.timer.over() {
            let until = *self.hold_until.get_or_insert(now + HOLD_MAX);
            if !self.alone && now < until {
                return None;
            }
        } else if !self.alone {
            return None;
        }
        match (&self.primary, &self.hedge) {
            (Some(leg), None) if leg.committable() => Some(Verdict::Commit(Side::Primary)),
            (None, Some(leg)) if leg.committable() => Some(Verdict::Commit(Side::Hedge)),
            _ => None,
        }
    }

    /// More frames than may be held: the leg loses if the other lives, else it commits.
    fn overflow(&mut self, side: Side) -> Option<Verdict> {
        if self.in_flight() == 1 {
            return Some(Verdict::Commit(side));
        }
        let failure = self.leg(side).as_mut().map(|leg| leg.give_up(Failure::contract("HeldOverflow")));
        if let Some(failure) = failure {
            self.leg_failed(side, failure);
        }
        None
    }

    fn first_token_due(&self, side: Side) -> Option<Moment> {
        let leg = match side {
            Side::Primary => self.primary.as_ref(),
            Side::Hedge => self.hedge.as_ref(),
        }?;
        let attempt = &leg.attempt;
        self.action
            .request
            .stream
            .then(|| attempt.started + attempt.offer.route.first_token_timeout(attempt.offer.model))
    }

    fn next_due(&self) -> Moment {
        let hold = self.hold_until.filter(|until| *until > self.action.now());
        [
            Some(self.action.request.deadline),
            self.first_token_due(Side::Primary),
            self.first_token_due(Side::Hedge),
            self.retry.as_ref().map(|retry| retry.at),
            self.timer.at(),
            hold,
        ]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(Moment::MAX)
    }

    /// Keeps the most telling failure.
    fn note(&mut self, failure: Box<Failure>) {
        if self.failure.as_ref().is_none_or(|kept| failure.tells_more_than(kept)) {
            self.failure = Some(failure);
        }
    }

    /// Ends everything for a reason that is nobody's fault upstream.
    fn give_up(&mut self, kind: answer::Kind, message: &'static str) {
        for leg in [self.primary.take(), self.hedge.take()].into_iter().flatten() {
            let mut leg = leg;
            leg.attempt.expire();
        }
        self.retry = None;
        self.failure = Some(Box::new(Failure::gateway(kind, Scope::Transient, Outcome::TimedOut, message)));
    }

    /// What the client is told when all attempts have ended.
    fn lost(mut self) -> Failure {
        self.failure.take().map_or_else(
            || {
                let message = "no attempt could be made: try again";
                Failure::gateway(answer::Kind::Internal, Scope::Transient, Outcome::Failed, message)
            },
            |failure| *failure,
        )
    }
}

/// What the client is told when no route takes its request.
fn no_route(action: &Action, why: NoRoute) -> Failure {
    use answer::Kind::{NoRoute as Nowhere, Overloaded};
    let second = Some(Duration::from_secs(1));
    let home = action.request.eligibility.home_route && !matches!(why, NoRoute::Throttled(_));
    let (kind, scope, told, wait, message) = match why {
        _ if home => (
            Nowhere,
            Scope::Transient,
            "HomeRouteUnusable",
            second,
            "the route that keeps this conversation's state is not usable now: try again later",
        ),
        NoRoute::Throttled(wait) => (
            Overloaded,
            Scope::Pushback,
            "AllRoutesThrottled",
            Some(wait),
            "every provider of this model asked to wait: try again after Retry-After",
        ),
        NoRoute::Saturated => (
            Overloaded,
            Scope::Pushback,
            "RouteSaturated",
            second,
            "every route of this model carries as much as its limits allow: try again",
        ),
        NoRoute::PodFull => {
            (Overloaded, Scope::Pushback, "PodFull", second, "the gateway is full: try again")
        }
        NoRoute::Unusable => (
            Nowhere,
            Scope::Transient,
            "RoutesUnusable",
            second,
            "no route of this model is usable now: try again later",
        ),
        NoRoute::NoneConfigured => (
            Nowhere,
            Scope::RouteLocal,
            "NoRoute",
            None,
            "no route of this model may serve this request: check tenants, secrets and suspended routes",
        ),
    };
    let mut failure = Failure::gateway(kind, scope, Outcome::Withdrawn, message).because(told);
    failure.wait = wait;
    failure.nothing_ran = true;
    failure
}
