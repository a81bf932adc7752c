//! HTTP hygiene at the traffic port: what a client writes, byte for byte, and what it gets.
//!
//! Inputs: raw bytes on a connection of their own. Outputs: the raw answer. What is refused must never have been an
//! attempt at the provider.

use std::{collections::BTreeMap, time::Duration};

use hedgerow_tests::canary::ANSWER;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    case::{Case, Head, Step},
    gateway::Gateway,
    provider::Provider,
};

/// Longest wait for an answer.
const SOON: Duration = Duration::from_secs(10);

const BODY: &str = r#"{"model":"m","messages":[{"role":"user","content":"zq-prompt-7f31"}]}"#;

/// A gateway before a provider that answers `first`, then `second`.
async fn stand() -> (Gateway, BTreeMap<String, Provider>) {
    let case: Case = serde_saphyr::from_str("{id: http, about: all, routes: {}, expect: {}}").unwrap();
    let answer = |text: &str| {
        let body = format!(
            r#"{{"choices":[{{"message":{{"content":"{ANSWER} {text}"}},"finish_reason":"stop"}}]}}"#
        );
        vec![Step::Answer(Head { media: "application/json".to_owned(), body, ..Head::default() })]
    };
    let scripts = vec![answer("first"), answer("second")];
    let providers = BTreeMap::from([("a".to_owned(), Provider::start(scripts).await)]);
    (Gateway::start(&case, &providers).await, providers)
}

/// Writes `bytes` and reads until the gateway closes the connection, or until nothing more can come.
async fn exchange(gateway: &Gateway, bytes: &[u8], until: usize) -> String {
    let mut socket = TcpStream::connect(gateway.address).await.unwrap();
    socket.write_all(bytes).await.unwrap();
    let mut raw = Vec::new();
    let text = |raw: &[u8]| String::from_utf8_lossy(raw).into_owned();
    while text(&raw).matches("\r\n\r\n").count() < until || !text(&raw).ends_with('}') {
        let read = tokio::time::timeout(SOON, socket.read_buf(&mut raw)).await;
        if !matches!(read.expect("no end of the answer"), Ok(1..)) {
            break;
        }
    }
    text(&raw)
}

fn post(path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nhost: test\r\n{headers}content-length: {length}\r\n\r\n{body}")
}

#[tokio::test]
async fn what_is_no_request_is_refused_and_never_reaches_a_provider() {
    let (gateway, providers) = stand().await;
    let chat = "/v1/chat/completions";
    let close = "connection: close\r\n";
    let sized = |length: &str| format!("POST {chat} HTTP/1.1\r\nhost: test\r\n{length}\r\n\r\n{{}}");
    let encoded = "connection: close\r\ncontent-encoding: gzip\r\n";
    for (what, bytes, wanted) in [
        ("data after the object", post(chat, close, &format!("{BODY}{BODY}")), "HTTP/1.1 400"),
        ("an encoded body", post(chat, encoded, "\u{1f}\u{8b}gzip"), "HTTP/1.1 400"),
        (
            "a method of another kind",
            format!("PUT {chat} HTTP/1.1\r\nhost: test\r\n{close}\r\n"),
            "HTTP/1.1 405",
        ),
        ("HEAD of a list", format!("HEAD /v1/models HTTP/1.1\r\nhost: test\r\n{close}\r\n"), "HTTP/1.1 405"),
        ("OPTIONS", format!("OPTIONS {chat} HTTP/1.1\r\nhost: test\r\n{close}\r\n"), "HTTP/1.1 405"),
        (
            "a chunk of no size",
            format!("POST {chat} HTTP/1.1\r\nhost: test\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"),
            "HTTP/1.1 400",
        ),
        (
            "a coding that nobody knows",
            format!("POST {chat} HTTP/1.1\r\nhost: test\r\ntransfer-encoding: gzip\r\n\r\n"),
            "HTTP/1.1 400",
        ),
        (
            "a chunk of a size that overflows",
            format!(
                "POST {chat} HTTP/1.1\r\nhost: test\r\ntransfer-encoding: chunked\r\n\r\n{}\r\n",
                "f".repeat(17)
            ),
            "HTTP/1.1 400",
        ),
        (
            "a coding after the chunked one",
            format!(
                "POST {chat} HTTP/1.1\r\nhost: test\r\ntransfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n"
            ),
            "HTTP/1.1 400",
        ),
        ("a length with a sign", sized("content-length: +2"), "HTTP/1.1 400"),
        ("two lengths in one line", sized("content-length: 2, 2"), "HTTP/1.1 400"),
        ("a blank before the colon", sized("content-length : 2"), "HTTP/1.1 400"),
        ("a header on two lines", sized("content-length: 2\r\nx-folded: a\r\n b"), "HTTP/1.1 400"),
        (
            "a header without a name",
            format!("POST {chat} HTTP/1.1\r\nhost: test\r\n: x\r\n\r\n"),
            "HTTP/1.1 400",
        ),
        (
            "an older protocol with a newer framing",
            format!("POST {chat} HTTP/1.0\r\nhost: test\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"),
            "HTTP/1.1 400",
        ),
    ] {
        let answer = exchange(&gateway, bytes.as_bytes(), 1).await;
        assert!(answer.starts_with(wanted), "{what}: {answer:?}");
    }
    assert!(providers["a"].seen.lock().unwrap().requests.is_empty());
    gateway.stop().await;
}

