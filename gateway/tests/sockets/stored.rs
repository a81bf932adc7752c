//! Stored responses are asked for where the tenant's home is, by whatever model they were made.

use hedgerow_config::GatewayConfig;
use hedgerow_gateway::app::{App, Options, Running};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};

use crate::{
    peer::{listen, read_request, route},
    within,
};

/// Answers every request with `status` and tells what was asked.
async fn provider(listener: TcpListener, status: &'static str, asked: mpsc::UnboundedSender<String>) {
    loop {
        let (mut socket, asked) = (listener.accept().await.unwrap().0, asked.clone());
        tokio::spawn(async move {
            while let Some(request) = read_request(&mut socket).await {
                // Nobody may be listening any more.
                let _ = asked.send(request);
                let body = r#"{"id":"resp_1"}"#;
                let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
                socket.write_all(answer.as_bytes()).await.unwrap();
            }
        });
    }
}

async fn start(endpoints: &[String]) -> (Running, TempDir) {
    let text = br#"{"schema":"hedgerow.dev/gateway/v1","fleet":{"namespace":"local","name":"default"}}"#;
    let mut config = GatewayConfig::read(text).unwrap();
    for (place, endpoint) in endpoints.iter().enumerate() {
        let mut route = route(endpoint);
        (route.name, route.uid) = (format!("r{place}"), format!("u{place}"));
        route.models[0].name = format!("m{place}");
        config.routes.push(route);
    }
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("gateway.json"), config.write()).unwrap();
    let running = App::start(Options::local(directory.path().to_owned())).await.unwrap();
    within(running.ready()).await;
    (running, directory)
}

async fn ask(running: &Running, line: &str) -> String {
    let mut client = TcpStream::connect(running.address).await.unwrap();
    client
        .write_all(format!("{line} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").as_bytes())
        .await
        .unwrap();
    let mut text = String::new();
    within(client.read_to_string(&mut text)).await.unwrap();
    text
}

#[tokio::test]
async fn a_stored_response_is_found_at_whichever_home_route_knows_it() {
    let (tells, mut asked) = mpsc::unbounded_channel();
    let mut endpoints = Vec::new();
    for status in ["404 Not Found", "200 OK"] {
        let (listener, address) = listen().await;
        endpoints.push(format!("http://{address}"));
        tokio::spawn(provider(listener, status, tells.clone()));
    }
    let (running, _directory) = start(&endpoints).await;
    for line in [
        "GET /v1/responses/resp_1?include=x&limit=2",
        "DELETE /v1/responses/resp_1",
        "POST /v1/responses/resp_1/cancel",
        "GET /v1/responses/resp_1/input_items",
    ] {
        let text = ask(&running, line).await;
        assert!(text.starts_with("HTTP/1.1 200 "), "{line}: {text}");
        assert!(text.contains("x-hedgerow-route: r1") && text.contains("resp_1"), "{text}");
        for _ in 0..2 {
            let seen = asked.recv().await.unwrap();
            assert!(seen.starts_with(line), "{line} became {seen}");
        }
    }
    assert!(running.runtime.in_flight() == hedgerow_config::state::InFlight::default());
}

#[tokio::test]
async fn an_id_that_nobody_knows_is_the_providers_own_404_and_a_silent_provider_is_no_404() {
    let (tells, _asked) = mpsc::unbounded_channel();
    let (listener, known) = listen().await;
    tokio::spawn(provider(listener, "404 Not Found", tells));
    // A port that was free and is closed again.
    let (closed, silent) = listen().await;
    drop(closed);
    let (running, _directory) = start(&[format!("http://{known}")]).await;
    assert!(ask(&running, "GET /v1/responses/resp_1").await.starts_with("HTTP/1.1 404 "));
    let (running, _directory) = start(&[format!("http://{known}"), format!("http://{silent}")]).await;
    assert!(ask(&running, "GET /v1/responses/resp_1").await.starts_with("HTTP/1.1 502 "));
    assert!(ask(&running, "PATCH /v1/responses/resp_1").await.starts_with("HTTP/1.1 405 "));
}
