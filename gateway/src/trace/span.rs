//! Records as spans.
//!
//! Inputs: the record of an attempt or a user action, and what a span has beside it: ids, times to the nanosecond, where
//! the attempt went. Outputs: spans as OTLP writes them. Pure: equal records give equal spans.
//!
//! A user action is a SERVER span below the client's, an attempt a CLIENT span below the user action's; both are named
//! `{operation} {model}` as the conventions for generative AI have it. Tokens are on attempts alone, so that a sum over
//! spans counts none twice. A span is an error when the gateway or the provider failed (a client's mistake and a shed are
//! none, as for HTTP servers); a loser that was cancelled is none either.

use opentelemetry_proto::tonic::trace::v1::{
    Span, SpanFlags, Status,
    span::{Event, SpanKind},
    status::StatusCode,
};

use super::{
    attribute::{self as name, Attributes},
    context::Context,
};
use crate::{
    runtime::snapshot::WILDCARD,
    settle::record::{ActionRecord, AttemptRecord, StatusClass},
};

/// Name of the event at the first token of a stream or a whole answer.
pub const FIRST_TOKEN: &str = "hedgerow.first_token";

/// Ids and times of a span. Times are nanoseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Its trace.
    pub context: Context,
    /// Its own id.
    pub id: u64,
    /// The span above it.
    pub parent: Option<u64>,
    /// When it began.
    pub start: u64,
    /// When it ended.
    pub end: u64,
    /// First token, or whole answer.
    pub first_token: Option<u64>,
}

/// What an attempt's span says beside its record.
#[derive(Clone, Copy, Debug)]
pub struct Peer<'a> {
    /// Provider of the route.
    pub provider: &'a str,
    /// Model as its provider was asked for it; [`WILDCARD`] = as the client wrote it.
    pub model: &'a str,
    /// Cap on the answer that the client asked for.
    pub max_tokens: Option<u64>,
    /// Host of the endpoint.
    pub host: &'a str,
    /// Port of the endpoint.
    pub port: Option<u16>,
}

/// The span of an attempt.
pub fn attempt(record: &AttemptRecord<'_>, peer: &Peer<'_>, frame: &Frame) -> Span {
    let failed = record.status_class == StatusClass::UpstreamError;
    let refused = record.status.filter(|status| *status >= 400).map(|status| status.to_string());
    let error = if failed { refused.as_deref().unwrap_or(record.outcome.as_str()) } else { "" };
    let scope = if record.error_scope == "none" { "" } else { record.error_scope };
    let attributes = Attributes::new()
        .text(name::OPERATION, record.route_class)
        .text(name::PROVIDER, peer.provider)
        .text(name::MODEL, listed(peer.model))
        .number(name::MAX_TOKENS, peer.max_tokens)
        .number(name::INPUT_TOKENS, record.usage_input_units)
        .number(name::OUTPUT_TOKENS, record.usage_output_units)
        .number(name::STATUS, record.status.map(u64::from))
        .text(name::ERROR, error)
        .text(name::SERVER, peer.host)
        .number(name::PORT, peer.port.map(u64::from))
        .number(name::ATTEMPT, u64::from(record.attempt))
        .text(name::KIND, record.kind)
        .text(name::OUTCOME, record.outcome.as_str())
        .text(name::ROLE, record.role)
        .flag(name::CONTRACT, record.contract_valid)
        .text(name::ROUTE, record.route)
        .text(name::SCOPE, scope)
        .text(name::UPSTREAM_REQUEST, record.upstream_request_id)
        .text(name::BASIS, record.usage_basis)
        .number(name::COST, record.cost_micros);
    span(frame, SpanKind::Client, titled(record.route_class, peer.model), attributes, error)
}

/// The span of a user action.
pub fn action(record: &ActionRecord<'_>, max_tokens: Option<u64>, frame: &Frame) -> Span {
    let failed = matches!(record.status_class, StatusClass::UpstreamError | StatusClass::GatewayError);
    let error = match record.error {
        _ if !failed => "",
        "" => record.status_class.as_str(),
        error => error,
    };
    // 499 is ours: who left has got none.
    let answered = record.status_class != StatusClass::Canceled && record.status > 0;
    let scope = if record.error_scope == "none" { "" } else { record.error_scope };
    let arm = if record.arm == "none" { "" } else { record.arm };
    let attributes = Attributes::new()
        .text(name::OPERATION, record.route_class)
        .text(name::MODEL, listed(record.model_class))
        .number(name::MAX_TOKENS, max_tokens)
        .text(name::METHOD, "POST")
        .number(name::STATUS, answered.then_some(u64::from(record.status)))
        .text(name::ERROR, error)
        .text(name::ACTION, record.user_action_id)
        .text(name::REQUEST, record.request_id)
        .flag(name::STREAM, record.stream)
        .text(name::COHORT, record.cohort)
        .text(name::LANE, record.lane)
        .text(name::GUARDRAIL, record.guardrail)
        .number(name::ATTEMPTS, u64::from(record.attempts))
        .flag(name::HEDGED, record.hedged)
        .number(name::HEDGE_DELAY, record.hedge_delay_ms)
        .text(name::HEDGE_REASON, record.reason)
        .text(name::ARM, arm)
        .number(name::WINNER, record.winner_attempt.map(u64::from))
        .text(name::WINNER_ROUTE, record.winner_route)
        .text(name::SHED, record.shed)
        .text(name::CLASS, record.status_class.as_str())
        .text(name::SCOPE, scope)
        .text(name::BASIS, record.usage_basis)
        .number(name::COST, record.cost_micros)
        .number(name::COST_LOST, record.cost_lost_micros);
    span(frame, SpanKind::Server, titled(record.route_class, record.model_class), attributes, error)
}

fn span(frame: &Frame, kind: SpanKind, title: String, attributes: Attributes, error: &str) -> Span {
    let remote = kind == SpanKind::Server && frame.parent.is_some();
    let mut flags = u32::from(frame.context.flags()) | SpanFlags::ContextHasIsRemoteMask as u32;
    if remote {
        flags |= SpanFlags::ContextIsRemoteMask as u32;
    }
    let code = if error.is_empty() { StatusCode::Unset } else { StatusCode::Error };
    let seen = |at| Event { time_unix_nano: at, name: FIRST_TOKEN.to_owned(), ..Event::default() };
    Span {
        trace_id: frame.context.trace.to_be_bytes().to_vec(),
        span_id: frame.id.to_be_bytes().to_vec(),
        parent_span_id: frame.parent.map_or_else(Vec::new, |parent| parent.to_be_bytes().to_vec()),
        flags,
        name: title,
        kind: kind as i32,
        start_time_unix_nano: frame.start,
        end_time_unix_nano: frame.end.max(frame.start),
        attributes: attributes.done(),
        events: frame.first_token.map(seen).into_iter().collect(),
        status: Some(Status { message: String::new(), code: code as i32 }),
        ..Span::default()
    }
}

/// `{operation} {model}`.
fn titled(operation: &str, model: &str) -> String {
    match listed(model) {
        "" => operation.to_owned(),
        model => format!("{operation} {model}"),
    }
}

/// A configured name. What only a wildcard lists is whatever a client writes.
fn listed(model: &str) -> &str {
    if model == WILDCARD { "" } else { model }
}

#[cfg(test)]
#[path = "span_tests.rs"]
mod tests;
