//! Writes the records of attempts and user actions, and makes spans of them where traces are asked for.
//!
//! Sampling: always for hedges, losers, errors and user actions with more than one attempt; of unhedged successes one in
//! `SAMPLE`, with the weight that it stands for. The draw belongs to the user action, so its records stay together.

use hedgerow_config::cohort::DecisionState;
use hedgerow_policy::{
    draw::Purpose,
    ledger::{Basis, Booked, Kind, Role},
    time::Moment,
};

use super::{
    record::{ActionRecord, AttemptRecord, CostBand, Outcome, StatusClass, Time},
    spans,
};
use crate::race::{
    action::{Action, Course},
    attempt::{Attempt, End},
};

/// One in so many uneventful records is written.
const SAMPLE: u32 = 10;

/// How many this uneventful record stands for; `None` = not written.
fn weight(action: &Action, eventful: bool) -> Option<u32> {
    if eventful {
        return Some(1);
    }
    action.draw(Purpose::Sample).is_multiple_of(u64::from(SAMPLE)).then_some(SAMPLE)
}

/// Writes the record of an ended attempt, and keeps its span until its user action is settled; `kept` = nothing was found
/// that its policy does not allow.
pub fn attempt(attempt: &Attempt, outcome: Outcome, booked: &Booked, kept: bool, now: Moment) {
    let action = &attempt.action;
    let mut course = action.course();
    let contract_valid = attempt.end == End::Complete && kept;
    let eventful =
        attempt.kind != Kind::Primary || outcome != Outcome::Won || course.attempts > 1 || !contract_valid;
    let weight = weight(action, eventful);
    let trace = action.trace().filter(|trace| trace.tells(eventful));
    if weight.is_none() && trace.is_none() {
        return;
    }
    let record = AttemptRecord {
        contract_valid,
        sample_weight: weight.unwrap_or(1),
        ..attempt_record(attempt, &course, outcome, booked, now)
    };
    if weight.is_some() {
        action.runtime.records.try_write(&record);
    }
    if let Some(trace) = trace {
        course.spans.push(spans::attempt(attempt, &record, trace, now));
    }
}

fn attempt_record<'a>(
    attempt: &'a Attempt,
    course: &Course,
    outcome: Outcome,
    booked: &Booked,
    now: Moment,
) -> AttemptRecord<'a> {
    let action = &attempt.action;
    let request = &action.request;
    let since = |at: Option<Moment>| at.map(|at| millis(attempt.started, at));
    let micros = booked.cost.map(hedgerow_policy::ledger::Cost::micros);
    let scope = match attempt.end {
        End::Failed { scope, .. } => scope.as_str(),
        _ => "none",
    };
    let cancelled = matches!(outcome, Outcome::LoserCancelled | Outcome::ClientGone);
    let duplicate_rate =
        request.cohort.as_ref().and_then(|cohort| cohort.state.ring(|ring| ring.duplicate_rate()));
    AttemptRecord {
        event: AttemptRecord::EVENT,
        event_time: Time(action.runtime.clock.unix_ms()),
        user_action_id: &request.id,
        hedge_group_id: &request.request_id,
        attempt: attempt.number,
        kind: attempt.kind.as_str(),
        route_class: request.operation.name(),
        model_class: &request.listing.name,
        hedge_delay_ms: course.hedge_delay.map(|delay| delay.as_millis() as u64),
        overall_deadline_ms: millis(request.arrived, request.deadline),
        elapsed_ms: millis(attempt.started, now),
        first_byte_ms: since(attempt.first_byte),
        first_token_ms: since(attempt.first_token),
        outcome,
        status: attempt.status.map(|status| status.as_u16()),
        status_class: attempt_class(outcome),
        error_scope: scope,
        contract_valid: true,
        cancellation_sent: cancelled,
        cancellation_observed: cancelled,
        usage_input_units: Some(
            booked.usage.input_uncached + booked.usage.cache_read + booked.usage.cache_write,
        ),
        usage_output_units: Some(booked.usage.output),
        usage_basis: booked.basis.as_str(),
        cost_band: CostBand::of(micros),
        cost_micros: micros,
        duplicate_rate_window: duplicate_rate,
        prompt_fingerprint: &request.fingerprint,
        role: booked.role.as_str(),
        route: &attempt.offer.route.config.name,
        cohort: action.cohort_name(),
        lane: &request.lane.config.name,
        arm: arm(course),
        reason: course.reason.map_or("", |reason| reason.as_str()),
        sample_weight: 1,
        traceparent: &request.traceparent,
        upstream_request_id: &attempt.upstream_request_id,
    }
}

