//! Batches of spans to a collector: OTLP over HTTP, binary protobuf.
//!
//! Inputs: a [`Queue`] and a way to the collector. Outputs: requests to `{endpoint}/v1/traces`. Invariants: one task, one
//! request at a time; each try, each wait and the number of tries are bounded; once the queue is closed nothing is tried
//! twice, so that a pod can leave. What is given up is counted, also what the collector itself says that it refused.
//! Refuses: redirects, and to read more of an answer than it needs.
//!
//! Sources: OTLP specification 1.10, "OTLP/HTTP" (path, content type, which statuses are retryable, Retry-After, partial
//! success); 10 s a try is `OTEL_EXPORTER_OTLP_TIMEOUT` by default.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use hedgerow_config::metric::OTEL_SEMCONV_VERSION;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header, request};
use http_body_util::{BodyExt as _, Limited};
use opentelemetry_proto::tonic::{
    collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse},
    common::v1::InstrumentationScope,
    resource::v1::Resource,
    trace::v1::{ResourceSpans, ScopeSpans, Span},
};
use prost::Message as _;
use tokio::time::timeout;

use super::{Way, attribute::Attributes, queue::Queue};
use crate::{race::transport::Transport, runtime::clock::Clock, wire::retry_after};

/// What OTLP adds to a base URL.
const PATH: &str = "/v1/traces";
const TYPE: HeaderValue = HeaderValue::from_static("application/x-protobuf");
const AGENT: HeaderValue = HeaderValue::from_static(concat!("hedgerow-gateway/", env!("CARGO_PKG_VERSION")));
/// Most of an answer that is read.
const ANSWER_LIMIT: usize = 64 * 1024;
/// One try.
const TRY_WITHIN: Duration = Duration::from_secs(10);
/// Tries of one batch; with doubled waits 15 s, in which the queue takes four more batches.
const TRIES: u32 = 5;
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// Longest that a collector is heeded.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Sends what waits in a queue.
pub(super) struct Exporter {
    transport: Arc<dyn Transport>,
    head: request::Parts,
    /// In whose name: everything of a request but its spans.
    frame: ResourceSpans,
    queue: Arc<Queue>,
    clock: Clock,
    endpoint: String,
    /// The last batch was not taken: said once, not for each batch.
    troubled: bool,
}

/// Why a batch was not taken.
struct Refusal {
    problem: String,
    /// Whether the same batch may be sent again, and not before this.
    again: Option<Duration>,
}

impl Exporter {
    /// For what waits in `queue`.
    ///
    /// # Errors
    /// The endpoint is no URL.
    pub(super) fn new(
        way: &Way,
        transport: Arc<dyn Transport>,
        queue: Arc<Queue>,
        clock: Clock,
    ) -> Result<Self, String> {
        let uri: Uri = format!("{}{PATH}", way.endpoint.trim_end_matches('/'))
            .parse()
            .map_err(|error| format!("write a URL such as http://collector:4318 ({error})"))?;
        let (mut head, ()) = Request::new(()).into_parts();
        head.method = Method::POST;
        head.uri = uri;
        head.headers = HeaderMap::from_iter([(header::CONTENT_TYPE, TYPE), (header::USER_AGENT, AGENT)]);
        let (endpoint, frame) = (way.endpoint.clone(), frame(way));
        Ok(Self { transport, head, frame, queue, clock, endpoint, troubled: false })
    }

    /// Sends until the queue is closed and empty.
    pub(super) async fn run(mut self) {
        while let Some(batch) = self.queue.next().await {
            let lost = self.deliver(batch).await;
            self.queue.settle(lost);
        }
    }

    /// Delivers a batch or gives it up; what of it is lost.
    async fn deliver(&mut self, batch: Vec<Span>) -> u64 {
        let count = batch.len() as u64;
        let body = self.body(batch);
        let mut wait = FIRST_WAIT;
        for left in (0..TRIES).rev() {
            let refusal = match self.send(body.clone()).await {
                Ok((refused, problem)) => {
                    self.heard(problem.as_deref());
                    return refused.min(count);
                }
                Err(refusal) => refusal,
            };
            let again = refusal.again.filter(|_| left > 0);
            self.heard(Some(&refusal.problem));
            let Some(asked) = again else { break };
            let pause = asked.max(wait.mul_f64(0.5 + fastrand::f64())).min(LONGEST_WAIT);
            if timeout(pause, self.queue.closed()).await.is_ok() {
                break;
            }
            wait *= 2;
        }
        count
    }

