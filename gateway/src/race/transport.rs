//! The seam between the race and the network.
//!
//! Why: the race is tested with scripted upstreams and invented time; in a pod the other side is [`Upstream`]. One boxed
//! future and one boxed body per attempt is the price, and both are gone when the attempt is over.
//!
//! Contract: dropping the future or the body cancels the attempt at the provider.

use std::{future::Future, pin::Pin, sync::Arc};

use bytes::Bytes;
use hedgerow_config as config;
use http::{request, response};
use http_body::Body;

use crate::{
    runtime::error::ApplyError,
    upstream::{Upstream, UpstreamError},
    wire::splice::Segments,
};

/// Bytes of an answer as they arrive.
pub type AnswerBody = Pin<Box<dyn Body<Data = Bytes, Error = UpstreamError> + Send>>;
/// An attempt on its way to the answer's head.
pub type Sending = Pin<Box<dyn Future<Output = Result<Response, UpstreamError>> + Send>>;

/// Makes the connection pools of routes.
pub trait Transports: Send + Sync {
    /// The pool of `route`.
    fn open(&self, route: &config::Route) -> Result<Arc<dyn Transport>, ApplyError>;
}

/// One route's connections.
pub trait Transport: Send + Sync {
    /// Sends one attempt.
    fn send(&self, head: request::Parts, body: Segments) -> Sending;
}

/// The head of an answer and the rest to come.
pub struct Response {
    /// Status and headers.
    pub head: response::Parts,
    /// The rest.
    pub body: AnswerBody,
}

/// [`Upstream`] as a [`Transport`].
pub struct Pooled(pub Arc<Upstream>);

impl Transport for Pooled {
    fn send(&self, head: request::Parts, body: Segments) -> Sending {
        let upstream = self.0.clone();
        Box::pin(async move {
            let response = upstream.send(head, body).await?;
            Ok(Response { head: response.head, body: Box::pin(response.body) })
        })
    }
}
