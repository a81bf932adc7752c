//! HTTP/2 over TLS towards an upstream.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use futures_util::future::join_all;
use hedgerow_config::route::SecretKey;
use hedgerow_gateway::upstream::{Upstream, UpstreamError};
use http::Response;
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::{server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::sync::{Barrier, mpsc};
use tokio_rustls::TlsAcceptor;

use crate::{
    peer::{Pki, listen, pki, pki_until, route, send, text, upstream},
    within,
};

pub type Answer = UnsyncBoxBody<Bytes, std::convert::Infallible>;

/// An h2 upstream; `answers` makes the body of each stream. Counts connections.
pub async fn serve<F, Fut>(pki: &Pki, limit: u32, answers: F) -> (SocketAddr, Arc<AtomicUsize>)
where
    F: Fn() -> Fut + Clone + Send + 'static,
    Fut: Future<Output = Answer> + Send + 'static,
{
    let (listener, address) = listen().await;
    let (acceptor, connections) = (TlsAcceptor::from(pki.server.clone()), Arc::new(AtomicUsize::new(0)));
    let count = connections.clone();
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            let (acceptor, answers, count) = (acceptor.clone(), answers.clone(), count.clone());
            tokio::spawn(async move {
                let Ok(socket) = acceptor.accept(socket).await else { return };
                count.fetch_add(1, Ordering::SeqCst);
                let service = service_fn(move |_| {
                    let answer = answers();
                    async move { Ok::<_, std::convert::Infallible>(Response::new(answer.await)) }
                });
                let connection = http2::Builder::new(TokioExecutor::new())
                    .max_concurrent_streams(limit)
                    .max_pending_accept_reset_streams(4096)
                    .serve_connection(TokioIo::new(socket), service);
                let _ = connection.await;
            });
        }
    });
    (address, connections)
}

pub fn trusting(pki: &Pki, address: SocketAddr, server_name: Option<&str>) -> Arc<Upstream> {
    let mut route = route(&format!("https://127.0.0.1:{}", address.port()));
    route.tls.ca = Some(SecretKey { name: "ca".to_owned(), key: "pem".to_owned() });
    route.tls.server_name = server_name.map(str::to_owned);
    upstream(&route, Some(&pki.ca))
}

pub fn full(text: &'static str) -> Answer {
    Full::new(Bytes::from_static(text.as_bytes())).boxed_unsync()
}

