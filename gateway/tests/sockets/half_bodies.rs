//! Bodies that are announced and do not come: whom they keep out, and for how long.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::body::Body;
use bytes::Bytes;
use hedgerow_config::state::InFlight;
use hedgerow_gateway::front::{router::router, server::Limits};
use http::Request;
use http_body::Frame;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tower::ServiceExt as _;

use crate::{
    pod::{plain, pod},
    within,
};

#[tokio::test]
async fn announced_bodies_that_do_not_come_are_no_user_actions_and_keep_nobody_out() {
    let pod = pod(Limits::default(), |config| config.settings.max_in_flight = 2);
    let mut idle = Vec::new();
    for sent in 1..=5 {
        let mut socket = TcpStream::connect(pod.address).await.unwrap();
        let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n{";
        socket.write_all(head.as_bytes()).await.unwrap();
        idle.push(socket);
        pod.until(|held| held.buffered_bytes == sent * 16 * 1024 && held.actions == 0).await;
    }
    let mut whole = plain(pod.address).await;
    let mut head = [0; 12];
    within(whole.read_exact(&mut head)).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    drop((idle, whole));
    pod.until(|held| held == InFlight::default()).await;
}

/// A body of which nothing comes.
struct Never;

impl http_body::Body for Never {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Pending
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_is_given_up_after_a_minute_or_after_seconds_when_memory_is_scarce() {
    for (limit, seconds) in [(1 << 20, 60), (30_000, 5)] {
        let pod = pod(Limits::default(), |config| config.settings.buffered_bytes_limit = limit);
        let asked = pod.runtime.clock.now();
        let request = Request::post("/v1/chat/completions").body(Body::new(Never)).unwrap();
        let answer = router(pod.runtime.clone()).oneshot(request).await.unwrap();
        assert_eq!(answer.status(), 400);
        let (waited, wanted) = (pod.runtime.clock.now().since(asked), Duration::from_secs(seconds));
        assert!((wanted..=wanted + Duration::from_secs(1)).contains(&waited), "{limit}: {waited:?}");
        assert_eq!(pod.runtime.in_flight(), InFlight::default());
    }
}
