//! Why an attempt got no answer from its upstream, or not all of it.
//!
//! Inputs: errors of the resolver, the socket, TLS and hyper. Output: one [`UpstreamError`] that says how far the request
//! got, because that decides whether sending it again may run it twice. Refuses to judge: whether a failure is retried
//! or moves a breaker is decided by the race.

use std::{error::Error as _, net::IpAddr, sync::Arc};

/// Why an attempt got no answer, or not all of it. Cloned to every attempt that waited for the same connection.
#[derive(Clone, Debug, thiserror::Error)]
pub enum UpstreamError {
    /// The name has no address now.
    #[error("cannot resolve {host}: {message}; check the endpoint's name and the cluster's DNS")]
    Resolve {
        /// Host of the endpoint.
        host: Arc<str>,
        /// The resolver's own words.
        message: Arc<str>,
    },
    /// Every address is one that no provider lives at: link-local, metadata service, multicast, unspecified.
    #[error("{host} resolves to {address}, which is refused: not an address of a provider")]
    AddressRefused {
        /// Host of the endpoint.
        host: Arc<str>,
        /// The first refused address.
        address: IpAddr,
    },
    /// No address accepted the connection.
    #[error("cannot connect to {host}: {source}")]
    Connect {
        /// Host of the endpoint.
        host: Arc<str>,
        /// The last address's error.
        source: Arc<std::io::Error>,
    },
    /// Resolving, connecting and the TLS handshake took longer than `timeouts.connect` together.
    #[error("no connection to {host} within {timeout_ms} ms")]
    ConnectTimeout {
        /// Host of the endpoint.
        host: Arc<str>,
        /// The bound, in milliseconds.
        timeout_ms: u64,
    },
    /// The fleet's proxy cannot be reached, or opens no way to the host.
    #[error("no way through proxy {proxy} to {host}: {message}; check egress.httpsProxy and egress.noProxy")]
    Proxy {
        /// Host and port of the proxy.
        proxy: Arc<str>,
        /// Host and port of the endpoint.
        host: Arc<str>,
        /// What went wrong, in the proxy's own words where it said any.
        message: Arc<str>,
    },
    /// The TLS handshake failed: wrong name, unknown CA, no common version.
    #[error("tls handshake with {host} failed: {source}; check endpoint, tls.ca and tls.serverName")]
    Tls {
        /// Host of the endpoint.
        host: Arc<str>,
        /// What rustls says.
        source: Arc<std::io::Error>,
    },
    /// The route cannot be set up as it is configured.
    #[error("{message}")]
    NotSetUp {
        /// Why.
        message: Arc<str>,
    },
    /// A kept connection was closed by the upstream before it saw the request, twice in a row.
    #[error("the upstream closed a kept connection before it read the request")]
    StaleConnection,
    /// The upstream reset the stream.
    #[error("the upstream reset the request: {reason}")]
    Reset {
        /// HTTP/2 reason.
        reason: Arc<str>,
    },
    /// The connection ended before the answer was whole.
    #[error("the connection ended before the answer was whole: {message}")]
    Closed {
        /// Cause.
        message: Arc<str>,
    },
    /// The upstream does not speak HTTP as agreed.
    #[error("the upstream broke the protocol: {message}")]
    Protocol {
        /// Cause.
        message: Arc<str>,
    },
}

impl UpstreamError {
    /// Whether the upstream may have seen the request. `false` is certain, `true` is not.
    pub fn sent(&self) -> bool {
        matches!(self, Self::Reset { .. } | Self::Closed { .. } | Self::Protocol { .. })
    }

    /// A short stable name for records.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Resolve { .. } => "resolve",
            Self::AddressRefused { .. } => "address_refused",
            Self::Connect { .. } => "connect",
            Self::ConnectTimeout { .. } => "connect_timeout",
            Self::Proxy { .. } => "proxy",
            Self::Tls { .. } => "tls",
            Self::NotSetUp { .. } => "not_set_up",
            Self::StaleConnection => "stale_connection",
            Self::Reset { .. } => "reset",
            Self::Closed { .. } => "closed",
            Self::Protocol { .. } => "protocol",
        }
    }

    /// From an error of a connection that had been established.
    pub(super) fn from_hyper(error: &hyper::Error) -> Self {
        let message: Arc<str> = Arc::from(describe(error));
        match h2_cause(error) {
            Some(cause) if cause.is_reset() => Self::Reset { reason: message },
            Some(cause) if cause.is_io() || cause.is_go_away() => Self::Closed { message },
            Some(_) => Self::Protocol { message },
            None if error.is_parse() || error.is_user() => Self::Protocol { message },
            None => Self::Closed { message },
        }
    }
}

/// Whether a failed request certainly never reached a handler: the upstream said so (`REFUSED_STREAM`, or `GOAWAY` with
/// a smaller last stream: RFC 9113, 8.7 and 6.8), or a kept HTTP/1.1 connection ended without one byte of an answer.
/// An HTTP/2 connection that is lost without a word may have run all of its streams, kept or not.
pub(super) fn is_stale(error: &hyper::Error, kept_http1: bool) -> bool {
    if let Some(cause) = h2_cause(error) {
        let refused = cause.reason() == Some(h2::Reason::REFUSED_STREAM);
        let leaving = cause.is_go_away() && cause.is_remote() && cause.reason() == Some(h2::Reason::NO_ERROR);
        return refused || leaving;
    }
    kept_http1
        && (error.is_incomplete_message() || error.is_canceled() || error.is_closed() || is_hang_up(error))
}

fn is_hang_up(error: &hyper::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    let cause = error.source().and_then(|source| source.downcast_ref::<std::io::Error>());
    cause.is_some_and(|io| {
        matches!(io.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
    })
}

fn h2_cause(error: &hyper::Error) -> Option<&h2::Error> {
    error.source().and_then(|source| source.downcast_ref())
}

/// hyper's own text hides the cause.
fn describe(error: &hyper::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// Why a route cannot be set up: it takes no attempts until that changes.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// Not a base URL.
    #[error("endpoint {endpoint:?} is not usable: {problem}")]
    Endpoint {
        /// As written.
        endpoint: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// `tls.ca` holds no certificate.
    #[error("tls.ca of route {route} is not usable: {problem}")]
    Ca {
        /// Route.
        route: String,
        /// What is wrong with it.
        problem: String,
    },
    /// `egress.httpsProxy` is not a URL.
    #[error("egress.httpsProxy {proxy:?} is not usable: {problem}")]
    Proxy {
        /// As written.
        proxy: String,
        /// What is wrong with it.
        problem: String,
    },
    /// `tls.serverName` is not a host name.
    #[error("tls.serverName {name:?} is not a host name")]
    ServerName {
        /// As written.
        name: String,
    },
    /// The TLS library refused its own defaults.
    #[error("tls cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
}