/// Writes the record of a settled user action, and lets its spans go.
pub fn action(action: &Action, course: &mut Course, class: StatusClass, ended: Moment) {
    let eventful = course.attempts > 1 || class != StatusClass::Success || !course.arm.is_empty();
    let weight = weight(action, eventful);
    // A flood's sheds and clients that leave are the share's; what was sent twice or failed is why one looks at traces.
    let told = course.attempts > 1 || matches!(class, StatusClass::UpstreamError | StatusClass::GatewayError);
    let trace = action.trace().filter(|trace| trace.tells(told));
    if weight.is_none() && trace.is_none() {
        return;
    }
    let mut spans = std::mem::take(&mut course.spans);
    let record =
        ActionRecord { sample_weight: weight.unwrap_or(1), ..action_record(action, course, class, ended) };
    if weight.is_some() {
        action.runtime.records.try_write(&record);
    }
    if let Some(trace) = trace {
        spans.push(spans::action(action, course, &record, trace, ended));
        action.runtime.traces.push(spans);
    }
}

fn action_record<'a>(
    action: &'a Action,
    course: &'a Course,
    class: StatusClass,
    ended: Moment,
) -> ActionRecord<'a> {
    let request = &action.request;
    let cost = |role: Option<Role>| -> Option<u64> {
        let attempts = course.booked.iter().filter(|booked| role.is_none_or(|role| booked.role == role));
        let sum = attempts.map(|booked| booked.cost).sum::<Option<hedgerow_policy::ledger::Cost>>();
        sum.map(hedgerow_policy::ledger::Cost::micros)
    };
    let winner = course.winner.as_ref();
    let status = if class == StatusClass::Canceled { 499 } else { course.status };
    let input: u64 = course
        .booked
        .iter()
        .map(|booked| booked.usage.input_uncached + booked.usage.cache_read + booked.usage.cache_write)
        .sum();
    ActionRecord {
        event: ActionRecord::EVENT,
        event_time: Time(action.runtime.clock.unix_ms()),
        user_action_id: &request.id,
        hedge_group_id: &request.request_id,
        request_id: &request.request_id,
        route_class: request.operation.name(),
        model_class: &request.listing.name,
        stream: request.stream,
        cohort: action.cohort_name(),
        lane: &request.lane.config.name,
        arm: arm(course),
        reason: course.reason.map_or("", |reason| reason.as_str()),
        hedged: course.hedged,
        attempts: course.attempts,
        winner_attempt: winner.map(|winner| winner.attempt),
        winner_route: winner.map_or("", |winner| winner.route.as_str()),
        loser_finished_late: course.late,
        elapsed_ms: millis(request.arrived, ended),
        first_token_ms: course.first_token.map(|seen| seen.as_millis() as u64),
        hedge_delay_ms: course.hedge_delay.map(|delay| delay.as_millis() as u64),
        overall_deadline_ms: millis(request.arrived, request.deadline),
        status,
        status_class: class,
        error_scope: if course.scope.is_empty() { "none" } else { course.scope },
        error: course.error,
        shed: course.shed,
        usage_input_units: Some(input),
        usage_output_units: Some(course.booked.iter().map(|booked| booked.usage.output).sum()),
        usage_basis: weakest(&course.booked).as_str(),
        cost_band: CostBand::of(cost(None)),
        cost_micros: cost(None),
        cost_lost_micros: cost(Some(Role::Loser)),
        guardrail: request.cohort.as_ref().map_or("", |cohort| state_name(cohort.config.decision.state)),
        sample_weight: 1,
        traceparent: &request.traceparent,
    }
}

fn millis(from: Moment, to: Moment) -> u64 {
    u64::try_from(to.since(from).as_millis()).unwrap_or(u64::MAX)
}

fn arm(course: &Course) -> &'static str {
    if course.arm.is_empty() { "none" } else { course.arm }
}

/// A sum is only as exact as its least exact part.
fn weakest(booked: &[Booked]) -> Basis {
    let rank = |basis: Basis| match basis {
        Basis::Exact => 0,
        Basis::LowerBound => 1,
        Basis::Estimated => 2,
        Basis::Unknown => 3,
    };
    booked.iter().map(|booked| booked.basis).max_by_key(|basis| rank(*basis)).unwrap_or(Basis::Exact)
}

fn attempt_class(outcome: Outcome) -> StatusClass {
    match outcome {
        Outcome::Won | Outcome::LoserFinished => StatusClass::Success,
        Outcome::LoserCancelled | Outcome::ClientGone | Outcome::Withdrawn => StatusClass::Canceled,
        Outcome::Throttled | Outcome::Failed | Outcome::Invalid | Outcome::TimedOut | Outcome::Truncated => {
            StatusClass::UpstreamError
        }
    }
}

fn state_name(state: DecisionState) -> &'static str {
    match state {
        DecisionState::Observing => "Observing",
        DecisionState::Ramping => "Ramping",
        DecisionState::Active => "Active",
        DecisionState::Suspended => "Suspended",
        DecisionState::Trial => "Trial",
        DecisionState::Disabled => "Disabled",
    }
}
