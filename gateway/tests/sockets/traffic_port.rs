//! The traffic port: protocols, limits, leaving.

use std::{
    convert::Infallible,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use hedgerow_gateway::front::{
    closing::{Closing, Phase},
    server::{Limits, Server},
};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt as _, Empty, Full, combinators::UnsyncBoxBody};
use hyper::{body::Incoming, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    sync::{Semaphore, mpsc},
    task::JoinHandle,
};

use crate::within;

type Answer = UnsyncBoxBody<Bytes, std::io::Error>;

struct Port {
    address: SocketAddr,
    closing: Closing,
    /// Lets requests for `/wait` end.
    go: Arc<Semaphore>,
    /// One message for each request that has reached the service.
    arrived: mpsc::UnboundedReceiver<()>,
    served: JoinHandle<()>,
}

fn open(limits: Limits) -> Port {
    let (closing, go) = (Closing::default(), Arc::new(Semaphore::new(0)));
    let (arrives, arrived) = mpsc::unbounded_channel();
    let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = Server::bind(loopback, false, limits, closing.clone()).unwrap();
    let address = server.address();
    let listening = server.listen().unwrap();
    let (wait, phase) = (go.clone(), closing.clone());
    let service = tower::service_fn(move |request: Request<Incoming>| {
        let (wait, phase) = (wait.clone(), phase.clone());
        arrives.send(()).unwrap();
        async move { Ok::<_, Infallible>(answer(request, &wait, phase).await) }
    });
    let served = tokio::spawn(listening.serve(service));
    Port { address, closing, go, arrived, served }
}

async fn answer(request: Request<Incoming>, wait: &Semaphore, phase: Closing) -> Response<Answer> {
    let body = match request.uri().path() {
        "/wait" => {
            wait.acquire().await.unwrap().forget();
            Full::from("waited").map_err(|never| match never {}).boxed_unsync()
        }
        "/endless" => Endless(phase).boxed_unsync(),
        _ => Full::from("ok").map_err(|never| match never {}).boxed_unsync(),
    };
    Response::new(body)
}

/// Ends with an error once the port is cut; is never woken for it by anybody but the port.
struct Endless(Closing);

impl http_body::Body for Endless {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        if self.0.phase() == Phase::Cut {
            Poll::Ready(Some(Err(std::io::Error::other("cut"))))
        } else {
            Poll::Pending
        }
    }
}

