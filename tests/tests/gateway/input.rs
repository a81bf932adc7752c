//! Bad input: each gets a clear error where the client looks, and nothing is held afterwards.

use hedgerow_sim::Dialect;
use serde_json::Value;
use tokio::{io::AsyncWriteExt as _, net::TcpStream};

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
    assert_eq!((get.status().as_u16(), header(&get, "allow")), (405, "POST"));
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

#[tokio::test]
async fn half_sent_bodies_hold_what_they_have_sent_and_not_what_they_have_announced() {
    let sim = provider("region-a", Dialect::OpenAi).await;
    let mut config = config(vec![route(&sim)]);
    config.settings.max_request_bytes = 2_000_000;
    config.settings.buffered_bytes_limit = 2_000_000;
    let stand = Stand::start(config).await;
    let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: 1700000\r\n\r\n{";
    let mut idle = Vec::new();
    for sent in 1..=2 {
        let mut socket = TcpStream::connect(stand.running.address).await.unwrap();
        socket.write_all(head.as_bytes()).await.unwrap();
        idle.push(socket);
        stand
            .until("the body is being read", |stand| stand.in_flight().buffered_bytes == sent * 65_536)
            .await;
    }
    let answer = stand.chat(&chat(&"x".repeat(400_000), false)).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    drop(idle);
    stand.idle().await;
}
