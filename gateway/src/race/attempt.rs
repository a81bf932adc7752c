//! One attempt: what was sent where, what came of it, and its booking.
//!
//! The ledger entry of an attempt is this value: it exists before anything is sent, and it books itself when it is
//! dropped, at whatever point that happens. Samples: an event at the first token, otherwise right-censored at its end.
//! The breaker hears of each attempt once; losers and client aborts do not vote.

use std::{sync::Arc, time::Duration};

use hedgerow_policy::{breaker, ledger::Kind, quota::Mark, time::Moment};
use http::{HeaderMap, StatusCode};

use super::{action::Action, failure::Failure, slot::Slot};
use crate::{
    permit::RoutePermit,
    plan::Choice,
    runtime::{
        cell::{CellRuntime, Wait},
        snapshot::Offer,
        tick::log_change,
    },
    settle::{account, record::Outcome},
    wire::{contract, error_table::Scope, rate_limit, token::StreamReader, usage::Usage},
};

/// One attempt.
pub struct Attempt {
    /// Its user action.
    pub action: Arc<Action>,
    /// Number from 1.
    pub number: u8,
    /// Why it was started.
    pub kind: Kind,
    /// Where it went.
    pub offer: Offer,
    /// Where its latency counts.
    pub cell: Arc<CellRuntime>,
    /// When it was started.
    pub started: Moment,
    /// First byte of the answer.
    pub first_byte: Option<Moment>,
    /// First token, or whole answer.
    pub first_token: Option<Moment>,
    /// Status of the answer.
    pub status: Option<StatusCode>,
    /// Provider's own request id.
    pub upstream_request_id: String,
    /// How it ended, as far as is known.
    pub end: End,
    /// The client gets this one.
    pub committed: bool,
    /// A retry took its place.
    pub replaced: bool,
    /// It is being read to the end although it lost.
    pub audited: bool,
    /// Reads a stream's tokens and usage.
    pub reader: Option<StreamReader>,
    /// Usage of a whole answer.
    pub usage: Option<Usage>,
    pass: Option<breaker::Pass>,
    wait: Option<Wait>,
    permit: RoutePermit,
    mark: Mark,
}

/// Reads an attempt's stream, and keeps what it says where the policy will be held against it.
fn reader(action: &Action) -> StreamReader {
    let request = &action.request;
    let reader = StreamReader::new(request.operation);
    let contract = action.snapshot.terms(request.cohort.as_deref()).contract;
    if contract::needs_text(contract, request.schema.as_deref()) { reader.keeping_text() } else { reader }
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It did not: whoever drops it cancels it.
    Cancelled,
    /// A whole answer.
    Complete,
    /// A failure before commit.
    Failed {
        /// For records and metrics.
        outcome: Outcome,
        /// Whose fault.
        scope: Scope,
        /// The provider cannot have billed it.
        free: bool,
    },
    /// Cut short after commit.
    Truncated,
}

impl Attempt {
    /// An attempt that is about to be sent.
    pub fn new(action: &Arc<Action>, slot: &Slot, kind: Kind, choice: Choice, now: Moment) -> Self {
        let cell = action.cell(&choice.offer);
        let estimate = action.estimate(&choice.offer);
        let mut course = action.course();
        course.attempts = course.attempts.max(slot.number());
        course.committed_spend += estimate.unwrap_or_default();
        drop(course);
        let mark = choice.offer.route.state.quota_start(
            choice.offer.model_name(),
            now,
            action.request.quota_tokens(),
        );
        Self {
            action: action.clone(),
            number: slot.number(),
            kind,
            wait: (kind != Kind::Hedge).then(|| cell.wait(now)),
            cell,
            offer: choice.offer,
            started: now,
            first_byte: None,
            first_token: None,
            status: None,
            upstream_request_id: String::new(),
            end: End::Cancelled,
            committed: false,
            replaced: false,
            audited: false,
            reader: action.request.stream.then(|| reader(action)),
            usage: None,
            pass: Some(choice.pass),
            permit: choice.permit,
            mark,
        }
    }

