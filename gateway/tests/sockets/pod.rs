//! A pod whose provider never runs out of tokens, or gives one answer, and the records that it writes.

use std::{
    io::{self, Write},
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use hedgerow_config::{GatewayConfig, Route, settings::Egress, state::InFlight};
use hedgerow_gateway::{
    config::Credentials,
    front::{
        closing::Closing,
        router::router,
        server::{Limits, Server},
    },
    race::transport::{Response, Sending, Transport, Transports},
    runtime::{Options, Runtime, trust::Trust},
    settle::writer::{Flush, RecordWriter},
    telemetry::metrics::Metrics,
    upstream::{SetupError, UpstreamError},
    wire::splice::Segments,
};
use http::request;
use http_body::{Body, Frame};
use prometheus_client::metrics::counter::Counter;
use serde_json::Value;
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpSocket, TcpStream},
    task::JoinHandle,
};

use crate::{peer::route, within};

/// The body of a request for a stream.
pub const ASKED: &str = r#"{"model":"m","stream":true,"messages":[]}"#;

const STREAM: &str = "text/event-stream";

/// What follows a piece of an answer.
#[derive(Clone, Copy)]
pub enum Then {
    /// The same again.
    Again,
    /// The end.
    End,
    /// A broken connection, at once.
    Break,
}

/// A provider whose answers are this piece, and what follows it.
#[derive(Clone)]
struct Provider {
    /// Content type.
    kind: &'static str,
    piece: Bytes,
    then: Then,
}

impl Transports for Provider {
    fn open(&self, _: &Route, _: &Egress, _: &Trust) -> Result<Arc<dyn Transport>, SetupError> {
        Ok(Arc::new(self.clone()))
    }
}

impl Transport for Provider {
    fn send(&self, _: request::Parts, _: Segments) -> Sending {
        let body = self.clone();
        Box::pin(async move {
            let head = http::Response::builder().header("content-type", body.kind).body(()).unwrap();
            Ok(Response { head: head.into_parts().0, body: Box::pin(body) })
        })
    }
}

impl Body for Provider {
    type Data = Bytes;
    type Error = UpstreamError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, UpstreamError>>> {
        let next = if matches!(self.then, Then::Again) { self.piece.clone() } else { Bytes::new() };
        let piece = std::mem::replace(&mut self.piece, next);
        Poll::Ready(match self.then {
            _ if !piece.is_empty() => Some(Ok(Frame::data(piece))),
            Then::Break => Some(Err(UpstreamError::Closed { message: "reset".into() })),
            Then::Again | Then::End => None,
        })
    }
}

/// Where the records go.
#[derive(Clone, Default)]
struct Records(Arc<Mutex<Vec<u8>>>);

impl Write for Records {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Write::write(&mut *self.0.lock().unwrap(), bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A gateway without its files.
pub struct Pod {
    pub runtime: Arc<Runtime>,
    pub address: SocketAddr,
    pub closing: Closing,
    pub served: JoinHandle<()>,
    records: Records,
    flush: Flush,
}

/// One token of 32 KiB.
fn token() -> Bytes {
    let choice =
        format!(r#"{{"index":0,"delta":{{"content":"{}"}},"finish_reason":null}}"#, "x".repeat(32_768));
    format!("data: {{\"choices\":[{choice}]}}\n\n").into()
}

/// A pod with one route, whose provider has a token of 32 KiB whenever it is asked for one and never ends; `change` sees
/// its configuration first.
pub fn pod(limits: Limits, change: impl FnOnce(&mut GatewayConfig)) -> Pod {
    in_front_of(Provider { kind: STREAM, piece: token(), then: Then::Again }, limits, change)
}

/// The same with a provider whose every answer is `stream`, and what follows it.
pub fn pod_answering(stream: &str, then: Then, change: impl FnOnce(&mut GatewayConfig)) -> Pod {
    let provider = Provider { kind: STREAM, piece: Bytes::copy_from_slice(stream.as_bytes()), then };
    in_front_of(provider, Limits::default(), change)
}

/// The same with a provider whose every answer is `document`.
pub fn pod_answering_whole(document: &str, change: impl FnOnce(&mut GatewayConfig)) -> Pod {
    let piece = Bytes::copy_from_slice(document.as_bytes());
    in_front_of(Provider { kind: "application/json", piece, then: Then::End }, Limits::default(), change)
}

fn in_front_of(provider: Provider, limits: Limits, change: impl FnOnce(&mut GatewayConfig)) -> Pod {
    let records = Records::default();
    let (writer, flush) = RecordWriter::to(records.clone(), Counter::default());
    let runtime = Runtime::new(Options {
        pod_uid: "pod".into(),
        metrics: Metrics::new(),
        records: writer,
        credentials: Arc::new(Credentials::default()),
        transports: Box::new(provider),
    });
    let text = br#"{"schema":"hedgerow.dev/gateway/v1","fleet":{"namespace":"local","name":"default"}}"#;
    let mut config = GatewayConfig::read(text).unwrap();
    config.routes.push(route("http://provider.test"));
    change(&mut config);
    runtime.apply(config, "digest".into()).unwrap();
    let closing = Closing::default();
    let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = Server::bind(loopback, false, limits, closing.clone()).unwrap();
    let address = server.address();
    let served = tokio::spawn(server.listen().unwrap().serve(router(runtime.clone())));
    Pod { runtime, address, closing, served, records, flush }
}

impl Pod {
    /// Waits for a condition of what is held.
    pub async fn until(&self, holds: impl Fn(InFlight) -> bool) {
        within(async {
            while !holds(self.runtime.in_flight()) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        })
        .await;
    }

    /// All records so far; nothing may be asked afterwards.
    pub fn records(self) -> Vec<Value> {
        self.flush.finish();
        let text = String::from_utf8(self.records.0.lock().unwrap().clone()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Asks for a stream over HTTP/1.1 with a small receive buffer, and reads nothing.
pub async fn plain(address: SocketAddr) -> TcpStream {
    ask(address, ASKED).await
}

/// The same with this body.
pub async fn ask(address: SocketAddr, body: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut socket = socket.connect(address).await.unwrap();
    let length = body.len();
    let head = format!("POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: {length}\r\n\r\n");
    socket.write_all((head + body).as_bytes()).await.unwrap();
    socket
}
