//! Stored responses: `GET`, `DELETE`, `cancel` and `input_items` of `/v1/responses/{id}`.
//!
//! Why not the way of generations: there is nothing to hedge, to retry elsewhere or to bill, and the request names no
//! model. A response lies with the account that made it, which is its model's home route for the tenant
//! (`plan::primary`). So each home route that the tenant can have is asked in turn, in the order of their names, until one
//! knows the id: usually there is one. 404 of all of them is the provider's own 404.
//!
//! Inputs: the path below the version prefix and the request's head. Outputs: the provider's answer as it is. It counts
//! against `maxInFlight` and the route's limits while it lasts, and not as a user action. Refuses to look for an id on routes
//! that are not home to the tenant.

use std::{sync::Arc, time::Duration};

use axum::{body::Body, response::Response};
use hedgerow_policy::gauge::Held;
use http::{HeaderMap, StatusCode, request};
use http_body_util::BodyExt as _;

use super::{answer, classify::id, gate1};
use crate::{
    permit::{RoutePermit, Want},
    plan::{candidate, primary},
    race::transport,
    runtime::{Runtime, route::RouteRuntime, snapshot::Snapshot, target},
    wire::{
        answer::{ErrorAnswer, Kind},
        dialect::Dialect,
        headers,
        splice::Segments,
    },
};

/// Asks the tenant's home routes for `path`.
pub async fn answer(runtime: &Arc<Runtime>, path: String, head: &request::Parts) -> Response {
    let request_id = id("req_", fastrand::u128(..));
    let found = ask(runtime, &path, head).await;
    match found {
        Ok((route, answer, held)) => {
            // Held until the body has ended, or its client has gone.
            let body = answer.body.map_frame(move |frame| {
                let _ = &held;
                frame
            });
            answer::passed(&answer.head, &request_id, &route.config.name, Body::new(body))
        }
        Err(told) => answer::error(told.with_request_id(request_id), Dialect::OpenAi),
    }
}

/// Places that last as long as the answer.
type Place = (Held, RoutePermit);

async fn ask(
    runtime: &Arc<Runtime>,
    path: &str,
    head: &request::Parts,
) -> Result<(Arc<RouteRuntime>, transport::Response, Place), ErrorAnswer> {
    let Some(snapshot) = runtime.snapshot() else {
        return Err(ErrorAnswer::new(Kind::NoRoute, "the gateway has no configuration yet: try again")
            .with_retry_after(Duration::from_secs(1)));
    };
    let tenant = gate1::enter(runtime, &snapshot, &head.headers)?.tenant;
    let time = Duration::from_millis(snapshot.settings.defaults.deadline.complete_ms);
    let mut last = Err(ErrorAnswer::new(Kind::NoRoute, "no route keeps responses for this tenant"));
    for route in homes(runtime, &snapshot, &tenant) {
        let place = gate1::place(runtime, &snapshot)?;
        let asked = send(runtime, &snapshot, &route, path, head);
        let asked = tokio::time::timeout(time, asked).await.unwrap_or_else(|_| {
            Err(ErrorAnswer::new(Kind::Deadline, "the provider did not answer in time: ask again"))
        });
        let (answer, permit) = match asked {
            Ok(answered) => answered,
            Err(told) => {
                last = Err(told);
                continue;
            }
        };
        let missing = answer.head.status == StatusCode::NOT_FOUND;
        let found = Ok((route, answer, (place, permit)));
        if !missing {
            return found;
        }
        // That another could not be asked says more than that this one has nothing.
        if !matches!(&last, Err(told) if told.kind != Kind::NoRoute) {
            last = found;
        }
    }
    last
}

/// The routes at which the tenant's responses can be, each once.
fn homes(runtime: &Runtime, snapshot: &Snapshot, tenant: &str) -> Vec<Arc<RouteRuntime>> {
    let hash = snapshot.key.hash(tenant.as_bytes());
    let serves = |route: &RouteRuntime| candidate::serves(runtime, Dialect::OpenAi, tenant, route);
    let mut homes: Vec<_> = snapshot
        .listings
        .values()
        .filter_map(|listing| {
            primary::home_of(hash, listing.offers.iter().filter(|offer| serves(&offer.route)))
        })
        .map(|offer| offer.route.clone())
        .collect();
    homes.sort_by(|left, right| left.config.name.cmp(&right.config.name));
    homes.dedup_by(|left, right| left.config.uid == right.config.uid);
    homes
}

async fn send(
    runtime: &Runtime,
    snapshot: &Snapshot,
    route: &Arc<RouteRuntime>,
    path: &str,
    client: &request::Parts,
) -> Result<(transport::Response, RoutePermit), ErrorAnswer> {
    let unusable = || ErrorAnswer::new(Kind::NoRoute, "the route's credential is missing or unusable");
    let permit = RoutePermit::take(runtime, route, None, snapshot.settings.max_in_flight, 0, Want::Primary)
        .map_err(|_| ErrorAnswer::new(Kind::Overloaded, "the route is full: try again"))?;
    let mut out = HeaderMap::with_capacity(client.headers.len() + 4);
    headers::to_upstream(&client.headers, &mut out);
    route.address.decorate(route.config.api, &mut out);
    target::authorize(&route.config, &runtime.credentials, &client.headers, &mut out).ok_or_else(unusable)?;
    let uri = route.address.stored_uri(&route.config, path, client.uri.query()).ok_or_else(unusable)?;
    let request = http::Request::builder().method(client.method.clone()).uri(uri).body(());
    let (mut head, ()) = request.map_err(|_| unusable())?.into_parts();
    head.headers = out;
    let answer = route.transport.load().send(head, Segments::default()).await;
    let failed = |_| ErrorAnswer::new(Kind::UpstreamFailed, "the provider could not be asked: try again");
    Ok((answer.map_err(failed)?, permit))
}
