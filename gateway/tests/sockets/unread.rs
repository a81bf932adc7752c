//! Answers that nobody reads for now, on a connection with others (experiment E5: with default windows the third of them
//! stalled every other stream of its connection).

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};

use crate::{
    peer::{pki, send},
    upstream_http2::{serve, trusting},
    within,
};

/// Four times the window of a stream.
const LARGE: usize = 1024 * 1024;
/// With the reader, all streams that a connection carries.
const UNREAD: usize = 63;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unread_streams_stall_nobody_on_their_connection() {
    let pki = pki(&[b"h2"]);
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let (address, connections) = serve(&pki, 250, move || {
        let number = count.fetch_add(1, Ordering::SeqCst);
        async move { Full::new(Bytes::from(vec![number as u8; LARGE])).boxed_unsync() }
    })
    .await;
    let upstream = trusting(&pki, address, Some("localhost"));
    let mut unread = Vec::new();
    for _ in 0..UNREAD {
        unread.push(within(send(&upstream)).await.unwrap());
    }
    let read = within(send(&upstream)).await.unwrap();
    let whole = within(read.body.collect()).await.unwrap().to_bytes();
    assert_eq!(whole.len(), LARGE);
    assert_eq!(connections.load(Ordering::SeqCst), 1, "all of them share a connection");
    for answer in unread {
        let late = within(answer.body.collect()).await.unwrap().to_bytes();
        assert_eq!(late.len(), LARGE, "whoever reads later misses nothing");
    }
}
