//! A collector of traces: takes OTLP over HTTP, as one of the real ones does, and remembers what it heard.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::{
    collector::trace::v1::{
        ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
    },
    common::v1::{KeyValue, any_value::Value},
    trace::v1::{ResourceSpans, Span, span::SpanKind, status::StatusCode},
};
use prost::Message as _;
use tokio::net::TcpListener;

use crate::stand::SOON;

/// What a collector does with a request, by its number from 0; `None` = it never answers.
type Manner = dyn Fn(usize) -> Option<Response<Full<Bytes>>> + Send + Sync;

/// One request as it arrived.
#[derive(Clone)]
pub struct Heard {
    /// Method and path.
    pub line: String,
    /// Type of the body.
    pub content_type: String,
    /// The body.
    pub body: Bytes,
}

/// A span as tests look at it.
#[derive(Clone, Debug)]
pub struct Told {
    /// Trace, own and parent id in hex; the parent's is empty without one.
    pub ids: [String; 3],
    /// Name.
    pub name: String,
    /// Kind.
    pub kind: SpanKind,
    /// Attributes as text.
    pub said: BTreeMap<String, String>,
    /// Names of its events.
    pub events: Vec<String>,
    /// Whether its status is an error.
    pub error: bool,
    /// Nanoseconds since 1970.
    pub times: (u64, u64),
}

/// A running collector.
pub struct Collector {
    /// Its base URL.
    pub endpoint: String,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Collector {
    /// Takes everything.
    pub async fn start() -> Self {
        Self::with(|_| Some(taken(0))).await
    }

    /// Behaves like this.
    pub async fn with(
        manner: impl Fn(usize) -> Option<Response<Full<Bytes>>> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let heard = Arc::new(Mutex::default());
        tokio::spawn(serve(listener, heard.clone(), Arc::new(manner)));
        Self { endpoint, heard }
    }

    /// Requests so far.
    pub fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }

    /// Batches so far.
    pub fn batches(&self) -> Vec<ResourceSpans> {
        let requests = self.heard();
        requests
            .iter()
            .flat_map(|heard| ExportTraceServiceRequest::decode(heard.body.clone()).unwrap().resource_spans)
            .collect()
    }

    /// Spans so far, by their beginning.
    pub fn spans(&self) -> Vec<Told> {
        let batches = self.batches();
        let spans = batches.iter().flat_map(|batch| &batch.scope_spans).flat_map(|scope| &scope.spans);
        let mut spans: Vec<_> = spans.map(told).collect();
        spans.sort_by_key(|span| span.times.0);
        spans
    }

    /// Waits for so many spans.
    pub async fn until(&self, spans: usize) -> Vec<Told> {
        self.until_heard(&format!("{spans} spans"), |collector| collector.spans().len() >= spans).await;
        self.spans()
    }

    /// Waits for a condition of what was heard.
    pub async fn until_heard(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let waited = tokio::time::timeout(SOON, async {
            while !holds(self) {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        });
        assert!(waited.await.is_ok(), "{what}: {:?}", self.spans());
    }
}

/// The answer to a batch of which so many spans are refused.
pub fn taken(refused: i64) -> Response<Full<Bytes>> {
    let told = ExportTracePartialSuccess { rejected_spans: refused, error_message: "too old".into() };
    let partial_success = (refused > 0).then_some(told);
    let answer = ExportTraceServiceResponse { partial_success }.encode_to_vec();
    Response::builder().header("content-type", "application/x-protobuf").body(Full::from(answer)).unwrap()
}

/// An answer that is not one of OTLP's.
pub fn answer(status: u16, body: &'static [u8]) -> Response<Full<Bytes>> {
    Response::builder().status(status).body(Full::from(body)).unwrap()
}

async fn serve(listener: TcpListener, heard: Arc<Mutex<Vec<Heard>>>, manner: Arc<Manner>) {
    while let Ok((socket, _)) = listener.accept().await {
        let (heard, manner) = (heard.clone(), manner.clone());
        let service = service_fn(move |request| respond(request, heard.clone(), manner.clone()));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), service));
    }
}

async fn respond(
    request: Request<Incoming>,
    heard: Arc<Mutex<Vec<Heard>>>,
    manner: Arc<Manner>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let content_type = head.headers.get("content-type").map_or("", |value| value.to_str().unwrap());
    let (line, content_type) = (format!("{} {}", head.method, head.uri), content_type.to_owned());
    let body = body.collect().await.unwrap().to_bytes();
    let number = {
        let mut heard = heard.lock().unwrap();
        heard.push(Heard { line, content_type, body });
        heard.len() - 1
    };
    match manner(number) {
        Some(answer) => Ok(answer),
        None => std::future::pending().await,
    }
}

fn told(span: &Span) -> Told {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    Told {
        ids: [hex(&span.trace_id), hex(&span.span_id), hex(&span.parent_span_id)],
        name: span.name.clone(),
        kind: span.kind(),
        said: said(&span.attributes),
        events: span.events.iter().map(|event| event.name.clone()).collect(),
        error: span.status.as_ref().unwrap().code() == StatusCode::Error,
        times: (span.start_time_unix_nano, span.end_time_unix_nano),
    }
}

/// Attributes as text.
pub fn said(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |value: &Value| match value {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(number) => number.to_string(),
        Value::BoolValue(flag) => flag.to_string(),
        other => format!("{other:?}"),
    };
    let each = |one: &KeyValue| (one.key.clone(), text(one.value.as_ref().unwrap().value.as_ref().unwrap()));
    attributes.iter().map(each).collect()
}
