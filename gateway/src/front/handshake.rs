//! TLS on the traffic port: from an accepted connection to an encrypted one.
//!
//! Inputs: a socket and the certificate in force when it was accepted. Output: the encrypted socket, or nothing. Invariants:
//! all of it happens in the connection's own task, so accepting never waits; half-open handshakes are bounded in number and
//! time, counted in `/state`, and leave within seconds while places are scarce, so that they do not keep others out. A client
//! that speaks plain HTTP is told so. Refuses: client certificates, and protocols below TLS 1.2.
//!
//! Numbers: 10 s in all (three lost packets, retransmitted after 1, 2 and 4 s); 1,024 at once, which a burst of reconnecting
//! clients does not fill for long, because a handshake that goes on takes two round trips and a millisecond; while more
//! than half of the places are taken 2 s, looked at once a second.

use std::{io, sync::Arc, time::Duration};

use rustls::ServerConfig;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    pin,
    sync::Semaphore,
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::server::Limits;
use crate::runtime::serving::{Mode, Serving};

/// Handshakes at once.
pub(super) const HANDSHAKES: u32 = 1024;
/// Longest handshake.
pub(super) const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// The same while more than half of the places are taken.
const SCARCE_TIME: Duration = Duration::from_secs(2);
/// How often that is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// First byte of a handshake record (RFC 8446, 5.1).
const HANDSHAKE_RECORD: u8 = 22;
/// Most that is read of a client that speaks plain HTTP, so that it sees the answer and not a reset.
const DISCARD: u64 = 64 * 1024;
const PLAIN_HTTP: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\nconnection: close\r\n\
    content-length: 45\r\n\r\nthis port speaks TLS: write https in the URL\n";

/// The handshakes of one port.
#[derive(Clone)]
pub(super) struct Handshakes {
    serving: Arc<Serving>,
    places: Arc<Semaphore>,
    most: usize,
    time: Duration,
}

impl Handshakes {
    pub(super) fn new(serving: Arc<Serving>, limits: &Limits) -> Self {
        let most = limits.handshakes as usize;
        Self { serving, places: Arc::new(Semaphore::new(most)), most, time: limits.handshake_time }
    }

    /// How a connection that was accepted now is answered.
    pub(super) fn mode(&self) -> Mode {
        self.serving.mode()
    }

    /// The encrypted connection; `None` where the client does not come that far.
    pub(super) async fn complete(
        &self,
        socket: TcpStream,
        server: Arc<ServerConfig>,
    ) -> Option<TlsStream<TcpStream>> {
        let _held = self.serving.handshakes.hold(1);
        let shaking = self.shake(socket, server);
        pin!(shaking);
        let (look, mut taken) = (LOOK.min(self.time), Duration::ZERO);
        let failure = loop {
            match timeout(look, &mut shaking).await {
                Ok(Ok(encrypted)) => return encrypted,
                Ok(Err(error)) => break error,
                Err(_) => taken += look,
            }
            if taken >= self.time || (taken >= SCARCE_TIME && self.scarce()) {
                break io::ErrorKind::TimedOut.into();
            }
        };
        self.serving.failed();
        tracing::debug!(error = %failure, "a client's handshake came to nothing");
        None
    }

    fn scarce(&self) -> bool {
        self.places.available_permits() < self.most.div_ceil(2)
    }

    /// A client that leaves without a word, as probes of a port do, has not failed.
    async fn shake(
        &self,
        mut socket: TcpStream,
        server: Arc<ServerConfig>,
    ) -> io::Result<Option<TlsStream<TcpStream>>> {
        let mut first = [0];
        if socket.peek(&mut first).await? == 0 {
            return Ok(None);
        }
        if first[0] != HANDSHAKE_RECORD {
            socket.write_all(PLAIN_HTTP).await?;
            socket.shutdown().await?;
            tokio::io::copy(&mut socket.take(DISCARD), &mut tokio::io::sink()).await?;
            return Err(io::Error::new(io::ErrorKind::InvalidData, "no TLS"));
        }
        let _place = self.places.acquire().await.map_err(io::Error::other)?;
        TlsAcceptor::from(server).accept(socket).await.map(Some)
    }
}
