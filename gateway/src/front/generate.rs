//! A request's way: gate 1, read, classify, gate 2 (lane), race, answer.
//!
//! The order is the point: what is refused early costs little, the place in the lane is taken before anything is sent,
//! and from the lane on the user action owns everything it holds.

use std::{sync::Arc, time::Duration};

use axum::{body::Body, response::Response};
use http::{header, request};

use super::{
    answer, body,
    classify::{self, Ids},
    gate1,
};
use crate::{
    permit::ActionPermits,
    race::{self, action::Action, launch::Prepared, timer::Timer},
    runtime::{Runtime, lane::LanePermit},
    wire::{
        answer::{ErrorAnswer, Kind},
        dialect::{Dialect, Operation},
    },
};

/// A request that asks for a generation.
pub struct Arrival {
    /// What it asks for.
    pub operation: Operation,
    /// Model named by the path, on Azure's paths.
    pub deployment: Option<String>,
    /// Method, path, headers.
    pub head: request::Parts,
}

/// Answers a request for a generation.
pub async fn generate(runtime: Arc<Runtime>, arrival: Arrival, body: Body) -> Response {
    let arrived = runtime.clock.now();
    let dialect = arrival.operation.dialect();
    let Some(snapshot) = runtime.snapshot() else {
        let told = ErrorAnswer::new(Kind::NoRoute, "the gateway has no configuration yet: try again")
            .with_retry_after(Duration::from_secs(1))
            .with_should_retry(true);
        return answer::refusal(told, dialect, body);
    };
    let mut ids = Ids::new(&arrival.head.headers, &snapshot);
    // The client waits for 100 before it sends its body, so there is nothing to drain.
    let sent = |body| Some(body).filter(|_| !arrival.head.headers.contains_key(header::EXPECT));
    let mut entry = match gate1::enter(&runtime, &snapshot, &arrival.head.headers) {
        Ok(entry) => entry,
        Err(told) => return refuse(told, dialect, &ids, sent(body)),
    };
    let read = body::read(body, entry.content_length, &mut entry.buffered, &runtime, &snapshot).await;
    let document = match read {
        Ok(document) => document,
        Err((told, rest)) => return refuse(told, dialect, &ids, Some(rest)),
    };
    entry.buffered.shrink_to(document.len() as u64);
    let in_flight = match gate1::place(&runtime, &snapshot) {
        Ok(place) => place,
        Err(told) => return refuse(told, dialect, &ids, None),
    };
    let classified = classify::classify(&snapshot, &arrival, &mut ids, entry.tenant, &document, arrived);
    let (request, scan) = match classified {
        Ok(classified) => classified,
        Err(told) => return refuse(told, dialect, &ids, None),
    };
    let action = Action::new(runtime, snapshot, request);
    let permit = match gate2(&action).await {
        Ok(permit) => permit,
        Err(told) => return answer::shed(&told, &action),
    };
    let permits = ActionPermits { lane: permit, in_flight, buffered: Some(entry.buffered) };
    let prepared = Prepared { body: document, scan, headers: arrival.head.headers };
    run(&action, prepared, permits).await
}

/// Refuses a request before it is planned; the `rest` of a body that is still coming is read away.
fn refuse(told: ErrorAnswer, dialect: Dialect, ids: &Ids, rest: Option<Body>) -> Response {
    let told = told.with_request_id(ids.request.as_str());
    let refused = match rest {
        Some(body) => answer::refusal(told, dialect, body),
        None => answer::error(told, dialect),
    };
    answer::unplanned(refused, &ids.action)
}

/// Gate 2: the lane. One permit per user action; an admitted original deposits to its budget. Who leaves while it waits is
/// settled when the action is dropped.
async fn gate2(action: &Action) -> Result<LanePermit, ErrorAnswer> {
    let (runtime, request) = (&action.runtime, &action.request);
    let lane = &request.lane;
    let now = runtime.clock.now();
    if let Some(cohort) = &request.cohort {
        cohort.state.arrived(now, request.client_retry);
    }
    let tenant = action.snapshot.key.hash(request.tenant.as_bytes());
    let patience = now.until(request.deadline);
    let admitted = runtime.lanes.admit(lane, tenant, request.client_retry, patience).await;
    match admitted {
        Ok(permit) => {
            action.course().admitted = true;
            if !request.client_retry {
                request.listing.budget.deposit(runtime.clock.now());
            }
            Ok(permit)
        }
        Err(shed) => {
            let reason = shed.reason.as_str();
            lane.state.count_shed(reason, shed.retry_after);
            lane.metrics.shed(reason);
            action.course().shed = reason;
            Err(ErrorAnswer::new(
                Kind::Overloaded,
                format!("lane {} is full ({reason}): try again after Retry-After", lane.config.name),
            )
            .with_retry_after(Duration::from_secs(u64::from(shed.retry_after)))
            .with_should_retry(true)
            .with_lane(lane.config.name.clone())
            .with_reason(reason)
            .with_request_id(request.request_id.clone()))
        }
    }
}

/// Races and answers. The request body is freed at commit.
async fn run(action: &Arc<Action>, prepared: Prepared, mut permits: ActionPermits) -> Response {
    let mut timer = Timer::default();
    let result = race::run(action, prepared, &permits, &mut timer).await;
    permits.buffered = None;
    match result {
        Ok(won) => answer::committed(action, won, permits, timer),
        Err(failure) => answer::failed(action, *failure),
    }
}