/// A body that never ends; tells `gone` when it is dropped.
pub fn endless(gone: mpsc::UnboundedSender<()>) -> Answer {
    struct Told(mpsc::UnboundedSender<()>);
    impl Drop for Told {
        fn drop(&mut self) {
            let _ = self.0.send(());
        }
    }
    let told = Told(gone);
    let first = futures_util::stream::iter([Ok(http_body::Frame::data(Bytes::from_static(b"data: 1\n\n")))]);
    let never = futures_util::stream::poll_fn(move |_| {
        let _ = &told;
        std::task::Poll::Pending
    });
    StreamBody::new(futures_util::StreamExt::chain(first, never)).boxed_unsync()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_hundred_streams_run_at_once_although_the_peer_allows_a_hundred() {
    let pki = pki(&[b"h2"]);
    let together = Arc::new(Barrier::new(300));
    let wait = together.clone();
    let (address, connections) = serve(&pki, 100, move || {
        let together = wait.clone();
        async move {
            together.wait().await;
            full("ok")
        }
    })
    .await;
    let upstream = trusting(&pki, address, Some("localhost"));
    let answers =
        within(join_all((0..300).map(|_| async { text(send(&upstream).await.unwrap()).await }))).await;
    assert!(answers.iter().all(|answer| answer == "ok"));
    let used = connections.load(Ordering::SeqCst);
    assert!((5..=12).contains(&used), "{used} connections");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_with_a_small_limit_gets_more_connections_instead_of_a_queue() {
    let pki = pki(&[b"h2"]);
    let together = Arc::new(Barrier::new(40));
    let wait = together.clone();
    let (address, _) = serve(&pki, 4, move || {
        let together = wait.clone();
        async move {
            together.wait().await;
            full("ok")
        }
    })
    .await;
    let upstream = trusting(&pki, address, Some("localhost"));
    let answers =
        within(join_all((0..40).map(|_| async { text(send(&upstream).await.unwrap()).await }))).await;
    assert_eq!(answers.len(), 40);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_was_read_to_its_end_makes_room_for_the_next() {
    let pki = pki(&[b"h2"]);
    let (address, connections) = serve(&pki, 4, || async { full("ok") }).await;
    let upstream = trusting(&pki, address, Some("localhost"));
    for _ in 0..200 {
        assert_eq!(within(text(within(send(&upstream)).await.unwrap())).await, "ok");
    }
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_cancels_reach_the_peer_and_leave_an_innocent_stream_alone() {
    let pki = pki(&[b"h2"]);
    let (gone, mut cancelled) = mpsc::unbounded_channel();
    let (address, connections) = serve(&pki, 250, move || {
        let gone = gone.clone();
        async move { endless(gone) }
    })
    .await;
    let upstream = trusting(&pki, address, Some("localhost"));
    let mut innocent = within(send(&upstream)).await.unwrap();
    for _ in 0..25 {
        drop(within(join_all((0..40).map(|_| send(&upstream)))).await);
        for _ in 0..40 {
            within(cancelled.recv()).await.unwrap();
        }
    }
    let frame = within(innocent.body.frame()).await.unwrap();
    assert_eq!(frame.unwrap().into_data().unwrap(), "data: 1\n\n");
    let quiet = tokio::time::timeout(std::time::Duration::from_millis(50), innocent.body.frame()).await;
    assert!(quiet.is_err(), "the innocent stream ended: {quiet:?}");
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_private_ca_is_trusted_only_for_its_route_and_only_for_its_name() {
    let pki = pki(&[b"h2"]);
    let (address, _) = serve(&pki, 10, || async { full("ok") }).await;
    let good = trusting(&pki, address, Some("localhost"));
    assert_eq!(text(within(send(&good)).await.unwrap()).await, "ok");
    let wrong_name = within(send(&trusting(&pki, address, Some("api.example.com")))).await.unwrap_err();
    let no_ca = upstream(&route(&format!("https://localhost:{}", address.port())), None);
    let unknown_ca = within(send(&no_ca)).await.unwrap_err();
    for error in [wrong_name, unknown_ca] {
        assert!(matches!(error, UpstreamError::Tls { .. }) && !error.sent(), "{error:?}");
    }
}

#[tokio::test]
async fn a_certificate_that_has_expired_is_refused_before_anything_is_sent() {
    let pki = pki_until(&[b"h2"], 2020);
    let (address, connections) = serve(&pki, 100, || async { full("ok") }).await;
    let error = within(send(&trusting(&pki, address, Some("localhost")))).await.unwrap_err();
    assert!(matches!(error, UpstreamError::Tls { .. }) && !error.sent(), "{error:?}");
    assert!(error.to_string().contains("expired"), "{error}");
    assert_eq!(connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_connection_that_the_peer_says_goodbye_on_is_replaced_without_an_error() {
    let pki = pki(&[b"h2"]);
    let (listener, address) = listen().await;
    let acceptor = TlsAcceptor::from(pki.server.clone());
    tokio::spawn(async move {
        loop {
            let socket = acceptor.accept(listener.accept().await.unwrap().0).await.unwrap();
            let answered = Arc::new(tokio::sync::Notify::new());
            let told = answered.clone();
            let service = service_fn(move |_| {
                told.notify_one();
                async { Ok::<_, std::convert::Infallible>(Response::new(full("ok"))) }
            });
            let connection =
                http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(socket), service);
            tokio::spawn(async move {
                tokio::pin!(connection);
                tokio::select! {
                    _ = &mut connection => return,
                    () = answered.notified() => connection.as_mut().graceful_shutdown(),
                }
                let _ = connection.await;
            });
        }
    });
    let upstream = trusting(&pki, address, Some("localhost"));
    for _ in 0..20 {
        assert_eq!(text(within(send(&upstream)).await.unwrap()).await, "ok");
    }
}

/// Chaos found it: a lost connection took its streams along, and each of them was sent and run again, unasked and unbooked.
#[tokio::test]
async fn a_request_whose_connection_is_lost_may_have_run_and_is_not_sent_again() {
    let pki = pki(&[b"h2"]);
    let (listener, address) = listen().await;
    let acceptor = TlsAcceptor::from(pki.server.clone());
    let seen = Arc::new(AtomicUsize::new(0));
    let count = seen.clone();
    tokio::spawn(async move {
        loop {
            let socket = acceptor.accept(listener.accept().await.unwrap().0).await.unwrap();
            let lost = Arc::new(tokio::sync::Notify::new());
            let (count, lose) = (count.clone(), lost.clone());
            let service = service_fn(move |_| {
                let number = count.fetch_add(1, Ordering::SeqCst);
                let lose = lose.clone();
                async move {
                    if number > 0 {
                        lose.notify_one();
                        std::future::pending::<()>().await;
                    }
                    Ok::<_, std::convert::Infallible>(Response::new(full("ok")))
                }
            });
            let connection =
                http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(socket), service);
            tokio::spawn(async move {
                tokio::select! {
                    _ = connection => {}
                    () = lost.notified() => {}
                }
            });
        }
    });
    let upstream = trusting(&pki, address, Some("localhost"));
    assert_eq!(text(within(send(&upstream)).await.unwrap()).await, "ok");
    let error = within(send(&upstream)).await.unwrap_err();
    assert!(error.sent(), "{error:?}");
    assert_eq!(seen.load(Ordering::SeqCst), 2);
}
