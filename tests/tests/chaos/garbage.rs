//! Clients that send what is no request, on connections of their own.

use std::{net::SocketAddr, time::Duration};

use fastrand::Rng;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::canary::{CLIENT_KEY, PROMPT, USER};

/// Longest wait for an answer that need not come.
const PATIENCE: Duration = Duration::from_millis(200);

/// Sends one piece of garbage. An answer is no success; a provider must never hear of it.
pub async fn send(gateway: SocketAddr, rng: &mut Rng) {
    let mut socket = TcpStream::connect(gateway).await.expect("an open traffic port");
    let post = |headers: &str, body: &str| {
        format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {CLIENT_KEY}-acme\r\n{headers}\r\n\r\n{body}"
        )
    };
    let bytes = match rng.u8(0..9) {
        0 => (0..rng.usize(1..2_000)).map(|_| rng.u8(..)).collect(),
        1 => format!("POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncookie: {USER}").into_bytes(),
        2 => post("content-length: 1000", &format!("{{\"model\":\"m\",\"messages\":\"{PROMPT}")).into_bytes(),
        3 => post("content-length: 20\r\ncontent-length: 21", "{\"model\":\"m\"}").into_bytes(),
        4 => post("content-length: 9\r\ntransfer-encoding: chunked", "0\r\n\r\n").into_bytes(),
        5 => post("content-length: 9", "{\"model\":").into_bytes(),
        6 => post("transfer-encoding: chunked", &format!("zz\r\n{PROMPT}\r\n")).into_bytes(),
        7 => b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\xff\x01garbage".to_vec(),
        _ => post(&format!("x-long: {}", USER.repeat(8_000)), "").into_bytes(),
    };
    // Whoever hangs up in the middle is free to do so.
    let _ = socket.write_all(&bytes).await;
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(PATIENCE, socket.read_to_end(&mut answer)).await;
    assert!(!answer.starts_with(b"HTTP/1.1 2"), "{}", String::from_utf8_lossy(&answer));
}
