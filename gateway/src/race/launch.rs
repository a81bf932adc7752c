//! Sending one attempt: the shared body with its splices, the client's headers without what is ours or theirs alone.

use std::sync::Arc;

use hedgerow_policy::{ledger::Kind, time::Moment};
use http::{HeaderMap, HeaderValue, Method, header};

use super::{
    action::{Action, PrimaryFacts},
    attempt::Attempt,
    failure::Failure,
    leg::Leg,
    slot::Slot,
};
use crate::{
    plan::Choice,
    runtime::target,
    settle::record::Outcome,
    wire::{
        answer,
        document::Document,
        error_table::{Retry, Scope},
        headers,
        scan::Scan,
        splice::{self, Change},
    },
};

/// What all attempts of a user action send; freed at commit.
pub struct Prepared {
    /// The client's body.
    pub body: Document,
    /// Where its keys are.
    pub scan: Scan,
    /// The client's headers.
    pub headers: HeaderMap,
}

/// Starts an attempt. Its ledger entry exists before anything is sent.
pub fn launch(
    action: &Arc<Action>,
    prepared: &Prepared,
    slot: &Slot,
    kind: Kind,
    choice: Choice,
    now: Moment,
) -> Result<Leg, Box<Failure>> {
    let mut attempt = Attempt::new(action, slot, kind, choice, now);
    let offer = attempt.offer.clone();
    let route = &offer.route;
    if slot.number() == 1 {
        action.course().primary = Some(PrimaryFacts { offer: offer.clone(), cell: attempt.cell.clone() });
    }
    let Some((head, spliced)) = request(action, prepared, &offer, slot.number()) else {
        let mut failure = Failure {
            retry: Retry::OtherRoute,
            nothing_ran: true,
            attempt: attempt.number,
            route: route.config.name.clone(),
            ..Failure::gateway(
                answer::Kind::NoRoute,
                Scope::RouteLocal,
                Outcome::Withdrawn,
                "the route's credential is missing or unusable: mount a secret of one line",
            )
        };
        failure.free = true;
        attempt.fail(&failure, now);
        return Err(Box::new(failure));
    };
    let sending = route.transport.load().send(head, spliced.body);
    Ok(Leg::new(attempt, sending, spliced.usage))
}

/// Head and body of the attempt of this number on `offer`; `None` without a credential or an address.
fn request(
    action: &Action,
    prepared: &Prepared,
    offer: &crate::runtime::snapshot::Offer,
    number: u8,
) -> Option<(http::request::Parts, splice::Spliced)> {
    let route = &offer.route;
    let model = offer.model()?;
    let operation = action.request.operation;
    let mut out = HeaderMap::with_capacity(prepared.headers.len() + 4);
    headers::to_upstream(&prepared.headers, &mut out);
    if let Some(trace) = action.trace() {
        trace.pass_on(action.span(number), &mut out);
    }
    out.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    route.address.decorate(route.config.api, &mut out);
    target::authorize(&route.config, &action.runtime.credentials, &prepared.headers, &mut out)?;
    let uri = route.address.uri(&route.config, operation, &model.config)?;
    let change = Change {
        model: model.config.upstream_name.as_deref(),
        include_usage: route.config.capabilities.stream_usage,
    };
    let spliced = splice::splice(&prepared.body, &prepared.scan, operation, change);
    let (mut head, ()) = http::Request::builder().method(Method::POST).uri(uri).body(()).ok()?.into_parts();
    head.headers = out;
    Some((head, spliced))
}
