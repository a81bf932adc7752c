//! HTTP/1.1 towards an upstream.

use hedgerow_gateway::upstream::UpstreamError;
use tokio::io::AsyncWriteExt as _;

use crate::{
    peer::{answer, closed, listen, read_request, route, send, text, upstream},
    within,
};

#[tokio::test]
async fn a_request_arrives_whole_with_the_endpoints_host_and_a_length() {
    let (listener, address) = listen().await;
    let upstream = upstream(&route(&format!("http://{address}")), None);
    let peer = async {
        let mut socket = listener.accept().await.unwrap().0;
        let request = read_request(&mut socket).await.unwrap();
        answer(&mut socket, "hello").await;
        (request, socket)
    };
    let ((request, _socket), response) =
        within(Box::pin(async { tokio::join!(peer, send(&upstream)) })).await;
    assert_eq!(text(response.unwrap()).await, "hello");
    assert!(request.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{request}");
    let lower = request.to_ascii_lowercase();
    assert!(lower.contains(&format!("\r\nhost: {address}\r\n")), "{request}");
    assert!(lower.contains("\r\ncontent-length: 13\r\n"), "{request}");
    assert!(request.ends_with("\r\n\r\n{\"model\":\"m\"}"), "{request}");
}

#[tokio::test]
async fn an_answer_read_to_its_end_leaves_a_connection_for_the_next() {
    let (listener, address) = listen().await;
    let upstream = upstream(&route(&format!("http://{address}")), None);
    let peer = tokio::spawn(async move {
        let mut socket = listener.accept().await.unwrap().0;
        for number in 0..3 {
            read_request(&mut socket).await.unwrap();
            answer(&mut socket, &number.to_string()).await;
        }
        (listener, socket)
    });
    for number in 0..3 {
        let response = within(send(&upstream)).await.unwrap();
        assert_eq!(response.reused, number > 0);
        assert_eq!(text(response).await, number.to_string());
    }
    within(peer).await.unwrap();
}

#[tokio::test]
async fn a_kept_connection_that_the_peer_closed_costs_one_resend_and_no_error() {
    let (listener, address) = listen().await;
    let upstream = upstream(&route(&format!("http://{address}")), None);
    let peer = tokio::spawn(async move {
        let mut first = listener.accept().await.unwrap().0;
        read_request(&mut first).await.unwrap();
        answer(&mut first, "one").await;
        // Reads the second request and hangs up instead of answering.
        read_request(&mut first).await.unwrap();
        drop(first);
        let mut second = listener.accept().await.unwrap().0;
        read_request(&mut second).await.unwrap();
        answer(&mut second, "two").await;
        (listener, second)
    });
    assert_eq!(text(within(send(&upstream)).await.unwrap()).await, "one");
    let response = within(send(&upstream)).await.unwrap();
    assert!(!response.reused);
    assert_eq!(text(response).await, "two");
    within(peer).await.unwrap();
}

#[tokio::test]
async fn a_fresh_connection_that_ends_without_an_answer_may_have_run_the_request() {
    let (listener, address) = listen().await;
    let upstream = upstream(&route(&format!("http://{address}")), None);
    let peer = tokio::spawn(async move {
        let mut socket = listener.accept().await.unwrap().0;
        read_request(&mut socket).await.unwrap();
        drop(socket);
        listener
    });
    let error = within(send(&upstream)).await.unwrap_err();
    assert!(matches!(error, UpstreamError::Closed { .. }) && error.sent(), "{error:?}");
    within(peer).await.unwrap();
}

#[tokio::test]
async fn dropping_the_body_closes_the_connection() {
    let (listener, address) = listen().await;
    let upstream = upstream(&route(&format!("http://{address}")), None);
    let peer = tokio::spawn(async move {
        let mut socket = listener.accept().await.unwrap().0;
        read_request(&mut socket).await.unwrap();
        socket.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n").await.unwrap();
        closed(&mut socket).await;
    });
    let response = within(send(&upstream)).await.unwrap();
    drop(response);
    within(peer).await.unwrap();
}

#[tokio::test]
async fn dropping_the_future_before_the_head_closes_the_connection() {
    let (listener, address) = listen().await;
    let upstream = upstream(&route(&format!("http://{address}")), None);
    let (arrived, arrival) = tokio::sync::oneshot::channel();
    let peer = tokio::spawn(async move {
        let mut socket = listener.accept().await.unwrap().0;
        read_request(&mut socket).await.unwrap();
        arrived.send(()).unwrap();
        closed(&mut socket).await;
    });
    tokio::select! {
        answered = send(&upstream) => panic!("{answered:?}"),
        arrived = arrival => arrived.unwrap(),
    }
    within(peer).await.unwrap();
}

#[tokio::test]
async fn a_connection_that_ends_inside_the_body_is_an_error_and_no_end() {
    let (listener, address) = listen().await;
    let upstream = upstream(&route(&format!("http://{address}")), None);
    let peer = tokio::spawn(async move {
        let mut socket = listener.accept().await.unwrap().0;
        read_request(&mut socket).await.unwrap();
        socket.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n").await.unwrap();
    });
    let response = within(send(&upstream)).await.unwrap();
    let ended = within(http_body_util::BodyExt::collect(response.body)).await;
    assert!(matches!(ended, Err(UpstreamError::Closed { .. })), "{ended:?}");
    within(peer).await.unwrap();
}

#[tokio::test]
async fn a_connection_that_idles_for_half_a_minute_is_closed() {
    let (listener, address) = listen().await;
    let upstream = upstream(&route(&format!("http://{address}")), None);
    let peer = tokio::spawn(async move {
        let mut socket = listener.accept().await.unwrap().0;
        read_request(&mut socket).await.unwrap();
        answer(&mut socket, "one").await;
        closed(&mut socket).await;
    });
    assert_eq!(text(within(send(&upstream)).await.unwrap()).await, "one");
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(29)).await;
    tokio::task::yield_now().await;
    assert!(!peer.is_finished(), "closed too early");
    tokio::time::advance(std::time::Duration::from_secs(3)).await;
    tokio::time::resume();
    within(peer).await.unwrap();
}
