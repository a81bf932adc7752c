//! After the commit: what is cut is seen to be cut, and who leaves takes everything along.

use std::time::Duration;

use bytes::Bytes;
use hedgerow_sim::{Dialect, Fault, Marker};
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo};

use crate::stand::{Stand, chat, config, messages, messages_route, provider, route, sources};

/// All that arrives of a body, and whether its end was clean.
async fn read(mut answer: reqwest::Response) -> (String, bool) {
    let mut text = Vec::new();
    loop {
        match answer.chunk().await {
            Ok(Some(chunk)) => text.extend_from_slice(&chunk),
            Ok(None) => return (String::from_utf8(text).unwrap(), true),
            Err(_) => return (String::from_utf8(text).unwrap(), false),
        }
    }
}

async fn cut(dialect: Dialect, fault: Fault) -> (String, bool) {
    let sim = provider("region-a", dialect).await;
    let openai = matches!(dialect, Dialect::OpenAi);
    let mut gateway = if openai { route(&sim) } else { messages_route(&sim) };
    gateway.timeouts.idle_bytes_ms = 300;
    let stand = Stand::start(config(vec![gateway])).await;
    let prompt = Marker { fault: Some(fault), tokens: Some(20), ..Marker::default() }.text();
    let request =
        if openai { stand.chat(&chat(&prompt, true)) } else { stand.messages(&messages(&prompt, true)) };
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let seen = read(answer).await;
    stand.idle().await;
    let outcomes = stand.running.runtime.state().routes[0].outcomes.clone();
    assert_eq!(outcomes.get("truncated"), Some(&1), "{outcomes:?}");
    seen
}

#[tokio::test]
async fn a_cut_stream_ends_with_an_error_frame_and_no_clean_end_in_each_dialect() {
    for dialect in [Dialect::OpenAi, Dialect::Anthropic] {
        for fault in [Fault::CutAtToken(5), Fault::StallAtToken(5), Fault::EndEarly(5)] {
            let (text, clean) = cut(dialect, fault.clone()).await;
            assert!(!clean, "{dialect:?} {fault:?}: {text}");
            assert!(text.contains("gateway_truncated"), "{dialect:?} {fault:?}: {text}");
            assert_eq!(sources(&text).len(), 1);
            let frame = text.trim_end().rsplit("\n\n").next().unwrap();
            assert_eq!(frame.starts_with("event: error"), matches!(dialect, Dialect::Anthropic), "{frame}");
        }
    }
}

/// All that arrives of an answer over h2c, and whether its end was clean.
async fn read_h2c(client: &mut http2::SendRequest<Full<Bytes>>, url: &str, prompt: &str) -> (String, bool) {
    let request = Request::post(url)
        .header("content-type", "application/json")
        .body(Full::from(chat(prompt, true).to_string()))
        .unwrap();
    let mut answer = client.send_request(request).await.unwrap();
    assert_eq!(answer.status(), 200);
    let mut text = Vec::new();
    while let Some(frame) = answer.frame().await {
        let Ok(frame) = frame else { return (String::from_utf8(text).unwrap(), false) };
        text.extend_from_slice(frame.data_ref().unwrap());
    }
    (String::from_utf8(text).unwrap(), true)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_h2c_the_error_frame_of_each_of_sixty_cuts_arrives_before_the_reset() {
    let sim = provider("region-a", Dialect::OpenAi).await;
    let mut gateway = route(&sim);
    gateway.breaker.consecutive_failures = 0;
    gateway.breaker.failure_percent = 0;
    let stand = Stand::start(config(vec![gateway])).await;
    let socket = tokio::net::TcpStream::connect(stand.running.address).await.unwrap();
    let (mut client, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(socket)).await.unwrap();
    let connection = tokio::spawn(connection);
    let (url, mut lost) = (stand.url("/v1/chat/completions"), 0);
    for round in 0..60 {
        let fault = if round % 2 == 0 { Fault::CutAtToken(5) } else { Fault::EndEarly(5) };
        let marker = Marker {
            fault: Some(fault),
            tokens: Some(20),
            first_token_ms: Some(1.0),
            gap_ms: Some(1.0),
            ..Marker::default()
        };
        let (text, clean) = read_h2c(&mut client, &url, &marker.text()).await;
        assert!(!clean, "{text}");
        lost += usize::from(!text.contains("gateway_truncated"));
    }
    assert_eq!(lost, 0, "of 60");
    stand.idle().await;
    connection.abort();
}

#[tokio::test]
async fn an_error_of_the_provider_inside_the_stream_is_passed_on_once() {
    for dialect in [Dialect::OpenAi, Dialect::Anthropic] {
        let (text, _) = cut(dialect, Fault::ErrorInStream(3)).await;
        assert!(!text.contains("gateway_"), "{text}");
        assert_eq!(text.matches("\"error\"").count().min(1), 1, "{text}");
    }
}

#[tokio::test]
async fn a_client_that_leaves_mid_stream_closes_the_upstream_at_once() {
    let sim = provider("region-a", Dialect::OpenAi).await;
    let stand = Stand::start(config(vec![route(&sim)])).await;
    let prompt = Marker { gap_ms: Some(50.0), tokens: Some(1_000), ..Marker::default() }.text();
    let mut answer = stand.chat(&chat(&prompt, true)).send().await.unwrap();
    answer.chunk().await.unwrap();
    assert_eq!(stand.in_flight().attempts, 1);
    let left = tokio::time::Instant::now();
    drop(answer);
    sim.wait_for(|stats| stats.cancelled == 1, Duration::from_secs(2)).await.unwrap();
    assert!(left.elapsed() < Duration::from_millis(500), "{:?}", left.elapsed());
    stand.idle().await;
    let state = stand.running.runtime.state();
    assert_eq!(state.routes[0].breaker, "closed");
    assert_eq!(state.routes[0].outcomes.get("client_gone"), Some(&1));
    assert!(state.spend.total.0 > 0 && state.spend.estimated == state.spend.total, "{:?}", state.spend);
}

#[tokio::test]
async fn a_client_that_leaves_before_the_answer_cancels_it_too() {
    let sim = provider("region-a", Dialect::OpenAi).await;
    let stand = Stand::start(config(vec![route(&sim)])).await;
    let prompt = Marker { first_token_ms: Some(60_000.0), ..Marker::default() }.text();
    for stream in [true, false] {
        let request = stand.chat(&chat(&prompt, stream));
        let task = tokio::spawn(request.send());
        stand.until("the attempt is under way", |_| sim.stats().in_flight == 1).await;
        task.abort();
        stand.idle().await;
        stand.until("the provider saw it", |_| sim.stats().in_flight == 0).await;
    }
}

#[tokio::test]
async fn a_killed_provider_is_seen_by_the_client() {
    let sim = provider("region-a", Dialect::OpenAi).await;
    let stand = Stand::start(config(vec![route(&sim)])).await;
    let prompt = Marker { gap_ms: Some(50.0), tokens: Some(1_000), ..Marker::default() }.text();
    let mut answer = stand.chat(&chat(&prompt, true)).send().await.unwrap();
    answer.chunk().await.unwrap();
    sim.kill().await;
    let (text, clean) = read(answer).await;
    assert!(!clean && text.contains("gateway_truncated"), "{text}");
    stand.idle().await;
}
