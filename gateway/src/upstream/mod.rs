//! Towards the providers: one pool of connections per route.
//!
//! Inputs: a request head and a body whose bytes are shared by all attempts. Outputs: the answer's head and a body that
//! is polled frame by frame. Invariants: no retries but one (a kept connection that the upstream had already closed,
//! which costs no budget because nobody saw the request); dropping the future or the body cancels at the peer; every
//! address is checked after resolution, by the proxy where there is one; no task per request. Refuses: redirects, cookies,
//! decompression, and proxies that the fleet does not name.

mod address;
mod body;
mod connection;
mod endpoint;
mod error;
mod pool;
mod proxy;
mod resolve;
mod sessions;
mod tls;

use std::{sync::Arc, time::Duration};

use hedgerow_config::{Route, settings::Egress};
use http::{Request, Uri, Version, header, request, response};
use http_body_util::Full;

pub use self::{
    body::UpstreamBody,
    error::{SetupError, UpstreamError},
};
use self::{
    connection::{Body, Dialer},
    endpoint::Endpoint,
    pool::{Lease, LeaseKind, Pool},
    proxy::Proxy,
    resolve::Resolver,
    tls::{Roots, Tls},
};
use crate::wire::splice::Segments;

/// Resolving, connecting and the TLS handshake of a collector of traces, together.
const COLLECTOR_CONNECT: Duration = Duration::from_secs(5);

/// What the upstreams of all routes share: the resolver, the machine's CA bundle, TLS sessions.
#[derive(Clone)]
pub struct UpstreamShared {
    resolver: Resolver,
    roots: Arc<Roots>,
}

/// What an upstream is set up with beside its route: files that are mounted now, and the fleet's way out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Setup<'a> {
    /// Content of `route.tls.ca`.
    pub ca: Option<&'a [u8]>,
    /// How providers are reached; `None` = directly.
    pub egress: Option<&'a Egress>,
    /// Content of `egress.ca`.
    pub further: Option<&'a [u8]>,
}

impl UpstreamShared {
    /// Reads the machine's resolver configuration and CA bundle, once.
    ///
    /// # Errors
    /// Only if the TLS library cannot be set up; a missing CA bundle or resolver is a warning.
    pub fn new() -> Result<Self, SetupError> {
        Ok(Self { resolver: Resolver::from_system(), roots: Arc::new(Roots::of_machine()?) })
    }
}

/// One route's upstream.
pub struct Upstream {
    endpoint: Endpoint,
    pool: Arc<Pool>,
}

/// An upstream's answer.
#[derive(Debug)]
pub struct UpstreamResponse {
    /// Status and headers as received.
    pub head: response::Parts,
    /// The rest; dropping it cancels.
    pub body: UpstreamBody,
    /// Whether a kept connection was used.
    pub reused: bool,
}

impl Upstream {
    /// Sets up a route's upstream; opens nothing yet. Call it inside a runtime.
    ///
    /// # Errors
    /// The endpoint, `tls.ca`, `tls.serverName` or the proxy cannot be used.
    pub fn new(route: &Route, shared: &UpstreamShared, setup: &Setup<'_>) -> Result<Arc<Self>, SetupError> {
        let endpoint = Endpoint::parse(&route.endpoint)?;
        let roots = &shared.roots;
        let tls = if endpoint.tls() { Some(tls::of_route(route, &endpoint, roots, setup)?) } else { None };
        let timeout = Duration::from_millis(route.timeouts.connect_ms);
        Self::open(endpoint, tls, timeout, shared, setup)
    }

    /// Sets up the way to a collector of traces, as a provider's is; opens nothing yet. Call it inside a runtime.
    ///
    /// # Errors
    /// The endpoint or the proxy cannot be used.
    pub fn collector(
        endpoint: &str,
        shared: &UpstreamShared,
        setup: &Setup<'_>,
    ) -> Result<Arc<Self>, SetupError> {
        let endpoint = Endpoint::parse(endpoint)?;
        let tls = if endpoint.tls() { Some(tls::of_host(&endpoint, &shared.roots, setup)?) } else { None };
        Self::open(endpoint, tls, COLLECTOR_CONNECT, shared, setup)
    }

