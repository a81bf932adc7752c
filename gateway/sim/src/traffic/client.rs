//! A small HTTP client on hyper's connection API, with a pool.
//!
//! HTTP/1.1: an idle connection is used again, else one is opened; there is no limit, because an open loop may
//! not wait. HTTP/2: one connection for everything. A request is sent a second time only when hyper says that
//! the first, idle connection never took it; everything else is a failure that the measurement must show.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{HeaderValue, Request, Uri, header, response::Parts};
use http_body_util::{BodyExt as _, Full};
use hyper::{
    body::Incoming,
    client::conn::{http1, http2},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;

use super::target::Target;

type Body = Full<Bytes>;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// No connection.
    #[error("cannot connect: {0}")]
    Connect(#[from] std::io::Error),
    /// The path is not one.
    #[error("not a path: {0}")]
    Path(#[from] http::Error),
    /// The connection broke before an answer, or the answer is not HTTP.
    #[error("no answer: {0}")]
    Http(#[from] hyper::Error),
}

/// A client of one target.
#[derive(Debug)]
pub struct Client {
    target: Target,
    idle: Arc<Mutex<Vec<Kept>>>,
    h2: tokio::sync::Mutex<Option<http2::SendRequest<Body>>>,
}

/// An answer whose body is still to be read. Dropping it before the end closes the connection or resets the
/// stream, as an SDK does when its user aborts.
#[derive(Debug)]
pub struct Reply {
    /// Status and headers.
    pub head: Parts,
    body: Incoming,
    lease: Option<Lease>,
}

/// An HTTP/1.1 connection and how many requests it may still carry.
#[derive(Debug)]
struct Kept {
    sender: http1::SendRequest<Body>,
    uses: u32,
}

#[derive(Debug)]
struct Lease {
    kept: Kept,
    idle: Arc<Mutex<Vec<Kept>>>,
}

impl Client {
    /// A client without connections.
    pub fn new(target: Target) -> Self {
        Self { target, idle: Arc::default(), h2: tokio::sync::Mutex::default() }
    }

    /// Sends a request whose URI is a path, and waits for the headers of its answer.
    ///
    /// # Errors
    /// No connection, or none that lasted until the headers.
    pub async fn send(&self, mut request: Request<Body>) -> Result<Reply, SendError> {
        if self.target.h2 {
            let scheme = if self.target.tls.is_some() { "https" } else { "http" };
            let path = request.uri().path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
            *request.uri_mut() = Uri::builder()
                .scheme(scheme)
                .authority(self.target.host.as_str())
                .path_and_query(path)
                .build()?;
            let answer = self.h2_sender().await?.send_request(request).await?;
            let (head, body) = answer.into_parts();
            return Ok(Reply { head, body, lease: None });
        }
        request
            .headers_mut()
            .insert(header::HOST, HeaderValue::from_str(&self.target.host).map_err(http::Error::from)?);
        if let Some(mut kept) = self.idle_connection().await {
            match kept.sender.try_send_request(request).await {
                Ok(answer) => return Ok(self.reply(answer, kept)),
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(error.into_error().into()),
                },
            }
        }
        let mut sender = self.connect_h1().await?;
        let answer = sender.send_request(request).await?;
        Ok(self.reply(answer, Kept { sender, uses: self.target.uses }))
    }

    /// An answer on a connection that may be used again if it has not carried all its requests.
    fn reply(&self, answer: http::Response<Incoming>, mut kept: Kept) -> Reply {
        let (head, body) = answer.into_parts();
        kept.uses = kept.uses.saturating_sub(1);
        let lease = (kept.uses > 0).then(|| Lease { kept, idle: Arc::clone(&self.idle) });
        Reply { head, body, lease }
    }

    async fn idle_connection(&self) -> Option<Kept> {
        loop {
            let mut kept = locked(&self.idle).pop()?;
            if kept.sender.ready().await.is_ok() {
                return Some(kept);
            }
        }
    }

    async fn connect_h1(&self) -> Result<http1::SendRequest<Body>, SendError> {
        let (sender, connection) = http1::handshake(TokioIo::new(self.open().await?)).await?;
        tokio::spawn(async move {
            // How a connection ends is seen by the request on it.
            let _ = connection.await;
        });
        Ok(sender)
    }

    async fn h2_sender(&self) -> Result<http2::SendRequest<Body>, SendError> {
        let mut shared = self.h2.lock().await;
        if let Some(sender) = shared.as_ref().filter(|sender| !sender.is_closed()) {
            return Ok(sender.clone());
        }
        let io = TokioIo::new(self.open().await?);
        let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await?;
        tokio::spawn(async move {
            let _ = connection.await;
        });
        *shared = Some(sender.clone());
        Ok(sender)
    }

    async fn open(&self) -> std::io::Result<Box<dyn Stream>> {
        let tcp = TcpStream::connect(self.target.addr).await?;
        tcp.set_nodelay(true)?;
        let Some((config, name)) = &self.target.tls else { return Ok(Box::new(tcp)) };
        let name: ServerName<'static> = name.clone();
        Ok(Box::new(TlsConnector::from(Arc::clone(config)).connect(name, tcp).await?))
    }
}

impl Reply {
    /// The next piece of the body; nothing at its clean end.
    ///
    /// # Errors
    /// The body was aborted.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, hyper::Error> {
        while let Some(frame) = self.body.frame().await {
            if let Ok(data) = frame?.into_data() {
                return Ok(Some(data));
            }
        }
        if let Some(lease) = self.lease.take() {
            locked(&lease.idle).push(lease.kept);
        }
        Ok(None)
    }

    /// The rest of the body, at most `limit` bytes of it.
    ///
    /// # Errors
    /// The body was aborted.
    pub async fn rest(&mut self, limit: usize) -> Result<Vec<u8>, hyper::Error> {
        let mut all = Vec::new();
        while let Some(piece) = self.chunk().await? {
            all.extend_from_slice(&piece[..piece.len().min(limit - all.len())]);
            if all.len() == limit {
                break;
            }
        }
        Ok(all)
    }
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
