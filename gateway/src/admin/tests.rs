use std::{
    io::Read as _,
    sync::atomic::{AtomicBool, Ordering},
};

use axum::{body::Body, http::Request, response::Response};
use flate2::read::GzDecoder;
use hedgerow_config::state::{Pod, SCHEMA};
use http_body_util::BodyExt as _;
use tower::ServiceExt as _;

use super::*;

#[derive(Default)]
struct Pretend(AtomicBool);

impl Source for Pretend {
    fn waits_for(&self) -> Option<String> {
        (!self.0.load(Ordering::Relaxed)).then(|| "no certificate".to_owned())
    }

    fn state(&self) -> hedgerow_config::State {
        let pod = Pod { uid: "u".repeat(2000), started_unix_ms: 1, version: "0".to_owned() };
        let text = serde_json::json!({
            "schema": SCHEMA, "pod": pod, "nowUnixMs": 2, "digest": "abc", "ready": self.waits_for().is_none(),
        });
        serde_json::from_value(text).unwrap()
    }

    fn digest_only(&self) -> DigestOnly {
        DigestOnly { digest: "abc".to_owned(), ready: self.waits_for().is_none(), rejected: None }
    }
}

async fn ask(source: &Arc<Pretend>, path: &str, encoding: &str) -> (Response, Scrapes) {
    let scrapes = Scrapes::default();
    let app = router(source.clone(), Metrics::new(), scrapes.clone());
    let request = Request::get(path).header("accept-encoding", encoding).body(Body::empty()).unwrap();
    (app.oneshot(request).await.unwrap(), scrapes)
}

async fn bytes(response: Response) -> Vec<u8> {
    response.into_body().collect().await.unwrap().to_bytes().to_vec()
}

#[tokio::test]
async fn readiness_follows_the_source_and_liveness_does_not() {
    let source = Arc::new(Pretend::default());
    let answer = ask(&source, "/readyz", "").await.0;
    assert_eq!(answer.status(), 503);
    assert_eq!(bytes(answer).await, b"not ready: no certificate\n");
    assert_eq!(ask(&source, "/livez", "").await.0.status(), 200);
    source.0.store(true, Ordering::Relaxed);
    assert_eq!(ask(&source, "/readyz", "").await.0.status(), 200);
}

#[tokio::test]
async fn state_is_compressed_only_where_it_is_accepted() {
    let source = Arc::new(Pretend::default());
    for (accepted, packed) in [("gzip, br", true), ("br", false), ("gzip;q=0", false), ("", false)] {
        let (response, scrapes) = ask(&source, "/state", accepted).await;
        assert_eq!(response.headers().contains_key("content-encoding"), packed, "{accepted}");
        assert_eq!(scrapes.made(), 1);
        let mut json = bytes(response).await;
        if packed {
            let mut plain = Vec::new();
            GzDecoder::new(&json[..]).read_to_end(&mut plain).unwrap();
            json = plain;
        }
        assert_eq!(serde_json::from_slice::<hedgerow_config::State>(&json).unwrap(), source.state());
    }
}

#[tokio::test]
async fn the_short_state_is_no_scrape() {
    let (response, scrapes) = ask(&Arc::new(Pretend::default()), "/state?only=digest", "").await;
    let short: DigestOnly = serde_json::from_slice(&bytes(response).await).unwrap();
    assert_eq!((short.digest.as_str(), scrapes.made()), ("abc", 0));
}

#[tokio::test]
async fn metrics_are_open_metrics() {
    let (response, _) = ask(&Arc::new(Pretend::default()), "/metrics", "").await;
    assert_eq!(response.headers()["content-type"], OPEN_METRICS);
    assert!(bytes(response).await.ends_with(b"# EOF\n"));
}
