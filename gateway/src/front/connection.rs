//! One client connection, from its first byte to its end.
//!
//! Inputs: an accepted socket. It looks at the first bytes without taking them: the preface of HTTP/2 (RFC 9113, 3.4)
//! means h2c, anything else HTTP/1.1, so neither protocol pays for a buffer in front of it; under TLS the handshake has
//! agreed on one (ALPN), and a client that asked for none speaks HTTP/1.1. When the port leaves, HTTP/1.1
//! answers `Connection: close` ([`super::handover`]), and when it closes h2 sends GOAWAY; running requests finish. A client that does not read
//! its answer loses the connection (HTTP/1.1) or the stream (h2, by [`StreamExecutor`]): see [`crate::relay::pace`].

use std::{
    convert::Infallible,
    error::Error,
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
    time::Duration,
};

use bytes::Bytes;
use futures_util::TryFutureExt as _;
use http::{Request, Response};
use http_body::Body;
use hyper::{
    body::Incoming,
    server::conn::{http1, http2},
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{net::TcpStream, pin};
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use tower::{Service, ServiceExt as _};

use super::{
    closing::{Closing, Phase, StreamExecutor},
    handover::{Answering, Handover, silent},
    server::Limits,
    vanished::{Line, Socket, Vanished},
};
use crate::{
    config::certificate::H2,
    relay::pace::{Lookout, Pace},
};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Enough to tell: no HTTP/1.1 method starts like this.
const TELLING: usize = 4;
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// A connection keeps a read buffer as large as its largest request once needed. Held streams after 100 KB prompts:
/// 117 KB each with 64 KiB, 93 with 32, 80 with 16 (debug build), and each halving doubles the reads of a large body.
const HTTP1_BUFFER: usize = 32 * 1024;
const STREAM_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = 4 * 1024 * 1024;
const PING_EVERY: Duration = Duration::from_secs(20);
const PING_TIMEOUT: Duration = Duration::from_secs(10);

/// Serves one connection to its end.
pub(super) async fn serve<S, B>(socket: TcpStream, service: S, limits: Limits, closing: Closing)
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let first = tokio::select! {
        first = tokio::time::timeout(limits.head_timeout, speaks_h2(&socket)) => first,
        () = silent(&closing) => return,
    };
    let ended = match first {
        // Boxed, so that the many HTTP/1.1 tasks do not carry the size of an h2 one.
        Ok(Ok(true)) => Box::pin(serve_http2(Either::Left(socket), service, limits, closing)).await,
        Ok(Ok(false)) => serve_http1(Either::Left(socket), service, limits, closing).await,
        Ok(Err(_)) | Err(_) => return,
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "client connection ended");
    }
}

/// The same for a connection whose handshake is `shaken`.
pub(super) async fn serve_encrypted<S, B>(
    shaken: Pin<Box<impl Future<Output = Option<TlsStream<TcpStream>>>>>,
    service: S,
    limits: Limits,
    closing: Closing,
) where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let socket = tokio::select! {
        socket = shaken => socket,
        () = silent(&closing) => return,
    };
    let Some(socket) = socket else { return };
    let h2 = socket.get_ref().1.alpn_protocol() == Some(H2);
    let socket = Either::Right(Box::new(socket));
    let ended = if h2 {
        Box::pin(serve_http2(socket, service, limits, closing)).await
    } else {
        serve_http1(socket, service, limits, closing).await
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "client connection ended");
    }
}

/// Whether the first bytes are the preface of HTTP/2.
async fn speaks_h2(socket: &TcpStream) -> std::io::Result<bool> {
    let mut seen = [0; TELLING];
    loop {
        let length = socket.peek(&mut seen).await?;
        if length == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        if seen[..length] != PREFACE[..length] {
            return Ok(false);
        }
        if length == TELLING {
            return Ok(true);
        }
        // The rest of four bytes is on its way; the socket stays readable meanwhile, so there is nothing to wait on.
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

async fn serve_http1<S, B>(socket: Socket, service: S, limits: Limits, closing: Closing) -> hyper::Result<()>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let pace = Pace::default();
    let lookout = Lookout::new(pace.clone(), limits.patience);
    let (answering, leaving) = (Answering::default(), closing.clone());
    let handover = Handover::new(answering.clone());
    let line = Line::new(socket);
    let vanished = Vanished::new(line.clone(), answering.clone());
    let service = service.map_future(move |answer| {
        answering.begin();
        pace.afterwards().book();
        let (answering, leaving) = (answering.clone(), leaving.clone());
        pace.scope(answer.map_ok(move |answer| answering.answer(answer, &leaving)))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_timeout)
        .max_header_size(limits.head_bytes as usize)
        .max_buf_size(HTTP1_BUFFER)
        .serve_connection(TokioIo::new(line), TowerToHyperService::new(service));
    let kept = Some((handover, vanished));
    drive(connection, http1::Connection::graceful_shutdown, &closing, lookout, kept).await
}

async fn serve_http2<S, B>(socket: Socket, service: S, limits: Limits, closing: Closing) -> hyper::Result<()>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let connection =
        http2::Builder::new(StreamExecutor { closing: closing.clone(), patience: limits.patience })
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_concurrent_streams(limits.streams)
            .max_header_list_size(limits.head_bytes)
            .keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PING_TIMEOUT)
            .serve_connection(TokioIo::new(socket), TowerToHyperService::new(service));
    // Its streams have tasks and lookouts of their own.
    let lookout = Lookout::new(Pace::default(), limits.patience);
    drive(connection, http2::Connection::graceful_shutdown, &closing, lookout, None).await
}

/// Runs a connection to its end; `leave` tells it that the port is closing, as soon as the handover allows. `kept` is what
/// HTTP/1.1 cannot say by itself: when it may be closed, and that its client has gone.
async fn drive<C>(
    connection: C,
    leave: impl Fn(Pin<&mut C>),
    closing: &Closing,
    mut lookout: Lookout,
    mut kept: Option<(Handover, Vanished)>,
) -> hyper::Result<()>
where
    C: Future<Output = hyper::Result<()>>,
{
    let watch = closing.watch();
    pin!(connection, watch);
    let mut leaving = false;
    poll_fn(|context| {
        let phase = watch.as_mut().poll(context);
        loop {
            if let Poll::Ready(ended) = connection.as_mut().poll(context) {
                return Poll::Ready(ended);
            }
            if lookout.poll(context, phase == Phase::Cut).is_ready() {
                return Poll::Ready(Ok(()));
            }
            let may_close = match &mut kept {
                Some((handover, vanished)) => {
                    if vanished.poll(context).is_ready() {
                        return Poll::Ready(Ok(()));
                    }
                    handover.poll(context, phase, closing.hurried()).is_ready()
                }
                None => phase >= Phase::Closing,
            };
            if leaving || !may_close {
                return Poll::Pending;
            }
            leaving = true;
            leave(connection.as_mut());
        }
    })
    .await
}
