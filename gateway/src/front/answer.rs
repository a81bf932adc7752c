//! Answers: the winner's, a failure's, and those that the gateway makes itself.
//!
//! Every answer carries `x-request-id`. Answers to requests for a generation, refusals too, also carry what Hedgerow did:
//! `x-hedgerow-action`, `-attempts` and `-hedged` always, `-lane` and `-cohort` once they are known, `-route` when a provider
//! has answered, `-hedge-reason` when something was sent, no hedge was, and why is known. Upstream headers are filtered; only
//! the winner's are ever shown.

use std::{sync::Arc, time::Duration};

use axum::{body::Body, response::Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, response};

use super::{body::Draining, classify::id};
use crate::{
    permit::ActionPermits,
    race::{
        action::Action,
        commit::Won,
        failure::{Failure, Told},
        leg::Answer,
        timer::Timer,
    },
    relay::{StreamBody, WholeBody},
    settle::record::StatusClass,
    wire::{
        answer::{ErrorAnswer, Kind, whole_seconds},
        dialect::Dialect,
        error_table::Scope,
        headers::{self, ACTION},
    },
};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const ANTHROPIC_REQUEST_ID: HeaderName = HeaderName::from_static("request-id");
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");
const ATTEMPTS: HeaderName = HeaderName::from_static("x-hedgerow-attempts");
const HEDGED: HeaderName = HeaderName::from_static("x-hedgerow-hedged");
const LANE: HeaderName = HeaderName::from_static("x-hedgerow-lane");
const COHORT: HeaderName = HeaderName::from_static("x-hedgerow-cohort");
const ROUTE: HeaderName = HeaderName::from_static("x-hedgerow-route");
const HEDGE_REASON: HeaderName = HeaderName::from_static("x-hedgerow-hedge-reason");
const ACCEL: HeaderName = HeaderName::from_static("x-accel-buffering");

/// An error before there was a user action.
pub fn error(told: ErrorAnswer, dialect: Dialect) -> Response {
    let told = identified(told);
    finish(told.status, told.headers(), told.request_id.as_deref(), Body::from(told.body(dialect)))
}

/// A refusal that reads the rest of the client's body before it ends.
pub fn refusal(told: ErrorAnswer, dialect: Dialect, body: Body) -> Response {
    let told = identified(told);
    let answer = Body::new(Draining::new(body, told.body(dialect)));
    finish(told.status, told.headers(), told.request_id.as_deref(), answer)
}

/// What Hedgerow did for a request for a generation that was refused before it was planned: nothing. `action` is the id that
/// it would have had.
pub fn unplanned(mut refused: Response, action: &str) -> Response {
    let out = refused.headers_mut();
    insert(out, ACTION, action);
    insert(out, ATTEMPTS, "0");
    insert(out, HEDGED, "false");
    refused
}

/// An answer that no provider was asked for.
pub fn own(body: String) -> Response {
    let mut out = HeaderMap::with_capacity(4);
    out.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    finish(StatusCode::OK, out, Some(&id("req_", fastrand::u128(..))), Body::from(body))
}

/// A user action that its lane refused.
pub fn shed(told: &ErrorAnswer, action: &Action) -> Response {
    let (request, dialect) = (&action.request, action.dialect());
    note(action, told.status, StatusClass::Shed, Scope::Pushback, told.kind.as_str());
    let mut out = told.headers();
    describe(action, &mut out);
    finish(told.status, out, Some(&request.request_id), Body::from(told.body(dialect)))
}

/// The winner's answer.
pub fn committed(action: &Arc<Action>, won: Won, permits: ActionPermits, timer: Timer) -> Response {
    let Won { attempt, mut answer } = won;
    let head = match &mut answer {
        Answer::Stream(held, _) => &mut held.head,
        Answer::Whole(collected) => &mut collected.head,
    };
    // Taken, not read: the values are slices of the upstream connection's read buffer (8 KiB), which a stream would keep
    // from being used again for as long as it lasts.
    let (status, found) = (head.status, std::mem::take(&mut head.headers));
    action.course().status = status.as_u16();
    let mut out = HeaderMap::with_capacity(found.len() + 10);
    // Limits of one upstream mislead when there are several.
    let one_route = action.request.listing.offers.len() == 1;
    headers::to_client(&found, &mut out, one_route);
    describe(action, &mut out);
    let body = match answer {
        Answer::Stream(held, ask) => {
            out.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            out.insert(ACCEL, HeaderValue::from_static("no"));
            Body::new(StreamBody::new(held, ask, attempt, permits, timer))
        }
        Answer::Whole(collected) => Body::new(WholeBody::new(*collected, attempt, permits, timer)),
    };
    finish(status, out, Some(&action.request.request_id), body)
}

