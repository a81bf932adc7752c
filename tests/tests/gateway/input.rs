//! Bad input: each gets a clear error where the client looks, and nothing is held afterwards.

use hedgerow_sim::Dialect;
use serde_json::Value;

use crate::stand::{Stand, chat, config, header, provider, route};

#[tokio::test]
async fn what_is_not_a_request_is_told_why() {
    let sim = provider("region-a", Dialect::OpenAi).await;
    let mut config = config(vec![route(&sim)]);
    config.settings.max_request_bytes = 1_000_000;
    let stand = Stand::start(config).await;
    let huge = format!("{{\"model\":\"chat\",\"messages\":\"{}\"}}", "x".repeat(2_000_000));
    let cases: [(&str, &str, u16, &str); 8] = [
        ("/v1/chat/completions", "{", 400, "gateway_bad_request"),
        ("/v1/chat/completions", "", 400, "gateway_bad_request"),
        ("/v1/chat/completions", "[1]", 400, "gateway_bad_request"),
        ("/v1/chat/completions", r#"{"model":"chat","model":"x"}"#, 400, "gateway_bad_request"),
        ("/v1/chat/completions", r#"{"messages":[]}"#, 400, "gateway_bad_request"),
        ("/v1/chat/completions", r#"{"model":"nobody"}"#, 404, "model_not_found"),
        ("/v1/images/generations", "{}", 404, "gateway_unknown_path"),
        ("/v1/chat/completions", &huge, 413, "gateway_too_large"),
    ];
    for (path, body, status, code) in cases {
        let answer = stand.client.post(stand.url(path)).body(body.to_owned()).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{path} {}", &body[..body.len().min(40)]);
        assert!(header(&answer, "x-request-id").starts_with("req_"));
        let body: Value = answer.json().await.unwrap();
        assert_eq!(body["error"]["code"], code, "{body}");
    }
    let get = stand.client.get(stand.url("/v1/chat/completions")).send().await.unwrap();
    assert_eq!(get.status(), 405);
    stand.idle().await;
    assert_eq!(sim.stats().requests, 0);
}

#[tokio::test]
async fn the_other_dialect_gets_its_errors_in_its_own_form() {
    let sim = provider("region-a", Dialect::OpenAi).await;
    let stand = Stand::start(config(vec![route(&sim)])).await;
    // The model exists, but no route speaks this dialect.
    let answer = stand.messages(&chat("x", false)).send().await.unwrap();
    assert_eq!(answer.status(), 404);
    let body: Value = answer.json().await.unwrap();
    assert_eq!((&body["type"], &body["error"]["type"]), (&"error".into(), &"not_found_error".into()));
}
