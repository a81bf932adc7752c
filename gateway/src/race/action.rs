//! One user action: what is known of it, and what happened to it.
//!
//! An [`Action`] is shared by its attempts and by the response body. Facts never change; the [`Course`] is behind a mutex
//! that is held for a few instructions. The user action is settled when the last owner lets go (`Drop`), so there is no
//! await point at which it could be forgotten. Permits are not here: they belong to the response body alone
//! (`permit`), because a loser that is read to its end must not hold the user's place.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use hedgerow_policy::{
    draw::Purpose,
    gate::Reason,
    ledger::{Booked, Cost, Usage, cost, estimate_output},
    time::Moment,
};

use opentelemetry_proto::tonic::trace::v1::Span;

use crate::{
    runtime::{
        Runtime,
        cell::{CellId, CellRuntime},
        cohort::CohortRuntime,
        lane::LaneRuntime,
        snapshot::{Listing, Offer, Snapshot},
    },
    settle::record::StatusClass,
    trace::context::{self, Context},
    wire::{
        dialect::{Dialect, Operation},
        eligibility::Eligibility,
    },
};

/// What is known of a user action when it is planned.
pub struct Request {
    /// Id that the client sees, ours or its own.
    pub id: String,
    /// Number from which draws are made.
    pub draw: u128,
    /// `x-request-id` of our answer.
    pub request_id: String,
    /// What it asks for.
    pub operation: Operation,
    /// Streaming.
    pub stream: bool,
    /// Public model name as asked for.
    pub model: String,
    /// Who serves it.
    pub listing: Arc<Listing>,
    /// Who is asking.
    pub tenant: String,
    /// Its cohort.
    pub cohort: Option<Arc<CohortRuntime>>,
    /// Its lane.
    pub lane: Arc<LaneRuntime>,
    /// What may be done with it.
    pub eligibility: Eligibility,
    /// Input band.
    pub band: u8,
    /// Estimated input tokens.
    pub input_tokens: u64,
    /// Body bytes outside data URLs.
    pub text_bytes: u64,
    /// Requested output cap.
    pub max_output: Option<u64>,
    /// The JSON schema that its answer is held against, where its policy wants that.
    pub schema: Option<Box<[u8]>>,
    /// Hash of what decides about prompt caches; `None` = plain weights.
    pub affinity: Option<u64>,
    /// Keyed hash of the prompt, four hex digits.
    pub fingerprint: String,
    /// When it arrived.
    pub arrived: Moment,
    /// Up to here attempts may be launched and committed, 250 ms before the caller's own end.
    pub deadline: Moment,
    /// Up to here the whole answer may take.
    pub total: Moment,
    /// The client says that it is a repetition.
    pub client_retry: bool,
    /// It carries the client's own provider credential.
    pub passthrough: bool,
    /// W3C trace context of the client.
    pub traceparent: String,
}

impl Request {
    /// Tokens that count towards a provider's limits: its input as estimated, and its own output cap.
    pub fn quota_tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.max_output.unwrap_or(0))
    }
}

/// What happened so far.
#[derive(Default)]
pub struct Course {
    /// Its lane let it in. Without that it is counted and written down, but it says nothing about models and hedging.
    pub admitted: bool,
    /// Why its lane refused it; empty = it did not.
    pub shed: &'static str,
    /// Ended attempts.
    pub booked: Vec<Booked>,
    /// Their routes, in the same order.
    pub routes: Vec<Arc<str>>,
    /// Estimated cost of attempts that were started; `None` = one of them is unpriced.
    pub committed_spend: Cost,
    /// Attempts started.
    pub attempts: u8,
    /// Number of the attempt that the client gets.
    pub winner: Option<Winner>,
    /// A hedge was sent.
    pub hedged: bool,
    /// `hedge`, `control`, `thinned` or empty.
    pub arm: &'static str,
    /// Why the timer sent no hedge.
    pub reason: Option<Reason>,
    /// Delay that was armed last.
    pub hedge_delay: Option<Duration>,
    /// First token, or whole answer, as the user saw it.
    pub first_token: Option<Duration>,
    /// Status of the answer; 0 = none yet.
    pub status: u16,
    /// Class of the end; `None` = the client left.
    pub class: Option<StatusClass>,
    /// Scope of the error.
    pub scope: &'static str,
    /// Kind of the error.
    pub error: &'static str,
    /// When the client's part ended.
    pub ended: Option<Moment>,
    /// Losers read to their end or to the audit's limits.
    pub audited: u8,
    /// An audited loser finished.
    pub late: bool,
    /// What the primary alone would have used and cost.
    pub primary: Option<PrimaryFacts>,
    /// Usage of the winner.
    pub winner_usage: Option<Usage>,
    /// Spans of ended attempts, where traces are asked for.
    pub spans: Vec<Span>,
}