/// A provider's answer that is no generation, as it is.
pub fn passed(found: &response::Parts, request_id: &str, route: &str, body: Body) -> Response {
    let mut out = HeaderMap::with_capacity(found.headers.len() + 4);
    headers::to_client(&found.headers, &mut out, false);
    insert(&mut out, ROUTE, route);
    finish(found.status, out, Some(request_id), body)
}

/// All attempts have ended without an answer.
pub fn failed(action: &Arc<Action>, failure: Failure) -> Response {
    let dialect = action.dialect();
    let attempts = action.course().attempts;
    let final_word = attempts > 1 || matches!(failure.scope, Scope::Group | Scope::Quota);
    let class = class(&failure);
    let hinted = match &failure.told {
        Told::Provider { headers, .. } => headers.contains_key(header::RETRY_AFTER),
        Told::Gateway { .. } => false,
    };
    // A wait of 0 or a date that has passed is our own back-off; the client is told at least one second.
    let wait =
        failure.wait.or((hinted || failure.scope == Scope::Pushback).then_some(Duration::from_secs(1)));
    let (status, mut out, body, error) = match failure.told {
        Told::Provider { status, headers: found, body } => {
            let mut out = HeaderMap::with_capacity(found.len() + 10);
            headers::to_client(&found, &mut out, false);
            out.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            (status, out, body, "provider_error")
        }
        Told::Gateway { kind, status, message, reason } => {
            let mut told = ErrorAnswer::new(kind, message).with_request_id(action.request.request_id.clone());
            if let Some(status) = status {
                told = told.with_status(status);
            }
            if !reason.is_empty() {
                told = told.with_reason(reason);
            }
            if kind == Kind::Overloaded {
                told = told.with_status(StatusCode::TOO_MANY_REQUESTS).with_should_retry(true);
            }
            (told.status, told.headers(), told.body(dialect), kind.as_str())
        }
    };
    if let Some(wait) = wait {
        out.insert(header::RETRY_AFTER, HeaderValue::from(whole_seconds(wait)));
    }
    if final_word {
        out.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
    }
    note(action, status, class, failure.scope, error);
    describe(action, &mut out);
    if !failure.route.is_empty() {
        insert(&mut out, ROUTE, &failure.route);
    }
    finish(status, out, Some(&action.request.request_id), Body::from(body))
}

/// Notes how the user action ended.
fn note(action: &Action, status: StatusCode, class: StatusClass, scope: Scope, error: &'static str) {
    let mut course = action.course();
    course.status = status.as_u16();
    course.class = Some(class);
    course.scope = scope.as_str();
    course.error = error;
    course.ended = Some(action.now());
}

/// Class of a failure in records and guardrails.
fn class(failure: &Failure) -> StatusClass {
    match (&failure.told, failure.scope) {
        (Told::Gateway { kind: Kind::Overloaded, .. }, _) => StatusClass::Shed,
        (Told::Gateway { kind: Kind::UpstreamFailed, .. }, _) => StatusClass::UpstreamError,
        (Told::Gateway { .. }, _) => StatusClass::GatewayError,
        (Told::Provider { .. }, Scope::Group) => StatusClass::ClientError,
        (Told::Provider { .. }, _) => StatusClass::UpstreamError,
    }
}

/// What Hedgerow did with a user action.
fn describe(action: &Action, out: &mut HeaderMap) {
    let course = action.course();
    let request = &action.request;
    insert(out, ACTION, &request.id);
    insert(out, LANE, &request.lane.config.name);
    insert(
        out,
        ATTEMPTS,
        match course.attempts {
            0 => "0",
            1 => "1",
            2 => "2",
            _ => "3",
        },
    );
    insert(out, HEDGED, if course.hedged { "true" } else { "false" });
    if let Some(winner) = &course.winner {
        insert(out, ROUTE, &winner.route);
    }
    if let Some(cohort) = &request.cohort {
        insert(out, COHORT, &cohort.config.name);
    }
    if let Some(reason) = course.reason {
        insert(out, HEDGE_REASON, reason.as_str());
    }
}

fn insert(out: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        out.insert(name, value);
    }
}

/// Errors always have a request id.
fn identified(told: ErrorAnswer) -> ErrorAnswer {
    if told.request_id.is_some() { told } else { told.with_request_id(id("req_", fastrand::u128(..))) }
}

fn finish(status: StatusCode, mut out: HeaderMap, request_id: Option<&str>, body: Body) -> Response {
    if let Some(value) = request_id.and_then(|id| HeaderValue::from_str(id).ok()) {
        out.insert(ANTHROPIC_REQUEST_ID, value.clone());
        out.insert(REQUEST_ID, value);
    }
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = out;
    response
}