    fn open(
        endpoint: Endpoint,
        tls: Option<Tls>,
        timeout: Duration,
        shared: &UpstreamShared,
        setup: &Setup<'_>,
    ) -> Result<Arc<Self>, SetupError> {
        let proxy = Proxy::before(&endpoint, &shared.roots, setup)?;
        let resolver = shared.resolver.clone();
        let dialer = Dialer { endpoint: endpoint.clone(), tls, proxy, resolver, timeout };
        Ok(Arc::new(Self { endpoint, pool: Pool::new(dialer) }))
    }

    /// Sends one attempt and waits for the answer's head. Of `head.uri` only path and query count: the route's endpoint
    /// is always the one that is dialled. `Host` and `Content-Length` are set here.
    ///
    /// # Errors
    /// No connection, or the connection ended before the head was there.
    pub async fn send(
        &self,
        head: request::Parts,
        body: Segments,
    ) -> Result<UpstreamResponse, UpstreamError> {
        let lease = self.pool.lease().await?;
        if lease.exclusive() && !lease.kept {
            return self.attempt(lease, head, body).await.map_err(Failure::into_error);
        }
        match self.attempt(lease, head.clone(), body.clone()).await {
            Err(Failure { stale: true, .. }) => {
                let lease = self.pool.lease().await?;
                self.attempt(lease, head, body).await.map_err(Failure::into_error)
            }
            other => other.map_err(Failure::into_error),
        }
    }

    async fn attempt(
        &self,
        mut lease: Lease,
        head: request::Parts,
        body: Segments,
    ) -> Result<UpstreamResponse, Failure> {
        let kept = lease.kept;
        let alone = lease.exclusive();
        let answered = match &mut lease.kind {
            LeaseKind::Http1 { sender, .. } => sender.try_send_request(self.request_http1(head, body)).await,
            LeaseKind::Http2 { sender, .. } => sender.try_send_request(self.request_http2(head, body)).await,
            LeaseKind::Over => return Err(Failure::unsent()),
        };
        let (head, incoming) = match answered {
            Ok(response) => response.into_parts(),
            Err(mut refused) => {
                let unsent = refused.take_message().is_some();
                let failure = Failure::of(refused.error(), unsent, kept && alone);
                if failure.stale {
                    lease.turned_out_stale();
                }
                return Err(failure);
            }
        };
        Ok(UpstreamResponse { head, body: UpstreamBody::new(incoming, lease), reused: kept })
    }

    fn request_http1(&self, mut head: request::Parts, body: Segments) -> Request<Body> {
        head.version = Version::HTTP_11;
        head.uri = path_of(&head.uri);
        head.headers.insert(header::HOST, self.endpoint.host_header.clone());
        head.headers.remove(header::CONTENT_LENGTH);
        Request::from_parts(head, Full::new(body))
    }

    fn request_http2(&self, mut head: request::Parts, body: Segments) -> Request<Body> {
        head.version = Version::HTTP_2;
        let mut parts = path_of(&head.uri).into_parts();
        parts.scheme = Some(self.endpoint.scheme.clone());
        parts.authority = Some(self.endpoint.authority.clone());
        head.uri = Uri::from_parts(parts).unwrap_or(head.uri);
        head.headers.remove(header::HOST);
        head.headers.remove(header::CONTENT_LENGTH);
        Request::from_parts(head, Full::new(body))
    }
}

fn path_of(uri: &Uri) -> Uri {
    uri.path_and_query().cloned().map_or_else(|| Uri::from_static("/"), Uri::from)
}

/// A failed attempt, and whether the upstream certainly did not see it.
struct Failure {
    error: UpstreamError,
    stale: bool,
}

impl Failure {
    fn of(error: &hyper::Error, unsent: bool, kept_http1: bool) -> Self {
        let stale = unsent || error::is_stale(error, kept_http1);
        let error = if stale { UpstreamError::StaleConnection } else { UpstreamError::from_hyper(error) };
        Self { error, stale }
    }

    fn unsent() -> Self {
        Self { error: UpstreamError::StaleConnection, stale: true }
    }

    fn into_error(self) -> UpstreamError {
        self.error
    }
}
