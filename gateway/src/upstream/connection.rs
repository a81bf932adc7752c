//! One connection to an upstream: resolve, connect, the way through a proxy, TLS, HTTP handshake.
//!
//! Inputs: an endpoint. Outputs: a sender and the future that drives the connection; the pool spawns one task per
//! *connection* for it, never one per request. Invariants: everything up to the handshake ends within
//! `timeouts.connect`; TCP_NODELAY is on.
//!
//! Numbers (`data-plane-experiments` E4, E5, E7): h2 stream window 256 KiB and connection window 64 x that, so that
//! unread streams cannot stall the others; local resets are not counted against the connection, because a burst of
//! cancelled hedges would otherwise close it under innocent streams; HTTP/1.1 buffers at most 64 KiB, because they stay
//! as large as the largest answer. PING 20 s / 5 s finds dead peers. Addresses are tried 250 ms apart (RFC 8305, 5).

use std::{
    future::Future,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use http_body_util::Full;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::Interval,
};

use super::{
    endpoint::Endpoint,
    error::UpstreamError,
    proxy::Proxy,
    resolve::Resolver,
    tls::{self, Tls},
};
use crate::wire::splice::Segments;

/// What is sent: the shared prompt with its splices, as one frame of known length.
pub(super) type Body = Full<Segments>;

/// Streams per h2 connection, whatever the peer allows.
pub(super) const MAX_STREAMS: usize = 64;
/// What h2 itself assumes before the peer's SETTINGS. An unusual number, so that their arrival is seen.
const FIRST_STREAMS: usize = 17;
const STREAM_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = STREAM_WINDOW * MAX_STREAMS as u32;
const MAX_RESET_STREAMS: usize = 4096;
const PING_EVERY: Duration = Duration::from_secs(20);
const PING_TIMEOUT: Duration = Duration::from_secs(5);
const SETTINGS_EVERY: Duration = Duration::from_millis(5);
const SETTINGS_LOOKS: u32 = 200;
const HTTP1_BUFFER: usize = 64 * 1024;
const MAX_HEADER_BYTES: u32 = 64 * 1024;
const NEXT_ADDRESS_AFTER: Duration = Duration::from_millis(250);

/// A connection ready for requests. `driver` must be polled for as long as it is used.
pub(super) struct Connection {
    pub sender: Sender,
    pub driver: BoxFuture<'static, ()>,
}

pub(super) enum Sender {
    Http1(http1::SendRequest<Body>),
    Http2(http2::SendRequest<Body>),
}

/// Makes connections to one endpoint.
pub(super) struct Dialer {
    pub endpoint: Endpoint,
    pub tls: Option<Tls>,
    /// What stands before the endpoint; `None` = nothing.
    pub proxy: Option<Proxy>,
    pub resolver: Resolver,
    /// Bound of resolving, connecting and the TLS handshake together.
    pub timeout: Duration,
}

impl Dialer {
    /// A new connection. `streams` hears how many h2 streams the peer allows, again whenever that changes.
    pub(super) async fn connect<F>(&self, streams: F) -> Result<Connection, UpstreamError>
    where
        F: Fn(usize) + Send + Unpin + 'static,
    {
        tokio::time::timeout(self.timeout, self.open(streams)).await.unwrap_or_else(|_| {
            let timeout_ms = u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX);
            Err(UpstreamError::ConnectTimeout { host: self.host(), timeout_ms })
        })
    }

    async fn open<F>(&self, streams: F) -> Result<Connection, UpstreamError>
    where
        F: Fn(usize) + Send + Unpin + 'static,
    {
        match &self.proxy {
            None => self.encrypt(self.reach(&self.endpoint).await?, streams).await,
            // Boxed: two handshakes, one inside the other, are many times the size of what most dials need.
            Some(proxy) => Box::pin(self.open_through(proxy, streams)).await,
        }
    }

    async fn open_through<F>(&self, proxy: &Proxy, streams: F) -> Result<Connection, UpstreamError>
    where
        F: Fn(usize) + Send + Unpin + 'static,
    {
        let socket = self.reach(&proxy.endpoint).await.map_err(|error| self.no_way(proxy, &error))?;
        match &proxy.tls {
            None => self.encrypt(self.pass(proxy, socket).await?, streams).await,
            Some(tls) => {
                let socket = tls.shake(socket).await.map_err(|error| self.no_way(proxy, &error))?;
                let socket: Encrypted = Box::new(socket);
                self.encrypt(self.pass(proxy, socket).await?, streams).await
            }
        }
    }

    async fn reach(&self, endpoint: &Endpoint) -> Result<TcpStream, UpstreamError> {
        let addresses = self.resolver.resolve(endpoint).await?;
        connect_any(&addresses).await.map_err(|error| UpstreamError::Connect {
            host: Arc::from(endpoint.host.to_string()),
            source: Arc::new(error),
        })
    }

    /// The way through the proxy, as a socket whose other end is the endpoint.
    async fn pass<T>(&self, proxy: &Proxy, socket: T) -> Result<T, UpstreamError>
    where
        T: AsyncRead + AsyncWrite + Unpin,
    {
        proxy.open(socket, &self.endpoint).await.map_err(|error| self.no_way(proxy, &error))
    }

    fn no_way(&self, proxy: &Proxy, error: &impl ToString) -> UpstreamError {
        UpstreamError::Proxy {
            proxy: Arc::from(proxy.endpoint.authority.as_str()),
            host: Arc::from(self.endpoint.host.to_string()),
            message: Arc::from(error.to_string()),
        }
    }

    async fn encrypt<T, F>(&self, socket: T, streams: F) -> Result<Connection, UpstreamError>
    where
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        F: Fn(usize) + Send + Unpin + 'static,
    {
        let Some(tls) = &self.tls else { return handshake_http1(socket).await };
        let socket = tls
            .shake(socket)
            .await
            .map_err(|error| UpstreamError::Tls { host: self.host(), source: Arc::new(error) })?;
        let h2 = socket.get_ref().1.alpn_protocol() == Some(tls::H2);
        let socket: Encrypted = Box::new(socket);
        if h2 { handshake_http2(socket, streams).await } else { handshake_http1(socket).await }
    }

    /// The host for messages, and what stands before it.
    fn host(&self) -> Arc<str> {
        let host = &self.endpoint.host;
        Arc::from(match &self.proxy {
            None => host.to_string(),
            Some(proxy) => format!("{host} through proxy {}", proxy.endpoint.authority),
        })
    }
}