/// Who won.
#[derive(Clone)]
pub struct Winner {
    /// Number of the attempt.
    pub attempt: u8,
    /// Its route.
    pub route: String,
    /// It was the hedge.
    pub hedge: bool,
}

/// What is needed to say what the primary alone would have cost.
#[derive(Clone)]
pub struct PrimaryFacts {
    /// The first attempt's offer.
    pub offer: Offer,
    /// Its cell.
    pub cell: Arc<CellRuntime>,
}

/// One user action.
pub struct Action {
    /// What the pod shares.
    pub runtime: Arc<Runtime>,
    /// The configuration that it started under.
    pub snapshot: Arc<Snapshot>,
    /// What is known of it.
    pub request: Request,
    course: Mutex<Course>,
}

impl Action {
    /// A user action that asks its lane.
    pub fn new(runtime: Arc<Runtime>, snapshot: Arc<Snapshot>, request: Request) -> Arc<Self> {
        Arc::new(Self { runtime, snapshot, request, course: Mutex::default() })
    }

    /// What happened so far, for a few instructions.
    pub fn course(&self) -> MutexGuard<'_, Course> {
        self.course.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What happened, for the last owner.
    pub fn take_course(&mut self) -> Course {
        std::mem::take(self.course.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// The dialect of the caller.
    pub fn dialect(&self) -> Dialect {
        self.request.operation.dialect()
    }

    /// Monotonic now.
    pub fn now(&self) -> Moment {
        self.runtime.clock.now()
    }

    /// The draw for `purpose`.
    pub fn draw(&self, purpose: Purpose) -> u64 {
        self.snapshot.key.draw(self.request.draw, purpose)
    }

    /// The trace that it belongs to; `None` = the fleet asks for none.
    pub fn trace(&self) -> Option<Context> {
        let percent = self.snapshot.settings.traces.as_ref()?.sample_percent;
        Some(Context::of(&self.request.traceparent, &self.request.request_id, percent))
    }

    /// The span of an attempt, by its number; 0 is its own.
    pub fn span(&self, attempt: u8) -> u64 {
        context::span(&self.snapshot.key, &self.request.request_id, attempt)
    }

    /// Name of the cohort; empty without one.
    pub fn cohort_name(&self) -> &str {
        self.request.cohort.as_ref().map_or("", |cohort| cohort.config.name.as_str())
    }

    /// Whether it belongs to the enrolled share of its cohort.
    pub fn enrolled(&self) -> bool {
        self.request.cohort.as_ref().is_some_and(|cohort| {
            hedgerow_policy::gate::enrolled(self.draw(Purpose::Enrol), cohort.share_per_mille())
        })
    }

    /// The latency cell of an attempt on `offer`.
    pub fn cell(&self, offer: &Offer) -> Arc<CellRuntime> {
        let request = &self.request;
        let identity = offer.model().map_or("", |model| model.identity.as_str());
        self.runtime.cells.get(self.cell_id(offer), identity, || hedgerow_config::state::CellKey {
            cohort: self.cohort_name().to_owned(),
            route: offer.route.config.name.clone(),
            model: request.listing.name.clone(),
            stream: request.stream,
            band: request.band,
        })
    }

    /// The short name of the latency cell of an attempt on `offer`.
    pub fn cell_id(&self, offer: &Offer) -> CellId {
        CellId {
            cohort: self.request.cohort.as_ref().map_or(0, |cohort| cohort.id),
            route: offer.route.state.id,
            model: self.request.listing.id,
            stream: self.request.stream,
            band: self.request.band,
        }
    }

    /// Estimated cost of one attempt on `offer`; `None` = unpriced, or nobody knows the output.
    pub fn estimate(&self, offer: &Offer) -> Option<Cost> {
        let prices = offer.model()?.prices.as_ref()?;
        let learnt = self.runtime.cells.find(self.cell_id(offer));
        let p95 = learnt.and_then(|cell| cell.learnt.load().as_ref().and_then(|learnt| learnt.output_p95));
        let output = estimate_output(self.request.max_output, p95)?;
        let usage = Usage { input_uncached: self.request.input_tokens, output, ..Usage::default() };
        Some(cost(&usage, prices))
    }

    /// Whether the action's spend ceiling allows one more attempt on `offer`.
    pub fn within_spend(&self, offer: &Offer) -> bool {
        let ceiling = self.request.cohort.as_ref().and_then(|cohort| cohort.config.max_spend_micros);
        let Some(ceiling) = ceiling else { return true };
        let ceiling = Cost(u128::from(ceiling) * hedgerow_config::money::PICOS_PER_MICRO);
        let spent = self.course().committed_spend;
        hedgerow_policy::ledger::within_ceiling(spent, self.estimate(offer), Some(ceiling))
    }
}

impl Drop for Action {
    fn drop(&mut self) {
        crate::settle::account::settle(self);
    }
}
