//! The traffic port's router: which path is what.
//!
//! One fallback instead of a route table, because the paths are a small language of their own (`wire::path`: with and
//! without `/v1`, Azure's deployments, model ids with slashes).

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    response::Response,
};
use http::{HeaderValue, header};

use super::{answer, generate, models, stored};
use crate::{
    runtime::Runtime,
    wire::{
        answer::{ErrorAnswer, Kind},
        dialect::Dialect,
        headers,
        path::{self, Target},
    },
};

/// The router of the traffic port.
pub fn router(runtime: Arc<Runtime>) -> Router {
    Router::new().fallback(handle).with_state(runtime)
}

async fn handle(State(runtime): State<Arc<Runtime>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    if let Err(error) = headers::framing(head.version, &head.headers) {
        let told = ErrorAnswer::new(Kind::BadRequest, error.to_string());
        return answer::error(told, path::models_dialect(&head.headers));
    }
    let path = head.uri.path().to_owned();
    let Some(target) = path::parse(&path) else {
        return unknown(&head);
    };
    if !target.allows(&head.method) {
        return not_allowed(&target, &head);
    }
    match target {
        Target::Generate { operation, deployment } => {
            let arrival = generate::Arrival { operation, deployment: deployment.map(Into::into), head };
            generate::generate(runtime, arrival, body).await
        }
        Target::Models => models::list(&runtime, &head.headers),
        Target::Model(id) => models::show(&runtime, &head.headers, &id),
        Target::Stored { id, action } => stored::answer(&runtime, action.path(id), &head).await,
    }
}

/// 405 with the methods that are allowed, as RFC 9110, 15.5.6 demands.
fn not_allowed(target: &Target<'_>, head: &http::request::Parts) -> Response {
    let allowed = target.methods().iter().map(http::Method::as_str).collect::<Vec<_>>().join(", ");
    let message = format!("{} is not allowed on this path: use {allowed}", head.method);
    let told = ErrorAnswer::new(Kind::UnknownMethod, message);
    let mut response = answer::error(told, dialect(target, &head.headers));
    if let Ok(allowed) = HeaderValue::from_str(&allowed) {
        response.headers_mut().insert(header::ALLOW, allowed);
    }
    response
}

fn unknown(head: &http::request::Parts) -> Response {
    answer::error(
        ErrorAnswer::unknown_path(&head.method, head.uri.path()),
        path::models_dialect(&head.headers),
    )
}

fn dialect(target: &Target<'_>, headers: &http::HeaderMap) -> Dialect {
    match target {
        Target::Generate { operation, .. } => operation.dialect(),
        _ => path::models_dialect(headers),
    }
}