/// Writes `text` and reads until the other side closes.
async fn exchange(address: SocketAddr, text: &str) -> String {
    let mut socket = TcpStream::connect(address).await.unwrap();
    // The port may close before it has read everything.
    let _ = socket.write_all(text.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

async fn h2c(address: SocketAddr) -> http2::SendRequest<Empty<Bytes>> {
    let socket = TcpStream::connect(address).await.unwrap();
    let (sender, connection) =
        http2::Builder::new(TokioExecutor::new()).handshake(TokioIo::new(socket)).await.unwrap();
    tokio::spawn(connection);
    sender
}

fn get(address: SocketAddr, path: &str) -> Request<Empty<Bytes>> {
    Request::get(format!("http://{address}{path}")).body(Empty::new()).unwrap()
}

#[tokio::test]
async fn one_port_speaks_http_1_and_h2c() {
    let port = open(Limits::default());
    let text = within(exchange(port.address, "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")).await;
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("ok"), "{text}");
    let mut sender = h2c(port.address).await;
    let response = within(sender.send_request(get(port.address, "/"))).await.unwrap();
    assert_eq!(response.version(), http::Version::HTTP_2);
    assert_eq!(within(response.into_body().collect()).await.unwrap().to_bytes(), "ok");
}

#[tokio::test]
async fn a_method_that_arrives_byte_by_byte_is_still_understood() {
    let port = open(Limits::default());
    let mut socket = TcpStream::connect(port.address).await.unwrap();
    socket.set_nodelay(true).unwrap();
    for byte in b"PUT / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n" {
        socket.write_all(&[*byte]).await.unwrap();
        tokio::task::yield_now().await;
    }
    let mut answer = String::new();
    within(socket.read_to_string(&mut answer)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
}

#[tokio::test]
async fn too_many_or_too_large_headers_are_answered_431() {
    let port = open(Limits::default());
    let many = (0..200).map(|number| format!("x-{number}: 1\r\n")).collect::<Vec<_>>().concat();
    let large = format!("x: {}\r\n", "y".repeat(70_000));
    for headers in [many, large] {
        let request = format!("GET / HTTP/1.1\r\nhost: a\r\n{headers}\r\n");
        let text = within(exchange(port.address, &request)).await;
        assert!(text.starts_with("HTTP/1.1 431 "), "{text}");
    }
    let text = within(exchange(port.address, "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")).await;
    assert!(text.starts_with("HTTP/1.1 200 "), "the port still serves: {text}");
}

#[tokio::test]
async fn a_head_that_never_ends_is_closed_after_its_time() {
    let port = open(Limits { head_timeout: Duration::from_millis(100), ..Limits::default() });
    for start in ["GET / HTTP/1.1\r\nhost: a\r\nx: ", "P", "PRI", ""] {
        let text = within(exchange(port.address, start)).await;
        assert!(!text.contains("200 OK"), "{start:?}: {text}");
    }
}

#[tokio::test]
async fn beyond_the_connection_limit_clients_wait_for_a_place() {
    let port = open(Limits { connections: 1, ..Limits::default() });
    let mut first = TcpStream::connect(port.address).await.unwrap();
    first.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    let mut seen = [0; 17];
    within(first.read_exact(&mut seen)).await.unwrap();
    let mut second = TcpStream::connect(port.address).await.unwrap();
    second.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    let waiting = tokio::time::timeout(Duration::from_millis(50), second.read_exact(&mut seen)).await;
    assert!(waiting.is_err(), "served beyond the limit");
    drop(first);
    within(second.read_exact(&mut seen)).await.unwrap();
    assert_eq!(&seen, b"HTTP/1.1 200 OK\r\n");
}

#[tokio::test]
async fn a_closing_port_finishes_running_requests_and_takes_no_new_connection() {
    let mut port = open(Limits::default());
    let mut running = TcpStream::connect(port.address).await.unwrap();
    running.write_all(b"GET /wait HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    let mut idle = TcpStream::connect(port.address).await.unwrap();
    idle.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    let mut seen = [0; 17];
    within(idle.read_exact(&mut seen)).await.unwrap();
    let mut stream = h2c(port.address).await;
    let streamed = stream.send_request(get(port.address, "/wait"));
    for _ in 0..3 {
        within(port.arrived.recv()).await.unwrap();
    }

    port.closing.advance(Phase::Closing);
    let mut rest = Vec::new();
    within(idle.read_to_end(&mut rest)).await.unwrap();
    within(async {
        while TcpStream::connect(port.address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    port.go.add_permits(2);
    let mut text = String::new();
    within(running.read_to_string(&mut text)).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 200 ") && text.ends_with("waited"), "{text}");
    assert!(text.to_ascii_lowercase().contains("connection: close"), "{text}");
    let body = within(streamed).await.unwrap().into_body();
    assert_eq!(within(body.collect()).await.unwrap().to_bytes(), "waited");
    within(port.served).await.unwrap();
}

/// Asks on a connection and reads until its end.
async fn last_answer(mut socket: TcpStream) -> String {
    socket.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    let mut text = String::new();
    within(socket.read_to_string(&mut text)).await.unwrap();
    text.to_ascii_lowercase()
}

#[tokio::test]
async fn a_leaving_port_tells_every_kept_connection_before_it_ends() {
    let mut port = open(Limits::default());
    let mut kept = Vec::new();
    for path in ["/", "/", "/wait"] {
        let mut socket = TcpStream::connect(port.address).await.unwrap();
        socket.write_all(format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n").as_bytes()).await.unwrap();
        within(port.arrived.recv()).await.unwrap();
        if path == "/" {
            let mut answer = [0; 17];
            within(socket.read_exact(&mut answer)).await.unwrap();
        }
        kept.push(socket);
    }
    let silent = TcpStream::connect(port.address).await.unwrap();
    let [idle, used, running] = <[TcpStream; 3]>::try_from(kept).unwrap();

    port.closing.advance(Phase::Leaving);
    assert!(last_answer(used).await.contains("connection: close"), "whoever asks is told to go elsewhere");
    let fresh = TcpStream::connect(port.address).await.unwrap();
    assert!(last_answer(fresh).await.contains("connection: close"), "so is who comes too late");
    port.closing.advance(Phase::Closing);
    for socket in [idle, silent] {
        let answer = last_answer(socket).await;
        assert!(answer.contains("200 ok") && answer.contains("connection: close"), "{answer}");
    }
    port.go.add_permits(1);
    let mut text = String::new();
    within(BufReader::new(running).read_to_string(&mut text)).await.unwrap();
    assert!(text.ends_with("waited"), "{text}");
    within(port.served).await.unwrap();
}

#[tokio::test]
async fn connections_that_waited_when_the_port_closed_are_served() {
    let port = open(Limits { connections: 2, ..Limits::default() });
    // Neither of these is accepted before the phase changes: this task has not yielded yet.
    port.closing.advance(Phase::Leaving);
    let waiting: Vec<_> = (0..2)
        .map(|_| std::net::TcpStream::connect(port.address).unwrap())
        .inspect(|socket| socket.set_nonblocking(true).unwrap())
        .collect();
    port.closing.advance(Phase::Closing);
    for socket in waiting {
        let answer = last_answer(TcpStream::from_std(socket).unwrap()).await;
        assert!(answer.contains("200 ok"), "{answer}");
    }
}

#[tokio::test]
async fn cutting_the_port_polls_every_body_so_that_it_can_end_itself() {
    let port = open(Limits::default());
    let mut plain = TcpStream::connect(port.address).await.unwrap();
    plain.write_all(b"GET /endless HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    let mut seen = [0; 17];
    within(plain.read_exact(&mut seen)).await.unwrap();
    let mut sender = h2c(port.address).await;
    let stream = within(sender.send_request(get(port.address, "/endless"))).await.unwrap();

    port.closing.advance(Phase::Cut);
    let mut rest = String::new();
    let _ = within(plain.read_to_string(&mut rest)).await;
    assert!(!rest.ends_with("0\r\n\r\n"), "a clean end: {rest}");
    assert!(within(stream.into_body().collect()).await.is_err(), "a clean end");
    drop(sender);
    within(port.served).await.unwrap();
}