/// A socket behind TLS, once or twice. One type, because each would bring its own copy of hyper; the call through a
/// table is nothing beside the cipher.
type Encrypted = Box<dyn Stream>;

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

async fn handshake_http1<T>(socket: T) -> Result<Connection, UpstreamError>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = http1::Builder::new()
        .max_buf_size(HTTP1_BUFFER)
        .handshake(TokioIo::new(socket))
        .await
        .map_err(|error| UpstreamError::from_hyper(&error))?;
    let driver = async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "upstream connection ended");
        }
    };
    Ok(Connection { sender: Sender::Http1(sender), driver: Box::pin(driver) })
}

async fn handshake_http2<F>(socket: Encrypted, streams: F) -> Result<Connection, UpstreamError>
where
    F: Fn(usize) + Send + Unpin + 'static,
{
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .initial_max_send_streams(FIRST_STREAMS)
        .max_header_list_size(MAX_HEADER_BYTES)
        .max_concurrent_reset_streams(MAX_RESET_STREAMS)
        .max_local_error_reset_streams(None)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_TIMEOUT)
        .keep_alive_while_idle(true)
        .handshake(TokioIo::new(socket))
        .await
        .map_err(|error| UpstreamError::from_hyper(&error))?;
    let settings = Some(tokio::time::interval(SETTINGS_EVERY));
    let driver = Http2Driver { connection, streams, seen: FIRST_STREAMS, settings, looks: 0 };
    Ok(Connection { sender: Sender::Http2(sender), driver: Box::pin(driver) })
}

/// Drives an h2 connection and tells the pool how many streams the peer allows.
struct Http2Driver<F> {
    connection: http2::Connection<TokioIo<Encrypted>, Body, TokioExecutor>,
    streams: F,
    seen: usize,
    /// hyper reads SETTINGS in a task of its own and wakes nobody for them, so they are looked for until they are there.
    settings: Option<Interval>,
    looks: u32,
}

impl<F> Future for Http2Driver<F>
where
    F: Fn(usize) + Unpin + Send,
{
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let polled = Pin::new(&mut self.connection).poll(context);
        while self.settings.as_mut().is_some_and(|every| every.poll_tick(context).is_ready()) {
            self.looks += 1;
            if self.looks >= SETTINGS_LOOKS {
                self.settings = None;
            }
        }
        let allowed = self.connection.current_max_send_streams();
        if allowed != self.seen {
            self.seen = allowed;
            self.settings = None;
            (self.streams)(allowed);
        }
        polled.map(|ended| {
            if let Err(error) = ended {
                tracing::debug!(%error, "upstream connection ended");
            }
        })
    }
}

/// Tries the addresses in turn, the next one as soon as one fails or is silent for [`NEXT_ADDRESS_AFTER`].
async fn connect_any(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    let mut running = FuturesUnordered::new();
    let mut rest = addresses.iter();
    loop {
        match rest.next() {
            Some(address) => running.push(TcpStream::connect(*address)),
            None if running.is_empty() => return Err(last),
            None => {}
        }
        let more = rest.len() > 0;
        let ended = tokio::select! {
            ended = running.next() => ended,
            () = tokio::time::sleep(NEXT_ADDRESS_AFTER), if more => continue,
        };
        match ended {
            Some(Ok(socket)) => {
                socket.set_nodelay(true)?;
                return Ok(socket);
            }
            Some(Err(error)) => last = error,
            None => {}
        }
    }
}
