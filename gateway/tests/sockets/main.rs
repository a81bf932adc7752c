//! The gateway's network edges over real sockets on loopback.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails where it stands")]

mod afterwards;
mod authority;
mod bodiless;
mod distance;
mod encrypted;

mod half_bodies;
mod idle_race;
mod lane_records;
mod last_word;
mod leaving;
mod peer;
mod pod;
mod proxied;
mod resumption;
mod stalled;
mod stored;
mod stream_contract;
mod traffic_port;
mod unasked_stream;
mod unread;
mod upstream_http1;
mod upstream_http2;
mod upstream_refusals;
mod vanished;

use std::{future::Future, net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// Nothing here takes longer unless it is broken.
const BOUND: Duration = Duration::from_secs(20);

async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(BOUND, future).await.expect("still waiting after the bound")
}

/// The whole answer to a GET, head and body.
async fn get(address: SocketAddr, path: &str) -> String {
    let mut socket = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    within(socket.read_to_string(&mut text)).await.unwrap();
    text
}