    /// Age at `now`.
    pub fn age(&self, now: Moment) -> Duration {
        now.since(self.started)
    }

    /// The head of its answer is there: what it tells of the account's limits is heeded, unless the account is the client's.
    pub fn answered(&self, headers: &HeaderMap) {
        if self.action.request.passthrough {
            return;
        }
        let route = &self.offer.route;
        let now = self.action.runtime.clock.system_time();
        if let Some(left) = rate_limit::read(route.config.api, headers, now) {
            route.state.quota_report(self.offer.model_name(), self.mark, &left);
        }
    }

    /// The first token, or the whole answer, is there.
    pub fn first_token(&mut self, now: Moment) {
        if self.first_token.is_some() {
            return;
        }
        self.first_token = Some(now);
        self.wait = None;
        let elapsed = self.age(now);
        let expected = if self.kind == Kind::Hedge {
            self.cell.hedge.event(elapsed);
            None
        } else {
            self.cell.primary.event(elapsed);
            self.offer.route.state.first_token.event(elapsed);
            self.cell.expected()
        };
        if let Some(model) = self.offer.model() {
            model.metrics.first_token.observe(elapsed.as_secs_f64());
        }
        self.vote(now, breaker::Outcome::FirstToken { elapsed, expected });
    }

    /// It failed before commit.
    pub fn fail(&mut self, failure: &Failure, now: Moment) {
        self.end = End::Failed { outcome: failure.outcome, scope: failure.scope, free: failure.free };
        self.status = self.status.or(failure.upstream_status());
        if self.action.request.passthrough
            && matches!(failure.scope, Scope::RouteLocal | Scope::Quota | Scope::Pushback)
        {
            self.vote(now, breaker::Outcome::NoVote);
            return;
        }
        let retry_after = failure.wait;
        let outcome = match failure.scope {
            Scope::Pushback => breaker::Outcome::Throttled { retry_after },
            Scope::Quota => breaker::Outcome::QuotaExhausted { retry_after },
            scope if scope.counts_for_breaker() => breaker::Outcome::Failure,
            _ => breaker::Outcome::NoVote,
        };
        self.vote(now, outcome);
    }

    /// The deadline or the shutdown ended it: nobody's fault upstream.
    pub fn expire(&mut self) {
        self.end = End::Failed { outcome: Outcome::TimedOut, scope: Scope::Transient, free: false };
        self.pass = None;
    }

    /// It was cut short after commit by the provider.
    pub fn truncate(&mut self, now: Moment) {
        self.end = End::Truncated;
        self.vote(now, breaker::Outcome::Failure);
    }

    fn vote(&mut self, now: Moment, outcome: breaker::Outcome) {
        let Some(pass) = self.pass.take() else { return };
        let draw = fastrand::u64(..);
        let change = self.offer.route.state.breaker(|breaker| breaker.report(now, pass, outcome, draw));
        if let Some(change) = change {
            log_change(&self.offer.route.config.name, &change);
        }
    }

    /// Gives its place on the route back before it is booked.
    pub fn vacate(&mut self) {
        self.permit.vacate();
    }

    /// Output text bytes seen so far.
    pub fn output_bytes(&self) -> u64 {
        self.reader.as_ref().map_or(0, StreamReader::output_bytes)
    }

    /// Usage as far as the provider has told it.
    pub fn known_usage(&self) -> Option<Usage> {
        self.usage.or_else(|| self.reader.as_ref().and_then(StreamReader::usage))
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let now = self.action.now();
        self.wait = None;
        if self.first_token.is_none() {
            let (elapsed, hedge) = (self.age(now), self.kind == Kind::Hedge);
            if hedge { &self.cell.hedge } else { &self.cell.primary }.censor(elapsed);
            let expected = if hedge { None } else { self.cell.expected() };
            self.vote(now, breaker::Outcome::Cancelled { elapsed, expected });
        }
        account::book(self, now);
    }
}
