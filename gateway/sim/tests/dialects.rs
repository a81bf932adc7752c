//! Every form of answer, in both dialects, over every kind of connection.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use hedgerow_sim::{
    Dialect, Latency, Marker, Provider, ProviderConfig,
    traffic::{Client, ClosedLoop, Outcome, RequestKind, RetryRule, Target, TrafficClass, Verdict},
};
use serde_json::Value;

const KINDS: [(Dialect, RequestKind); 4] = [
    (Dialect::OpenAi, RequestKind::ChatStream),
    (Dialect::OpenAi, RequestKind::ChatJson),
    (Dialect::Anthropic, RequestKind::MessagesStream),
    (Dialect::Anthropic, RequestKind::MessagesJson),
];

async fn provider(dialect: Dialect, tls: bool) -> Provider {
    let config = ProviderConfig { tls, record: 8, ..ProviderConfig::new("region-a", dialect) };
    Provider::start(config).await.unwrap()
}

/// The first `n` outcomes of one session.
async fn outcomes(target: Target, class: TrafficClass, n: usize) -> Vec<Outcome> {
    let (_session, mut outcomes) =
        ClosedLoop::start(&target, class, 1, &Latency::fixed(0.0), RetryRule::NONE, 1);
    let mut all = Vec::new();
    while all.len() < n {
        all.push(tokio::time::timeout(Duration::from_secs(20), outcomes.recv()).await.unwrap().unwrap());
    }
    all
}

#[tokio::test]
async fn every_kind_of_answer_is_whole_over_every_kind_of_connection() {
    for (dialect, kind) in KINDS {
        for (tls, h2) in [(false, false), (false, true), (true, false), (true, true)] {
            let provider = provider(dialect, tls).await;
            let target = match (provider.ca_pem(), h2) {
                (None, false) => Target::http1(provider.addr()),
                (None, true) => Target::h2c(provider.addr()),
                (Some(pem), h2) => Target::tls(provider.addr(), "localhost", pem, h2).unwrap(),
            };
            let class = TrafficClass::new("c", kind, "sim-model");
            for outcome in outcomes(target, class, 3).await {
                assert_eq!(outcome.verdict, Verdict::Answered, "{kind:?} tls {tls} h2 {h2}: {outcome:?}");
                assert_eq!(outcome.integrity.tokens, 16);
                assert!(outcome.first_token.unwrap() <= outcome.end);
            }
            let version = if h2 { http::Version::HTTP_2 } else { http::Version::HTTP_11 };
            assert_eq!(provider.seen()[0].version, version);
        }
    }
}

#[tokio::test]
async fn a_tool_call_is_whole_in_all_four_forms() {
    for (dialect, kind) in KINDS {
        let provider = provider(dialect, false).await;
        let order = Marker { tool: Some("look_up".into()), tokens: Some(3), ..Marker::default() };
        let class = TrafficClass { order: order.text(), tools: true, ..TrafficClass::new("c", kind, "m") };
        let outcome = outcomes(Target::http1(provider.addr()), class, 1).await.remove(0);
        assert_eq!(
            (outcome.verdict, outcome.integrity.tokens),
            (Verdict::Answered, 3),
            "{kind:?}: {outcome:?}"
        );
    }
}

async fn ask(provider: &Provider, method: &str, path: &str, body: &str) -> (u16, String) {
    let request = http::Request::builder().method(method).uri(path);
    let request = request.body(http_body_util::Full::from(body.to_owned())).unwrap();
    let mut reply = Client::new(Target::http1(provider.addr())).send(request).await.unwrap();
    let text = reply.rest(1 << 20).await.unwrap();
    (reply.head.status.as_u16(), String::from_utf8(text).unwrap())
}

#[tokio::test]
async fn the_other_endpoints_answer_in_their_shape() {
    let openai = provider(Dialect::OpenAi, false).await;
    let (status, text) = ask(&openai, "GET", "/v1/models", "").await;
    assert_eq!((status, text.contains(r#""id":"sim-model""#)), (200, true), "{text}");
    assert_eq!(ask(&openai, "GET", "/v1/models/none", "").await.0, 404);
    let body = r#"{"model":"e","input":["a","b"],"dimensions":4,"encoding_format":"base64"}"#;
    let (status, text) = ask(&openai, "POST", "/v1/embeddings", body).await;
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, document["data"].as_array().unwrap().len()), (200, 2));
    assert_eq!(document["data"][1]["embedding"].as_str().unwrap().len(), 24, "16 bytes in base64");
    let azure = "/openai/deployments/my-gpt/chat/completions?api-version=1";
    let (status, text) = ask(&openai, "POST", azure, r#"{"messages":[]}"#).await;
    assert_eq!((status, text.contains(r#""model":"my-gpt""#)), (200, true), "{text}");
    let (_, text) =
        ask(&openai, "POST", "/v1/responses", r#"{"model":"m","input":"hi","stream":true}"#).await;
    assert!(text.contains("event: response.completed"), "{text}");
    let anthropic = provider(Dialect::Anthropic, false).await;
    let body = r#"{"model":"m","messages":[{"role":"user","content":"12345678"}]}"#;
    assert_eq!(
        ask(&anthropic, "POST", "/v1/messages/count_tokens", body).await,
        (200, r#"{"input_tokens":3}"#.to_owned())
    );
}

#[tokio::test]
async fn bad_requests_get_the_error_of_their_dialect() {
    let openai = provider(Dialect::OpenAi, false).await;
    let (status, text) = ask(&openai, "POST", "/v1/chat/completions", "{").await;
    assert_eq!((status, text.contains("invalid_request_error")), (400, true), "{text}");
    assert_eq!(ask(&openai, "POST", "/v1/messages", "{}").await.0, 404);
    let anthropic = provider(Dialect::Anthropic, false).await;
    let (status, text) = ask(&anthropic, "POST", "/v1/messages", r#"{"model":"m"}"#).await;
    assert_eq!((status, text.starts_with(r#"{"error":{"message":"`max_tokens`"#)), (400, true), "{text}");
}

#[tokio::test]
async fn a_provider_with_a_key_accepts_no_other() {
    let config =
        ProviderConfig { api_key: Some("right".into()), ..ProviderConfig::new("a", Dialect::OpenAi) };
    let provider = Provider::start(config).await.unwrap();
    for (key, status) in [("right", 200), ("wrong", 401)] {
        let mut class = TrafficClass::new("c", RequestKind::ChatJson, "m");
        class.api_key = Some(key.into());
        let outcome = outcomes(Target::http1(provider.addr()), class, 1).await.remove(0);
        assert_eq!(outcome.status, Some(status), "{key}");
    }
}
