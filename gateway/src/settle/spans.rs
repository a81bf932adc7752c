//! What a span has beside its record, from a settled attempt or user action.
//!
//! Times are those that the records are made of, to the nanosecond; an attempt's span may end after its user action's, when
//! its loser was read to the end for an audit.

use hedgerow_config::route::Api;
use hedgerow_policy::time::Moment;
use http::Uri;
use opentelemetry_proto::tonic::trace::v1::Span;

use super::record::{ActionRecord, AttemptRecord};
use crate::{
    race::{
        action::{Action, Course},
        attempt::Attempt,
    },
    trace::{
        context::Context,
        span::{self, Frame, Peer},
    },
};

/// How the conventions name Azure's service, whatever its routes call it.
const AZURE: &str = "azure.ai.openai";

/// The span of an ended attempt.
pub(super) fn attempt(attempt: &Attempt, record: &AttemptRecord<'_>, trace: Context, now: Moment) -> Span {
    let (action, route) = (&attempt.action, &attempt.offer.route.config);
    let wall = |at: Moment| action.runtime.clock.wall(at).as_nanos();
    let endpoint: Uri = route.endpoint.parse().unwrap_or_default();
    let secure = endpoint.scheme_str() == Some("https");
    let asked = attempt.offer.model().and_then(|model| model.config.upstream_name.as_deref());
    let peer = Peer {
        provider: if route.api == Api::AzureOpenAI { AZURE } else { &route.failure_domain.provider },
        model: asked.unwrap_or(record.model_class),
        max_tokens: action.request.max_output,
        host: endpoint.host().unwrap_or_default().trim_matches(['[', ']']),
        port: endpoint.port_u16().or(Some(if secure { 443 } else { 80 })),
    };
    let frame = Frame {
        context: trace,
        id: action.span(attempt.number),
        parent: Some(action.span(0)),
        start: wall(attempt.started),
        end: wall(now),
        first_token: attempt.first_token.map(wall),
    };
    span::attempt(record, &peer, &frame)
}

/// The span of a settled user action.
pub(super) fn action(
    action: &Action,
    course: &Course,
    record: &ActionRecord<'_>,
    trace: Context,
    ended: Moment,
) -> Span {
    let arrived = action.request.arrived;
    let wall = |at: Moment| action.runtime.clock.wall(at).as_nanos();
    let frame = Frame {
        context: trace,
        id: action.span(0),
        parent: trace.parent,
        start: wall(arrived),
        end: wall(ended),
        first_token: course.first_token.map(|seen| wall(arrived + seen)),
    };
    span::action(record, action.request.max_output, &frame)
}
