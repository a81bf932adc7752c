//! After the commit: what is cut is seen to be cut, and who leaves takes everything along.

use std::time::Duration;

use hedgerow_sim::{Dialect, Fault, Marker};

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
