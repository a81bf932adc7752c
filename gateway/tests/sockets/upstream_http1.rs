//! HTTP/1.1 towards an upstream.

use std::{future::Future, sync::Arc, time::Duration};

use hedgerow_gateway::upstream::{Upstream, UpstreamError};
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::{
    peer::{answer, closed, listen, read_request, route, send, text, upstream},
    within,
};

const BEGUN: &[u8] = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n";

/// An upstream, and the provider behind it, which plays `script`.
async fn against<F>(script: impl FnOnce(TcpListener) -> F) -> (Arc<Upstream>, JoinHandle<F::Output>)
where
    F: Future<Output: Send> + Send + 'static,
{
    let (listener, address) = listen().await;
    (upstream(&route(&format!("http://{address}")), None), tokio::spawn(script(listener)))
}

/// The next connection and the first request on it.
async fn asked(listener: &TcpListener) -> (TcpStream, String) {
    let mut socket = listener.accept().await.unwrap().0;
    let request = read_request(&mut socket).await.unwrap();
    (socket, request)
}

#[tokio::test]
async fn a_request_arrives_whole_with_the_endpoints_host_and_a_length() {
    let (upstream, provider) = against(|listener| async move {
        let (mut socket, request) = asked(&listener).await;
        answer(&mut socket, "hello").await;
        (request, listener.local_addr().unwrap())
    })
    .await;
    assert_eq!(text(within(send(&upstream)).await.unwrap()).await, "hello");
    let (request, address) = within(provider).await.unwrap();
    assert!(request.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{request}");
    let lower = request.to_ascii_lowercase();
    assert!(lower.contains(&format!("\r\nhost: {address}\r\n")), "{request}");
    assert!(lower.contains("\r\ncontent-length: 13\r\n"), "{request}");
    assert!(request.ends_with("\r\n\r\n{\"model\":\"m\"}"), "{request}");
}

#[tokio::test]
async fn an_answer_read_to_its_end_leaves_a_connection_for_the_next() {
    let (upstream, provider) = against(|listener| async move {
        let mut socket = listener.accept().await.unwrap().0;
        for number in 0..3 {
            read_request(&mut socket).await.unwrap();
            answer(&mut socket, &number.to_string()).await;
        }
        (listener, socket)
    })
    .await;
    for number in 0..3 {
        let response = within(send(&upstream)).await.unwrap();
        assert_eq!(response.reused, number > 0);
        assert_eq!(text(response).await, number.to_string());
    }
    within(provider).await.unwrap();
}

#[tokio::test]
async fn a_kept_connection_that_the_peer_closed_costs_one_resend_and_no_error() {
    let (upstream, provider) = against(|listener| async move {
        let (mut first, _) = asked(&listener).await;
        answer(&mut first, "one").await;
        // Reads the second request and hangs up instead of answering.
        read_request(&mut first).await.unwrap();
        drop(first);
        let (mut second, _) = asked(&listener).await;
        answer(&mut second, "two").await;
        (listener, second)
    })
    .await;
    assert_eq!(text(within(send(&upstream)).await.unwrap()).await, "one");
    let response = within(send(&upstream)).await.unwrap();
    assert!(!response.reused);
    assert_eq!(text(response).await, "two");
    within(provider).await.unwrap();
}

#[tokio::test]
async fn a_fresh_connection_that_ends_without_an_answer_may_have_run_the_request() {
    let (upstream, provider) = against(|listener| async move {
        drop(asked(&listener).await);
        listener
    })
    .await;
    let error = within(send(&upstream)).await.unwrap_err();
    assert!(matches!(error, UpstreamError::Closed { .. }) && error.sent(), "{error:?}");
    within(provider).await.unwrap();
}

#[tokio::test]
async fn dropping_the_body_closes_the_connection() {
    let (upstream, provider) = against(|listener| async move {
        let (mut socket, _) = asked(&listener).await;
        socket.write_all(BEGUN).await.unwrap();
        closed(&mut socket).await;
    })
    .await;
    drop(within(send(&upstream)).await.unwrap());
    within(provider).await.unwrap();
}

#[tokio::test]
async fn a_cancelled_attempt_leaves_a_spare_connection_for_the_next() {
    let (opened, spare) = tokio::sync::oneshot::channel();
    let (upstream, provider) = against(|listener| async move {
        let (mut first, _) = asked(&listener).await;
        first.write_all(BEGUN).await.unwrap();
        closed(&mut first).await;
        let mut second = listener.accept().await.unwrap().0;
        opened.send(()).unwrap();
        read_request(&mut second).await.unwrap();
        answer(&mut second, "two").await;
        listener
    })
    .await;
    drop(within(send(&upstream)).await.unwrap());
    // Nobody has asked for it yet.
    within(spare).await.unwrap();
    assert_eq!(text(within(send(&upstream)).await.unwrap()).await, "two");
    within(provider).await.unwrap();
}

#[tokio::test]
async fn dropping_the_future_before_the_head_closes_the_connection() {
    let (arrived, arrival) = tokio::sync::oneshot::channel();
    let (upstream, provider) = against(|listener| async move {
        let (mut socket, _) = asked(&listener).await;
        arrived.send(()).unwrap();
        closed(&mut socket).await;
    })
    .await;
    tokio::select! {
        answered = send(&upstream) => panic!("{answered:?}"),
        arrived = arrival => arrived.unwrap(),
    }
    within(provider).await.unwrap();
}

#[tokio::test]
async fn a_connection_that_ends_inside_the_body_is_an_error_and_no_end() {
    let (upstream, provider) = against(|listener| async move {
        let (mut socket, _) = asked(&listener).await;
        socket.write_all(BEGUN).await.unwrap();
    })
    .await;
    let response = within(send(&upstream)).await.unwrap();
    let ended = within(http_body_util::BodyExt::collect(response.body)).await;
    assert!(matches!(ended, Err(UpstreamError::Closed { .. })), "{ended:?}");
    within(provider).await.unwrap();
}

#[tokio::test]
async fn a_connection_that_idles_for_half_a_minute_is_closed() {
    let (upstream, provider) = against(|listener| async move {
        let (mut socket, _) = asked(&listener).await;
        answer(&mut socket, "one").await;
        closed(&mut socket).await;
    })
    .await;
    assert_eq!(text(within(send(&upstream)).await.unwrap()).await, "one");
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(29)).await;
    tokio::task::yield_now().await;
    assert!(!provider.is_finished(), "closed too early");
    tokio::time::advance(Duration::from_secs(3)).await;
    tokio::time::resume();
    within(provider).await.unwrap();
}