    /// Sends a batch once: spans that the collector refused of it, and what it says about them.
    async fn send(&self, body: Bytes) -> Result<(u64, Option<String>), Refusal> {
        let exchange = async {
            let failed = |problem: String| Refusal { problem, again: Some(Duration::ZERO) };
            let answer = self
                .transport
                .send(self.head.clone(), body.into())
                .await
                .map_err(|error| failed(error.to_string()))?;
            let status = answer.head.status;
            if !status.is_success() {
                return Err(self.refused(status, &answer.head.headers));
            }
            // It has taken the batch: an answer that cannot be read changes nothing.
            let read = Limited::new(answer.body, ANSWER_LIMIT).collect().await;
            Ok(read.map(http_body_util::Collected::to_bytes).unwrap_or_default())
        };
        match timeout(TRY_WITHIN, exchange).await {
            Ok(answer) => answer.map(|answer| partly(&answer)),
            Err(_) => Err(Refusal {
                problem: format!("no answer within {} s", TRY_WITHIN.as_secs()),
                again: Some(Duration::ZERO),
            }),
        }
    }

    fn refused(&self, status: StatusCode, headers: &HeaderMap) -> Refusal {
        let retryable = matches!(status.as_u16(), 429 | 502 | 503 | 504);
        let asked = || retry_after::hint(headers, None, self.clock.system_time()).unwrap_or_default();
        Refusal { problem: format!("it answers {status}"), again: retryable.then(asked) }
    }

    /// Says that trouble begins or has ended.
    fn heard(&mut self, problem: Option<&str>) {
        let collector = &self.endpoint;
        match (problem, self.troubled) {
            (Some(problem), false) => {
                tracing::warn!(collector, problem, "the collector takes no traces, or not all");
            }
            (None, true) => tracing::info!(collector, "the collector takes traces again"),
            _ => {}
        }
        self.troubled = problem.is_some();
    }

    fn body(&self, spans: Vec<Span>) -> Bytes {
        let mut resource = self.frame.clone();
        if let Some(scope) = resource.scope_spans.first_mut() {
            scope.spans = spans;
        }
        ExportTraceServiceRequest { resource_spans: vec![resource] }.encode_to_vec().into()
    }
}

/// In whose name: the fleet is the service, the pod its instance.
fn frame(way: &Way) -> ResourceSpans {
    let schema = format!("https://opentelemetry.io/schemas/{OTEL_SEMCONV_VERSION}");
    let version = env!("CARGO_PKG_VERSION");
    let attributes = Attributes::new()
        .text("service.name", &format!("hedgerow-{}", way.fleet.name))
        .text("service.namespace", &way.fleet.namespace)
        .text("service.version", version)
        .text("service.instance.id", &way.pod);
    let scope = InstrumentationScope {
        name: "hedgerow-gateway".to_owned(),
        version: version.to_owned(),
        ..InstrumentationScope::default()
    };
    ResourceSpans {
        resource: Some(Resource { attributes: attributes.done(), ..Resource::default() }),
        scope_spans: vec![ScopeSpans { scope: Some(scope), spans: Vec::new(), schema_url: schema.clone() }],
        schema_url: schema,
    }
}

/// What a collector refused of a batch that it took.
fn partly(answer: &[u8]) -> (u64, Option<String>) {
    let told = ExportTraceServiceResponse::decode(answer).ok().and_then(|answer| answer.partial_success);
    told.map_or((0, None), |told| {
        let refused = u64::try_from(told.rejected_spans).unwrap_or_default();
        let problem = format!("{refused} spans refused: {}", told.error_message);
        (refused, (refused > 0).then_some(problem))
    })
}
