//! The traffic port's router: which path is what.
//!
//! One function instead of a route table, because the paths are a small language of their own (`wire::path`: with and
//! without `/v1`, Azure's deployments, model ids with slashes). In axum's router that function would be the fallback of an
//! empty table: a look-up, path parameters, extensions and three more futures for each request, to no end.
//!
//! Inputs: requests of the traffic port. Outputs: answers. Invariant: the answer to HEAD has the headers and no body, also
//! over HTTP/2, where hyper would send what it is given.

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{BoxError, body::Body, response::Response};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, header};
use http_body::Body as _;
use tower::Service;

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

/// Answers the requests of the traffic port.
#[derive(Clone)]
pub struct Router(Arc<Runtime>);

/// The router of the traffic port.
pub fn router(runtime: Arc<Runtime>) -> Router {
    Router(runtime)
}

impl<B> Service<Request<B>> for Router
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response;
    type Error = Infallible;
    // Boxed: a connection would keep the size of the largest request that it ever answered.
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let runtime = self.0.clone();
        let request = request.map(Body::new);
        if request.method() == Method::HEAD {
            return Box::pin(async move { Ok(bodiless(handle(runtime, request).await)) });
        }
        Box::pin(async move { Ok(handle(runtime, request).await) })
    }
}

/// An answer without its body, whose length is still told.
fn bodiless(mut answer: Response) -> Response {
    if let Some(length) = answer.body().size_hint().exact() {
        answer.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    answer.map(|_| Body::empty())
}

async fn handle(runtime: Arc<Runtime>, request: Request<Body>) -> Response {
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
