//! Silence inside a stream, in paused time: what keeps middle boxes patient, and whose silence counts.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod pod;

use std::{sync::Arc, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use hedgerow_config::{GatewayConfig, Route, settings::Egress};
use hedgerow_gateway::{
    front::router::{Router, router},
    race::transport::{Response, Sending, Transport, Transports},
    runtime::trust::Trust,
    upstream::{SetupError, UpstreamError},
    wire::splice::Segments,
};
use http::{Request, request};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use serde_json::json;
use tower::ServiceExt as _;

const TOKENS: usize = 4;

/// A provider that is silent for this long before each token but the first.
#[derive(Clone, Copy)]
struct Silent(Duration);

impl Transports for Silent {
    fn open(&self, _: &Route, _: &Egress, _: &Trust) -> Result<Arc<dyn Transport>, SetupError> {
        Ok(Arc::new(*self))
    }
}

impl Transport for Silent {
    fn send(&self, _: request::Parts, _: Segments) -> Sending {
        let silence = self.0;
        let frames = stream::unfold(0, move |sent| async move {
            if (1..=TOKENS).contains(&sent) {
                tokio::time::sleep(silence).await;
            }
            let (delta, finish) =
                if sent < TOKENS { (r#"{"content":"a"}"#, "null") } else { ("{}", r#""stop""#) };
            let choice = format!(r#"{{"index":0,"delta":{delta},"finish_reason":{finish}}}"#);
            let last = if sent == TOKENS { "data: [DONE]\n\n" } else { "" };
            let text = format!("data: {{\"choices\":[{choice}]}}\n\n{last}");
            (sent <= TOKENS).then(|| (Ok::<_, UpstreamError>(Frame::data(Bytes::from(text))), sent + 1))
        });
        Box::pin(async move {
            let head =
                http::Response::builder().header("content-type", "text/event-stream").body(()).unwrap();
            Ok(Response { head: head.into_parts().0, body: Box::pin(StreamBody::new(frames)) })
        })
    }
}

fn gateway(silence: Duration, idle_bytes_ms: u64) -> Router {
    let route = json!({
        "name": "r", "uid": "r", "api": "OpenAI", "endpoint": "http://r.test", "auth": { "type": "None" },
        "failureDomain": { "provider": "p", "region": "r" }, "quotaGroup": "r", "models": [{ "name": "m" }],
        "timeouts": { "idleBytesMs": idle_bytes_ms },
    });
    let config = json!({
        "schema": "hedgerow.dev/gateway/v1", "fleet": { "namespace": "test", "name": "default" }, "routes": [route],
    });
    let config = GatewayConfig::read(config.to_string().as_bytes()).unwrap();
    router(pod::runtime(Silent(silence), config))
}

/// What a client reads that waits for `pause` before each frame, and whether the end was clean.
async fn read(router: Router, pause: Duration) -> (String, bool) {
    let body = r#"{"model":"m","stream":true,"messages":[]}"#;
    let request = Request::post("/v1/chat/completions").body(Body::from(body)).unwrap();
    let mut body = router.oneshot(request).await.unwrap().into_body();
    let mut text = String::new();
    loop {
        tokio::time::sleep(pause).await;
        match body.frame().await {
            Some(Ok(frame)) => text.push_str(std::str::from_utf8(&frame.into_data().unwrap()).unwrap()),
            Some(Err(_)) => return (text, false),
            None => return (text, true),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_provider_is_bridged_by_a_comment_every_fifteen_seconds() {
    let (text, clean) = read(gateway(Duration::from_secs(40), 60_000), Duration::ZERO).await;
    assert!(clean && text.ends_with("data: [DONE]\n\n"), "{text}");
    let events: Vec<_> = text.split("\n\n").collect();
    // Two in each silence, each an event of its own.
    assert_eq!(events.iter().filter(|event| **event == ": keep-alive").count(), 2 * TOKENS, "{text}");
    assert_eq!(text.matches("keep-alive").count(), 2 * TOKENS, "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_is_silent_for_too_long_is_cut() {
    let (text, clean) = read(gateway(Duration::from_secs(40), 30_000), Duration::ZERO).await;
    assert!(!clean && text.contains("gateway_truncated") && !text.contains("[DONE]"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn time_stands_still_while_the_client_is_not_reading() {
    let (text, clean) = read(gateway(Duration::from_secs(20), 30_000), Duration::from_secs(45)).await;
    assert!(clean && text.ends_with("data: [DONE]\n\n") && !text.contains("error"), "{text}");
}