#[tokio::test]
async fn a_client_that_waits_for_100_is_told_to_go_on_and_one_that_is_refused_is_not() {
    let (gateway, _providers) = stand().await;
    let expects = "connection: close\r\nexpect: 100-continue\r\n";
    let good = exchange(&gateway, post("/v1/chat/completions", expects, BODY).as_bytes(), 2).await;
    assert!(good.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200"), "{good:?}");
    let refused = exchange(&gateway, post("/v1/nowhere", expects, BODY).as_bytes(), 1).await;
    assert!(refused.starts_with("HTTP/1.1 404"), "{refused:?}");
    gateway.stop().await;
}

#[tokio::test]
async fn requests_on_one_connection_are_answered_in_their_order() {
    let (gateway, providers) = stand().await;
    let two =
        post("/v1/chat/completions", "", BODY) + &post("/v1/chat/completions", "connection: close\r\n", BODY);
    let answers = exchange(&gateway, two.as_bytes(), 2).await;
    let at = |text: &str| answers.find(text).unwrap_or_else(|| panic!("{text} in {answers:?}"));
    assert!(at("first") < at("second"), "{answers:?}");
    assert_eq!(providers["a"].seen.lock().unwrap().requests.len(), 2);
    gateway.stop().await;
}

#[tokio::test]
async fn a_length_told_in_both_ways_ends_the_connection_so_that_nothing_hides_behind_it() {
    let (gateway, providers) = stand().await;
    let hidden = post("/v1/chat/completions", "", BODY);
    let (size, length) = (BODY.len(), BODY.len() + 7);
    for lengths in [
        format!("content-length: {length}\r\ntransfer-encoding: chunked"),
        format!("transfer-encoding: chunked\r\ncontent-length: {length}"),
    ] {
        let head = format!("POST /v1/chat/completions HTTP/1.1\r\nhost: test\r\n{lengths}\r\n\r\n");
        let both = format!("{head}{size:x}\r\n{BODY}\r\n0\r\n\r\n{hidden}");
        let answers = exchange(&gateway, both.as_bytes(), 2).await;
        assert_eq!(answers.matches("HTTP/1.1 ").count(), 1, "{answers:?}");
        assert!(answers.contains("connection: close\r\n"), "{answers:?}");
    }
    let requests = providers["a"].seen.lock().unwrap().requests.clone();
    let sent = |request: &String| request.contains(&format!("content-length: {size}\r\n"));
    assert!(requests.len() == 2 && requests.iter().all(sent), "{requests:?}");
    gateway.stop().await;
}
