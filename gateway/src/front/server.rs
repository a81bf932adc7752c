//! The traffic port: HTTP/1.1 and HTTP/2 on one listener, in plain text or in TLS.
//!
//! Inputs: an address and a tower service (the router). Outputs: one task per connection, which also runs the handlers
//! and bodies of its HTTP/1.1 requests. Invariants: every input has a limit (headers, time, connections, streams);
//! TCP_NODELAY; once the phase is `Closing` no connection is accepted but those that had waited in the kernel's queue, and
//! [`Listening::serve`] returns when the last one has ended. A handshake is a matter of its
//! connection's task and never of accepting. Refuses: upgrades.
//!
//! Numbers: 32 KiB (what nginx takes in all by default) and hyper's own 100 headers (another number costs two arrays on
//! the heap for each request); more is answered 431. 75 s for a head,
//! which is also how long a kept connection may idle (longer than the 60 s of usual load balancers, so that they close
//! first); 8,192 connections (9 x the default ceiling of user actions, 100 MB of idle connections at worst); 256 h2
//! streams with 256 KiB windows each and 4 MiB per connection. Handshakes: see `front::handshake`.

use std::{convert::Infallible, error::Error, io, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tower::Service;

use super::{
    closing::{Closing, Phase},
    connection,
    handshake::{HANDSHAKE_TIME, HANDSHAKES, Handshakes},
};
use crate::{
    relay::pace::PATIENCE,
    runtime::serving::{Mode, Serving},
};

const BACKLOG: i32 = 1024;
const PAUSE_AFTER_ACCEPT_ERROR: Duration = Duration::from_millis(50);

/// What one client may ask of the port.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at once; more wait in the kernel's queue.
    pub connections: u32,
    /// Longest wait for a request head, the idle time of a kept connection included.
    pub head_timeout: Duration,
    /// Bytes of one request head.
    pub head_bytes: u32,
    /// Streams of one h2 connection.
    pub streams: u32,
    /// Longest that a client may keep a frame of its answer waiting, beside what the frame's bytes take.
    pub patience: Duration,
    /// TLS handshakes at once; more wait, within the time that each has.
    pub handshakes: u32,
    /// Longest TLS handshake.
    pub handshake_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 8192,
            head_timeout: Duration::from_secs(75),
            head_bytes: 32 * 1024,
            streams: 256,
            patience: PATIENCE,
            handshakes: HANDSHAKES,
            handshake_time: HANDSHAKE_TIME,
        }
    }
}

/// The traffic port could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {cause}; choose another address or stop what uses it")]
pub struct BindError {
    address: SocketAddr,
    /// Not `source`: that would be said a second time wherever causes are printed in a chain.
    cause: io::Error,
}

/// A bound traffic port that does not listen yet: until [`Server::listen`] clients are refused by the kernel, so that a
/// process that shares the port takes no connection before it can serve it.
pub struct Server {
    socket: Socket,
    address: SocketAddr,
    limits: Limits,
    closing: Closing,
}

impl Server {
    /// Binds `address`; port 0 takes a free one. With `reuse_port` several processes share it (`SO_REUSEPORT`).
    ///
    /// # Errors
    /// The address is in use or not of this machine.
    pub fn bind(
        address: SocketAddr,
        reuse_port: bool,
        limits: Limits,
        closing: Closing,
    ) -> Result<Self, BindError> {
        let refuse = |cause| BindError { address, cause };
        let socket = bind(address, reuse_port).map_err(refuse)?;
        let bound = socket.local_addr().map_err(refuse)?;
        let address = bound.as_socket().unwrap_or(address);
        Ok(Self { socket, address, limits, closing })
    }

    /// The address in use.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets the kernel queue connections.
    ///
    /// # Errors
    /// The port was taken between binding and listening.
    pub fn listen(self) -> Result<Listening, BindError> {
        let Self { socket, address, limits, closing } = self;
        let listener = listen(socket).map_err(|cause| BindError { address, cause })?;
        Ok(Listening { listener, limits, closing, serving: None })
    }
}

/// A port on which connections may already wait.
pub struct Listening {
    listener: TcpListener,
    limits: Limits,
    closing: Closing,
    serving: Option<Arc<Serving>>,
}

impl Listening {
    /// Answers each connection as `serving` says at its beginning; without one all are plain.
    pub fn with(self, serving: Arc<Serving>) -> Self {
        Self { serving: Some(serving), ..self }
    }

    /// Serves until the phase is `Closing`, then waits for the connections to end.
    pub async fn serve<S, B>(self, service: S)
    where
        S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
        S::Future: Send + 'static,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let Self { listener, limits, closing, serving } = self;
        let room = Arc::new(Semaphore::new(limits.connections as usize));
        let handshakes = serving.map(|serving| Handshakes::new(serving, &limits));
        let begin = |(socket, permit): (TcpStream, OwnedSemaphorePermit)| {
            let (service, closing) = (service.clone(), closing.clone());
            // What serves nothing yet does not listen.
            match handshakes.as_ref().map_or(Mode::Plain, Handshakes::mode) {
                Mode::Closed => {}
                Mode::Plain => {
                    tokio::spawn(held(connection::serve(socket, service, limits, closing), permit));
                }
                Mode::Tls(server) => {
                    let Some(handshakes) = handshakes.clone() else { return };
                    // Boxed: a handshake is large, and a task keeps the size of the largest thing that it ever held.
                    let shaken = Box::pin(async move { handshakes.complete(socket, server).await });
                    let connection = connection::serve_encrypted(shaken, service, limits, closing);
                    tokio::spawn(held(connection, permit));
                }
            }
        };
        loop {
            let accepted = tokio::select! {
                accepted = accept(&listener, &room) => accepted,
                () = closing.reached(Phase::Closing) => break,
            };
            accepted.into_iter().for_each(&begin);
        }
        // To their clients these are connected already; the kernel would reset them.
        for socket in waiting(listener) {
            room.clone().try_acquire_owned().ok().map(|permit| (socket, permit)).into_iter().for_each(&begin);
        }
        // All permits back: no connection left.
        let _ = room.acquire_many(limits.connections).await;
    }
}

/// Keeps the place of a connection for as long as it lasts.
async fn held(connection: impl Future<Output = ()>, place: OwnedSemaphorePermit) {
    connection.await;
    drop(place);
}

async fn accept(listener: &TcpListener, room: &Arc<Semaphore>) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let permit = room.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((socket, _)) => {
            if let Err(error) = socket.set_nodelay(true) {
                tracing::debug!(%error, "client left before it was served");
                return None;
            }
            Some((socket, permit))
        }
        Err(error) => {
            // Out of file descriptors, or the client is gone already: neither is worth a busy loop.
            tracing::warn!(%error, "cannot accept a connection");
            tokio::time::sleep(PAUSE_AFTER_ACCEPT_ERROR).await;
            None
        }
    }
}

/// Closes the port, after taking what has waited in the kernel's queue.
fn waiting(listener: TcpListener) -> Vec<TcpStream> {
    let take = |listener: &std::net::TcpListener| {
        let (socket, _) = listener.accept()?;
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        TcpStream::from_std(socket)
    };
    let Ok(listener) = listener.into_std() else { return Vec::new() };
    std::iter::from_fn(|| take(&listener).ok()).collect()
}

fn bind(address: SocketAddr, reuse_port: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    #[cfg(unix)]
    socket.set_reuse_port(reuse_port)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

fn listen(socket: Socket) -> io::Result<TcpListener> {
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}
