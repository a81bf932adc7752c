//! Scripted transports: each attempt draws what happens to it.

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use fastrand::Rng;
use hedgerow_config::{Route, settings::Egress};
use hedgerow_gateway::{
    race::transport::{Response, Sending, Transport, Transports},
    runtime::trust::Trust,
    upstream::{SetupError, UpstreamError},
    wire::splice::Segments,
};
use http::{request, response};
use http_body::{Body, Frame};
use tokio::time::{Sleep, sleep};

/// What all scripted providers share.
pub struct Script {
    rng: Mutex<Rng>,
    sent: AtomicU64,
    open: Arc<AtomicU64>,
}

impl Script {
    pub fn new(seed: u64) -> Self {
        Self { rng: Mutex::new(Rng::with_seed(seed)), sent: AtomicU64::new(0), open: Arc::default() }
    }

    /// Attempts sent.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Attempts that are neither over nor dropped.
    pub fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }
}

/// Opens scripted transports.
pub struct Upstreams(pub Arc<Script>);

impl Transports for Upstreams {
    fn open(&self, route: &Route, _: &Egress, _: &Trust) -> Result<Arc<dyn Transport>, SetupError> {
        Ok(Arc::new(Upstream { script: self.0.clone(), name: route.name.clone() }))
    }
}

struct Upstream {
    script: Arc<Script>,
    name: String,
}

/// Counts an open attempt until it is dropped.
struct Open(Arc<AtomicU64>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Transport for Upstream {
    fn send(&self, _: request::Parts, body: Segments) -> Sending {
        let nonce = self.script.sent.fetch_add(1, Ordering::Relaxed);
        self.script.open.fetch_add(1, Ordering::Relaxed);
        let open = Open(self.script.open.clone());
        let mut rng = self.script.rng.lock().unwrap().fork();
        let source = format!("{}#{nonce}", self.name);
        let stream = contains(body, b"\"stream\":true");
        Box::pin(async move {
            sleep(millis(&mut rng, 400)).await;
            match rng.u8(..) {
                0..6 => Err(UpstreamError::StaleConnection),
                6..14 => Err(UpstreamError::Closed { message: "scripted".into() }),
                14..22 => Ok(refused(&mut rng, open, 429)),
                22..34 => Ok(refused(&mut rng, open, 500)),
                34..38 => Ok(refused(&mut rng, open, 400)),
                38..44 => std::future::pending().await,
                _ => Ok(answer(rng, open, &source, stream)),
            }
        })
    }
}

fn contains(mut body: Segments, needle: &[u8]) -> bool {
    use bytes::Buf as _;
    let all = body.copy_to_bytes(body.remaining());
    all.windows(needle.len()).any(|window| window == needle)
}

/// Mostly short, sometimes far beyond every delay.
fn millis(rng: &mut Rng, typical: u64) -> Duration {
    let slow = if rng.u8(..) < 40 { 20 } else { 1 };
    Duration::from_millis(rng.u64(0..typical) * slow)
}

fn head(status: u16, content_type: &str) -> response::Parts {
    let response = http::Response::builder().status(status).header("content-type", content_type).body(());
    response.unwrap().into_parts().0
}

fn refused(rng: &mut Rng, open: Open, status: u16) -> Response {
    let body = r#"{"error":{"message":"scripted","type":"scripted","code":null}}"#;
    let mut head = head(status, "application/json");
    if status == 429 && rng.bool() {
        head.headers.insert("retry-after", rng.u16(1..3).into());
    }
    Response { head, body: Box::pin(Scripted::new(vec![(Duration::ZERO, Some(body.into()))], open)) }
}

/// A stream or a document, whole or spoiled.
fn answer(mut rng: Rng, open: Open, source: &str, stream: bool) -> Response {
    let mut steps = Vec::new();
    let spoiled = rng.u8(..) < 60;
    if stream {
        steps.push((Duration::ZERO, Some(chunk(r#"{"role":"assistant","content":""}"#, "null"))));
        let tokens = rng.usize(1..12);
        let cut = if spoiled { rng.usize(0..=tokens) } else { usize::MAX };
        for index in 0..tokens {
            if index == cut {
                break;
            }
            let gap = if index == 0 { millis(&mut rng, 300) } else { millis(&mut rng, 60) };
            steps.push((gap, Some(chunk(&format!(r#"{{"content":"{source}:{index} "}}"#), "null"))));
        }
        if spoiled {
            // A clean end too early, a reset, or silence for ever.
            match rng.u8(0..3) {
                0 => {}
                1 => steps.push((millis(&mut rng, 50), None)),
                _ => steps.push((Duration::from_hours(10), None)),
            }
        } else {
            steps.push((Duration::ZERO, Some(chunk("{}", "\"stop\""))));
            steps.push((Duration::ZERO, Some("data: [DONE]\n\n".into())));
        }
        return Response { head: head(200, "text/event-stream"), body: Box::pin(Scripted::new(steps, open)) };
    }
    let text = format!(
        r#"{{"choices":[{{"index":0,"message":{{"role":"assistant","content":"{source}:0"}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":10,"completion_tokens":4}}}}"#
    );
    let kept = if spoiled { rng.usize(0..text.len()) } else { text.len() };
    let half = kept / 2;
    steps.push((millis(&mut rng, 300), Some(text[..half].to_owned())));
    steps.push((millis(&mut rng, 50), Some(text[half..kept].to_owned())));
    Response { head: head(200, "application/json"), body: Box::pin(Scripted::new(steps, open)) }
}

fn chunk(delta: &str, finish: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n")
}

/// A body of pieces after waits; a piece that is `None` is a reset.
struct Scripted {
    steps: std::vec::IntoIter<(Duration, Option<String>)>,
    next: Option<(Pin<Box<Sleep>>, Option<String>)>,
    _open: Open,
}

impl Scripted {
    fn new(steps: Vec<(Duration, Option<String>)>, open: Open) -> Self {
        Self { steps: steps.into_iter(), next: None, _open: open }
    }
}

impl Body for Scripted {
    type Data = Bytes;
    type Error = UpstreamError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, UpstreamError>>> {
        if self.next.is_none() {
            let Some((wait, piece)) = self.steps.next() else { return Poll::Ready(None) };
            self.next = Some((Box::pin(sleep(wait)), piece));
        }
        let Some((wait, piece)) = self.next.as_mut() else { return Poll::Ready(None) };
        std::task::ready!(wait.as_mut().poll(cx));
        let piece = piece.take();
        self.next = None;
        Poll::Ready(Some(match piece {
            Some(text) => Ok::<_, Infallible>(Frame::data(Bytes::from(text))).map_err(|never| match never {}),
            None => Err(UpstreamError::Reset { reason: "scripted".into() }),
        }))
    }
}

/// Sources (`route#attempt`) of all tokens in an answer.
pub fn sources(text: &str) -> Vec<String> {
    let mut found: Vec<String> = text
        .split(['"', ' '])
        .filter(|word| word.contains('#') && word.contains(':'))
        .filter_map(|word| word.split(':').next().map(str::to_owned))
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Whether an answer has its dialect's end.
pub fn whole(text: &str, stream: bool) -> bool {
    if stream {
        text.ends_with("data: [DONE]\n\n")
    } else {
        text.ends_with('}') && text.contains("finish_reason")
    }
}
