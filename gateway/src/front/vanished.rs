//! Notices that an HTTP/1.1 client has gone although bytes follow its request.
//!
//! Why: while an answer is under way hyper sees a client leave because it reads the end of the connection; but a client that
//! sent a line end or its next request in advance leaves unread bytes in hyper's buffer, and then hyper reads no more: the
//! attempts would run on for nobody, up to their deadlines (experiment E11). The kernel knows, and tells without a read.
//!
//! Inputs: the socket, shared with hyper, and whether an answer is under way. Outputs: [`Vanished::poll`] is ready when
//! the client will never send again. That it might still listen (a half-closed socket) does not count, as with hyper itself.
//! Costs: an uncontended lock per read and write, and a timer every [`LOOK`] on a connection whose answer takes longer.

use std::{
    future::Future,
    io::{self, IoSlice},
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, Interest, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep, sleep},
};
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;

use super::handover::Answering;

/// How often a connection with an answer under way is looked at: a second of an attempt costs little, and most answers are
/// not even once looked at before they begin.
const LOOK: Duration = Duration::from_secs(1);

/// A client's socket, plain or encrypted. One type, because the code of a connection contains that of all requests, and
/// two would make the program half as large again; boxed, so that a plain connection does not carry the size of TLS.
pub(super) type Socket = Either<TcpStream, Box<TlsStream<TcpStream>>>;

/// A socket that can be looked at while hyper has it.
#[derive(Clone, Debug)]
pub(super) struct Line(Arc<Mutex<Socket>>);

impl Line {
    pub(super) fn new(socket: Socket) -> Self {
        Self(Arc::new(Mutex::new(socket)))
    }

    fn socket(&self) -> MutexGuard<'_, Socket> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the other side has closed, whatever is still to be read.
    fn closed(&self, context: &mut Context<'_>) -> bool {
        let socket = self.socket();
        let tcp = match &*socket {
            Either::Left(plain) => plain,
            Either::Right(tls) => tls.get_ref().0,
        };
        let seen = pin!(tcp.ready(Interest::READABLE)).poll(context);
        matches!(seen, Poll::Ready(Ok(ready)) if ready.is_read_closed())
    }
}

impl AsyncRead for Line {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.socket()).poll_read(context, into)
    }
}

impl AsyncWrite for Line {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.socket()).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.socket()).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket().is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.socket()).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.socket()).poll_shutdown(context)
    }
}

/// Looks after one connection.
#[derive(Debug)]
pub(super) struct Vanished {
    line: Line,
    answering: Answering,
    look: Option<Pin<Box<Sleep>>>,
    armed: bool,
}

impl Vanished {
    pub(super) fn new(line: Line, answering: Answering) -> Self {
        Self { line, answering, look: None, armed: false }
    }

    /// Ready when nobody waits for the answer that is under way; to be asked after each poll of the connection.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            if !self.armed {
                if !self.answering.under_way() {
                    return Poll::Pending;
                }
                match &mut self.look {
                    Some(look) => look.as_mut().reset(now() + LOOK),
                    None => self.look = Some(Box::pin(sleep(LOOK))),
                }
                self.armed = true;
            }
            let Some(look) = &mut self.look else { return Poll::Pending };
            ready!(look.as_mut().poll(context));
            self.armed = false;
            if self.answering.under_way() && self.line.closed(context) {
                return Poll::Ready(());
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "looks are apart by the runtime's clock")]
fn now() -> Instant {
    Instant::now()
}
