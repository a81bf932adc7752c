//! The seam between the race and the network.
//!
//! Why: the race is tested with scripted upstreams and invented time; in a pod the other side is [`Upstream`]. One boxed
//! future and one boxed body per attempt is the price, and both are gone when the attempt is over.
//!
//! Contract: dropping the future or the body cancels the attempt at the provider.

use std::{future::Future, pin::Pin, sync::Arc};

use bytes::Bytes;
use hedgerow_config::{self as config, settings::Egress};
use http::{request, response};
use http_body::Body;

use crate::{
    runtime::trust::Trust,
    trace::Way,
    upstream::{SetupError, Upstream, UpstreamError},
    wire::splice::Segments,
};

/// Bytes of an answer as they arrive.
pub type AnswerBody = Pin<Box<dyn Body<Data = Bytes, Error = UpstreamError> + Send>>;
/// An attempt on its way to the answer's head.
pub type Sending = Pin<Box<dyn Future<Output = Result<Response, UpstreamError>> + Send>>;

/// Makes the connection pools of routes.
pub trait Transports: Send + Sync {
    /// The pool of `route`, which goes out as the fleet says and trusts what is mounted; or why there can be none.
    fn open(
        &self,
        route: &config::Route,
        egress: &Egress,
        trust: &Trust,
    ) -> Result<Arc<dyn Transport>, SetupError>;

    /// Connections to a collector of traces, or why there can be none. Scripted ones know no collector.
    fn collector(&self, way: &Way) -> Result<Arc<dyn Transport>, SetupError> {
        Ok(Arc::new(Closed(Arc::from(format!("no collector at {}", way.endpoint)))))
    }
}

/// One route's connections.
pub trait Transport: Send + Sync {
    /// Sends one attempt.
    fn send(&self, head: request::Parts, body: Segments) -> Sending;

    /// Whether attempts can be sent at all.
    fn usable(&self) -> bool {
        true
    }
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

/// Stands for connections that cannot be set up: one route's mistake leaves the others alone.
pub struct Closed(pub Arc<str>);

impl Transport for Closed {
    fn send(&self, _: request::Parts, _: Segments) -> Sending {
        let error = UpstreamError::NotSetUp { message: self.0.clone() };
        Box::pin(async move { Err(error) })
    }

    fn usable(&self) -> bool {
        false
    }
}
