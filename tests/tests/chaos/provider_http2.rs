//! A provider over TLS and HTTP/2, which resets streams, says goodbye, and loses whole connections.

use std::{
    convert::Infallible,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty, combinators::UnsyncBoxBody};
use hyper::{
    Request, Response,
    body::{Body, Frame, Incoming},
    server::conn::http2,
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Notify,
    time::{Sleep, sleep},
};
use tokio_rustls::TlsAcceptor;

use crate::{
    book::{Book, Open},
    canary::ANSWER,
    script::{Fault, Script},
};

/// Streams of one connection at once: fewer than the gateway wants, so that it opens several.
const STREAMS: u32 = 20;
/// One in so many broken answers takes its whole connection along.
const WHOLE_CONNECTION: u32 = 8;

/// The provider ends a stream on purpose.
#[derive(Debug, thiserror::Error)]
#[error("the script ends this stream")]
pub struct Ended;

type Answer = UnsyncBoxBody<Bytes, Ended>;

/// Starts one on a free port with this certificate; it ends with the runtime. Its address, and how many connections are open.
pub async fn start(book: &'static Book, tls: Arc<rustls::ServerConfig>) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (acceptor, open) = (TlsAcceptor::from(tls), Arc::new(AtomicUsize::new(0)));
    let count = open.clone();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (acceptor, count) = (acceptor.clone(), count.clone());
            tokio::spawn(async move {
                count.fetch_add(1, Ordering::Relaxed);
                connection(socket, acceptor, book).await;
                count.fetch_sub(1, Ordering::Relaxed);
            });
        }
    });
    (address, open)
}

/// What streams can do to their connection.
#[derive(Default)]
struct Connection {
    lost: Notify,
    goodbye: Notify,
}

async fn connection(socket: TcpStream, acceptor: TlsAcceptor, book: &'static Book) {
    let _ = socket.set_nodelay(true);
    let Ok(socket) = acceptor.accept(socket).await else { return };
    let shared = Arc::new(Connection::default());
    let own = shared.clone();
    let service = service_fn(move |request| answer(request, book, own.clone()));
    let connection = http2::Builder::new(TokioExecutor::new())
        .max_concurrent_streams(STREAMS)
        .max_pending_accept_reset_streams(4096)
        .serve_connection(TokioIo::new(socket), service);
    let mut connection = std::pin::pin!(connection);
    loop {
        tokio::select! {
            _ = connection.as_mut() => return,
            () = shared.lost.notified() => return,
            () = shared.goodbye.notified() => connection.as_mut().graceful_shutdown(),
        }
    }
}

async fn answer(
    request: Request<Incoming>,
    book: &'static Book,
    connection: Arc<Connection>,
) -> Result<Response<Answer>, Ended> {
    let (head, body) = request.into_parts();
    let header = |name: &str| head.headers.get(name).map_or("", |value| value.to_str().unwrap());
    // Reset before it was there in full: never seen.
    let body = body.collect().await.map_err(|_| Ended)?.to_bytes();
    let (script, mut open) = book.enter(head.uri.path(), header, &body);
    sleep(Duration::from_millis(script.first_ms)).await;
    match script.fault {
        Fault::Reset | Fault::Garbage => return Err(broken(&script, &connection)),
        Fault::Hang => std::future::pending().await,
        Fault::CloseAfter => connection.goodbye.notify_one(),
        _ => {}
    }
    let mut response = Response::builder()
        .status(script.status)
        .header("content-type", script.media)
        .header("set-cookie", ANSWER)
        .header("x-request-id", open.mark());
    open.sent(0);
    if let Some(ms) = script.wait_ms {
        response = response.header("retry-after-ms", ms);
    }
    let body = if script.body.is_empty() {
        Empty::new().map_err(|never: Infallible| match never {}).boxed_unsync()
    } else {
        let pause = Box::pin(sleep(Duration::ZERO));
        Scripted { script, at: 0, piece: 0, pause, connection, open: Mutex::new(open) }.boxed_unsync()
    };
    Ok(response.body(body).unwrap())
}

/// Ends the stream, and now and then the connection.
fn broken(script: &Script, connection: &Connection) -> Ended {
    if (script.body.len() as u32).is_multiple_of(WHOLE_CONNECTION) {
        connection.lost.notify_one();
    }
    Ended
}

/// A body in the pieces of its script.
struct Scripted {
    script: Script,
    at: usize,
    piece: usize,
    pause: Pin<Box<Sleep>>,
    connection: Arc<Connection>,
    open: Mutex<Open<'static>>,
}

impl Body for Scripted {
    type Data = Bytes;
    type Error = Ended;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Ended>>> {
        ready!(self.pause.as_mut().poll(cx));
        let Some((end, pause)) = self.script.pieces.get(self.piece).copied() else {
            return Poll::Ready(None);
        };
        let stop = match self.script.fault {
            Fault::CutAt(stop) | Fault::EndAt(stop) | Fault::StallAt(stop) | Fault::BreakAt(stop) => stop,
            _ => usize::MAX,
        };
        if self.at >= stop {
            return match self.script.fault {
                Fault::EndAt(_) => Poll::Ready(None),
                Fault::StallAt(_) => Poll::Pending,
                _ => Poll::Ready(Some(Err(broken(&self.script, &self.connection)))),
            };
        }
        let upto = end.min(stop);
        let bytes = Bytes::copy_from_slice(&self.script.body[self.at..upto]);
        self.at = upto;
        self.open.get_mut().unwrap().sent(upto);
        if upto == end {
            self.piece += 1;
        }
        // With a pause even of nothing what was given leaves before what follows is asked for.
        self.pause = Box::pin(sleep(Duration::from_millis(pause)));
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }
}
