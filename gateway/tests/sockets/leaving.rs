//! A whole gateway: how it takes configurations and how it leaves.

use std::{fs, path::Path, time::Duration};

use hedgerow_config::{GatewayConfig, state::InFlight};
use hedgerow_gateway::{
    app::{App, Options, Running},
    drain::Haste,
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use crate::{
    get,
    peer::{listen, read_request, route},
    within,
};

const FIRST: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const LAST: &str = "data: [DONE]\n\n";

fn delta(text: &str) -> String {
    let choice = format!(r#"{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":null}}"#);
    format!(
        "data: {{\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{choice}]}}\n\n"
    )
}

fn finish() -> String {
    r#"data: {"id":"x","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#.to_owned() + "\n\n"
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

fn write(directory: &Path, endpoint: &str, timeout_ms: u64) {
    let mut config = GatewayConfig::read(
        br#"{"schema":"hedgerow.dev/gateway/v1","fleet":{"namespace":"local","name":"default"}}"#,
    )
    .unwrap();
    config.routes.push(route(endpoint));
    config.settings.drain.endpoint_delay_ms = 0;
    config.settings.drain.timeout_ms = timeout_ms;
    fs::write(directory.join("gateway.json"), config.write()).unwrap();
}

/// A gateway before a provider that the test plays.
pub async fn start(timeout_ms: u64) -> (Running, TempDir, TcpListener) {
    let (listener, address) = listen().await;
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), &format!("http://{address}"), timeout_ms);
    let running = App::start(Options::local(directory.path().to_owned())).await.unwrap();
    within(running.ready()).await;
    (running, directory, listener)
}

/// Asks for a stream and brings both sides to its first token.
async fn streaming(running: &Running, listener: &TcpListener) -> (TcpStream, TcpStream, String) {
    let mut client = TcpStream::connect(running.address).await.unwrap();
    let body = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"hello"}]}"#;
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    client.write_all(request.as_bytes()).await.unwrap();
    let mut provider = within(listener.accept()).await.unwrap().0;
    within(read_request(&mut provider)).await.unwrap();
    provider.write_all((FIRST.to_owned() + &chunk(&delta("one"))).as_bytes()).await.unwrap();
    let mut seen = String::new();
    within(async {
        while !seen.contains("one") {
            let mut part = [0; 4096];
            let read = client.read(&mut part).await.unwrap();
            assert!(read > 0, "closed after {seen}");
            seen.push_str(&String::from_utf8_lossy(&part[..read]));
        }
    })
    .await;
    (client, provider, seen)
}

#[tokio::test]
async fn a_running_stream_ends_whole_although_the_gateway_leaves() {
    let (running, _directory, listener) = start(60_000).await;
    let (mut client, mut provider, _) = streaming(&running, &listener).await;
    let leaving = tokio::spawn(running.shutdown(Haste::Now));
    let rest = chunk(&delta("two")) + &chunk(&finish()) + &chunk(LAST) + "0\r\n\r\n";
    provider.write_all(rest.as_bytes()).await.unwrap();
    let mut text = String::new();
    within(client.read_to_string(&mut text)).await.unwrap();
    assert!(text.contains("two") && text.contains("[DONE]") && text.ends_with("0\r\n\r\n"), "{text}");
    within(leaving).await.unwrap();
}

#[tokio::test]
async fn what_outlives_the_drain_gets_an_error_frame_and_no_clean_end() {
    let (running, _directory, listener) = start(50).await;
    let (mut client, _provider, _) = streaming(&running, &listener).await;
    let runtime = running.runtime.clone();
    let leaving = tokio::spawn(running.shutdown(Haste::Now));
    let mut rest = Vec::new();
    let _ = within(client.read_to_end(&mut rest)).await;
    let text = String::from_utf8(rest).unwrap();
    assert!(text.contains("gateway_shutting_down"), "{text}");
    assert!(!text.contains("[DONE]") && !text.ends_with("0\r\n\r\n"), "{text}");
    within(leaving).await.unwrap();
    let left = runtime.state().in_flight;
    assert_eq!((left.actions, left.attempts, left.lane_permits, left.route_permits), (0, 0, 0, 0));
}

#[tokio::test]
async fn a_half_sent_body_is_told_to_come_again_and_does_not_hold_the_drain() {
    let (running, _directory, _listener) = start(60_000).await;
    let mut client = TcpStream::connect(running.address).await.unwrap();
    let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n{";
    client.write_all(head.as_bytes()).await.unwrap();
    let runtime = running.runtime.clone();
    within(async {
        while runtime.in_flight().buffered_bytes == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    let leaving = tokio::spawn(running.shutdown(Haste::Now));
    let mut head = [0; 12];
    within(client.read_exact(&mut head)).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 503");
    drop(client);
    within(leaving).await.unwrap();
    assert_eq!(runtime.in_flight(), InFlight::default());
}

#[tokio::test]
async fn a_leaving_gateway_is_not_ready_but_still_answers_the_operator() {
    let (running, _directory, listener) = start(60_000).await;
    let (_client, provider, _) = streaming(&running, &listener).await;
    let admin = running.admin_address;
    assert!(get(admin, "/readyz").await.starts_with("HTTP/1.1 200 "));
    let leaving = tokio::spawn(running.shutdown(Haste::Endpoints));
    within(async {
        while !get(admin, "/readyz").await.starts_with("HTTP/1.1 503 ") {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(get(admin, "/state").await.contains("\"draining\":true"));
    drop(provider);
    leaving.abort();
}

#[tokio::test]
async fn a_bad_configuration_is_reported_and_the_good_one_stays() {
    let (running, directory, listener) = start(50).await;
    let good = running.runtime.digest_only().digest;
    for bad in ["{", r#"{"schema":"hedgerow.dev/gateway/v9"}"#] {
        fs::write(directory.path().join("gateway.json"), bad).unwrap();
        within(async {
            let expected = hedgerow_config::digest::digest(bad.as_bytes());
            while running.runtime.digest_only().rejected.is_none_or(|rejected| rejected.digest != expected) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
        let told = running.runtime.digest_only();
        assert!(told.ready && told.digest == good, "{told:?}");
    }
    assert!(get(running.admin_address, "/metrics").await.contains("hedgerow_config_rejected_total 2"));
    write(directory.path(), &format!("http://{}", listener.local_addr().unwrap()), 77);
    within(async {
        while running.runtime.digest_only().rejected.is_some() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    assert_eq!(running.runtime.drain_times().timeout_ms, 77);
}

#[tokio::test]
async fn without_a_configuration_only_the_admin_port_answers() {
    let directory = tempfile::tempdir().unwrap();
    let running = App::start(Options::local(directory.path().to_owned())).await.unwrap();
    assert!(get(running.admin_address, "/livez").await.starts_with("HTTP/1.1 200 "));
    assert!(get(running.admin_address, "/readyz").await.starts_with("HTTP/1.1 503 "));
    assert!(TcpStream::connect(running.address).await.is_err());
    running.shutdown(Haste::Endpoints).await;
}

#[tokio::test]
async fn a_port_in_use_is_an_error_that_names_it() {
    let (taken, address) = listen().await;
    let directory = tempfile::tempdir().unwrap();
    let options = Options { admin: address, ..Options::local(directory.path().to_owned()) };
    // With the chain of causes, as the command prints it.
    let error = format!("{:#}", anyhow::Error::from(App::start(options).await.err().unwrap()));
    assert!(error.contains(&address.to_string()), "{error}");
    assert_eq!(error.matches("os error").count(), 1, "{error}");
    drop(taken);
}
