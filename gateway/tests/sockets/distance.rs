//! Cancels towards a provider that is far away (experiment E4).
//!
//! Resets cross answers that are already on their way; h2 by default counts each such frame against the connection and
//! closes it after 1,024, with everything on it: bursts of 200 cancels at 50 ms killed all twenty innocent streams.

use std::{net::SocketAddr, sync::atomic::Ordering, time::Duration};

use bytes::Bytes;
use futures_util::future::join_all;
use http_body_util::BodyExt as _;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpStream,
    sync::mpsc,
    time::{Instant, sleep_until, timeout},
};

use crate::{
    peer::{listen, pki, send},
    upstream_http2::{endless, serve, trusting},
    within,
};

/// One way of 50 ms there and back.
const ONE_WAY: Duration = Duration::from_millis(25);
const BURST: usize = 200;
const BURSTS: usize = 10;
const INNOCENT: usize = 20;

/// A way to `address` that takes its time, in order and without loss.
async fn far(address: SocketAddr) -> SocketAddr {
    let (listener, here) = listen().await;
    tokio::spawn(async move {
        loop {
            let near = listener.accept().await.unwrap().0;
            let there = TcpStream::connect(address).await.unwrap();
            near.set_nodelay(true).unwrap();
            there.set_nodelay(true).unwrap();
            let (near_reads, near_writes) = near.into_split();
            let (there_reads, there_writes) = there.into_split();
            carry(near_reads, there_writes);
            carry(there_reads, near_writes);
        }
    });
    here
}

#[expect(clippy::disallowed_methods, reason = "distance is real time here")]
fn carry(
    mut from: impl AsyncRead + Unpin + Send + 'static,
    mut to: impl AsyncWrite + Unpin + Send + 'static,
) {
    let (sends, mut arrives) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    tokio::spawn(async move {
        let mut part = vec![0; 65_536];
        while let Ok(read @ 1..) = from.read(&mut part).await {
            if sends.send((Instant::now() + ONE_WAY, part[..read].to_vec())).is_err() {
                return;
            }
        }
    });
    tokio::spawn(async move {
        while let Some((at, bytes)) = arrives.recv().await {
            sleep_until(at).await;
            if to.write_all(&bytes).await.is_err() {
                return;
            }
        }
        let _ = to.shutdown().await;
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_thousand_cancels_at_fifty_milliseconds_kill_no_innocent_stream() {
    let pki = pki(&[b"h2"]);
    let (gone, mut cancelled) = mpsc::unbounded_channel();
    let (address, connections) = serve(&pki, 250, move || {
        let gone = gone.clone();
        async move { endless(gone) }
    })
    .await;
    let upstream = trusting(&pki, far(address).await, Some("localhost"));
    let mut innocent = within(join_all((0..INNOCENT).map(|_| send(&upstream)))).await;
    for burst in 0..BURSTS {
        let asked = within(join_all((0..BURST).map(|_| send(&upstream)))).await;
        assert!(asked.iter().all(Result::is_ok), "burst {burst}: a connection had died");
        drop(asked);
        for _ in 0..BURST {
            within(cancelled.recv()).await.unwrap();
        }
    }
    let opened = connections.load(Ordering::SeqCst);
    for stream in &mut innocent {
        let body = &mut stream.as_mut().unwrap().body;
        let first = within(body.frame()).await.unwrap().unwrap();
        assert_eq!(first.into_data().unwrap(), Bytes::from_static(b"data: 1\n\n"));
        assert!(timeout(Duration::from_millis(5), body.frame()).await.is_err(), "an innocent stream ended");
    }
    assert!(opened <= 8, "{opened} connections for at most {} streams at once", BURST + INNOCENT);
}
