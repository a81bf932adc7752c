//! The thin path: what goes in comes out.

use hedgerow_sim::{Dialect, Marker};
use serde_json::Value;

use crate::stand::{Stand, chat, config, header, messages, messages_route, provider, route, sources};

#[tokio::test]
async fn a_complete_answer_passes_through_with_our_headers() {
    let sim = provider("region-a", Dialect::OpenAi).await;
    let stand = Stand::start(config(vec![route(&sim)])).await;
    let answer = stand.chat(&chat("hello", false)).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(header(&answer, "x-hedgerow-route"), "region-a");
    assert_eq!(header(&answer, "x-hedgerow-attempts"), "1");
    assert_eq!(header(&answer, "x-hedgerow-hedged"), "false");
    assert_eq!(header(&answer, "x-hedgerow-lane"), "default");
    assert_eq!(header(&answer, "x-hedgerow-hedge-reason"), "NoCohort");
    assert!(header(&answer, "x-request-id").starts_with("req_"));
    assert!(!header(&answer, "x-upstream-request-id").is_empty());
    let body: Value = answer.json().await.unwrap();
    assert_eq!(body["choices"][0]["finish_reason"], "stop");
    stand.idle().await;
    let state = stand.running.runtime.state();
    assert_eq!(state.routes[0].outcomes.get("won"), Some(&1));
    assert!(state.spend.winners.0 > 0 && state.spend.losers.0 == 0, "{:?}", state.spend);
}

#[tokio::test]
async fn the_request_body_reaches_the_provider_byte_for_byte() {
    let sim = provider("region-a", Dialect::OpenAi).await;
    let stand = Stand::start(config(vec![route(&sim)])).await;
    let body = "{ \"messages\" : [ {\"role\":\"user\",\"content\":\"h\\u00e9 \\ud83d\\ude00\"} ],\n \"model\":\"chat\" , \"x\":1.50 }";
    let answer = stand
        .client
        .post(stand.url("/v1/chat/completions"))
        .header("content-type", "application/json")
        .body(body);
    assert_eq!(answer.send().await.unwrap().status(), 200);
    let seen = sim.seen();
    assert_eq!(&seen[0].body[..], body.as_bytes());
    assert!(!seen[0].headers.contains_key("x-stainless-lang"));
}

#[tokio::test]
async fn a_stream_of_each_dialect_is_the_same_bytes_as_without_us() {
    for dialect in [Dialect::OpenAi, Dialect::Anthropic] {
        let sim = provider("region-a", dialect).await;
        let (path, body, gateway) = if matches!(dialect, Dialect::OpenAi) {
            let mut body = chat("hello", true);
            body["stream_options"] = serde_json::json!({ "include_usage": true });
            ("/v1/chat/completions", body, route(&sim))
        } else {
            ("/v1/messages", messages("hello", true), messages_route(&sim))
        };
        let stand = Stand::start(config(vec![gateway])).await;
        let direct = fetch(&stand, &format!("{}{path}", sim.base_url()), &body).await;
        let through = fetch(&stand, &stand.url(path), &body).await;
        assert_eq!(normal(&direct), normal(&through), "{dialect:?}");
        assert_eq!(sources(&through).len(), 1);
        stand.idle().await;
    }
}

async fn fetch(stand: &Stand, url: &str, body: &Value) -> String {
    let answer = stand.client.post(url).json(body).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert!(header(&answer, "content-type").starts_with("text/event-stream"));
    answer.text().await.unwrap()
}

/// Ids, nonces and times differ from answer to answer; everything else must not.
fn normal(body: &str) -> String {
    let mut out = String::new();
    let mut digits = false;
    for c in body.chars() {
        if c.is_ascii_digit() {
            if !digits {
                out.push('0');
            }
            digits = true;
        } else {
            digits = false;
            out.push(c);
        }
    }
    out
}

#[tokio::test]
async fn usage_that_only_we_asked_for_is_kept_from_the_client_and_booked() {
    let sim = provider("region-a", Dialect::OpenAi).await;
    let stand = Stand::start(config(vec![route(&sim)])).await;
    let text = stand.chat(&chat("hello", true)).send().await.unwrap().text().await.unwrap();
    assert!(!text.contains("prompt_tokens"), "{text}");
    assert!(text.trim_end().ends_with("data: [DONE]"));
    assert!(String::from_utf8_lossy(&sim.seen()[0].body).contains("include_usage"));
    stand.idle().await;
    let spend = stand.running.runtime.state().spend;
    assert!(spend.total.0 > 0 && spend.estimated.0 == 0, "{spend:?}");
}

#[tokio::test]
async fn models_are_listed_in_either_dialect_and_by_id() {
    let (openai, anthropic) = (provider("a", Dialect::OpenAi).await, provider("b", Dialect::Anthropic).await);
    let stand = Stand::start(config(vec![route(&openai), messages_route(&anthropic)])).await;
    let list: Value = stand.client.get(stand.url("/v1/models")).send().await.unwrap().json().await.unwrap();
    assert_eq!((&list["object"], &list["data"][0]["id"]), (&"list".into(), &"chat".into()));
    let one = stand.client.get(stand.url("/v1/models/chat")).header("anthropic-version", "2023-06-01");
    let one: Value = one.send().await.unwrap().json().await.unwrap();
    assert_eq!((&one["type"], &one["display_name"]), (&"model".into(), &"chat".into()));
    let none = stand.client.get(stand.url("/v1/models/other")).send().await.unwrap();
    assert_eq!(none.status(), 404);
}

#[tokio::test]
async fn an_error_of_the_provider_arrives_with_its_own_status_and_body() {
    let sim = provider("region-a", Dialect::OpenAi).await;
    let stand = Stand::start(config(vec![route(&sim)])).await;
    let prompt = Marker { status: Some(400), ..Marker::default() }.text();
    let answer = stand.chat(&chat(&prompt, true)).send().await.unwrap();
    assert_eq!(answer.status(), 400);
    assert_eq!(header(&answer, "x-should-retry"), "false");
    let body: Value = answer.json().await.unwrap();
    assert!(body["error"]["message"].is_string(), "{body}");
    assert_eq!(sim.stats().requests, 1);
    stand.idle().await;
}
