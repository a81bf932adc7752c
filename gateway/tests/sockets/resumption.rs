//! TLS sessions towards an upstream that speaks HTTP/1.1: a cancelled answer takes its connection along, and the next one
//! must not cost a whole handshake.

use std::{net::SocketAddr, sync::Arc};

use futures_util::future::join_all;
use hedgerow_config::route::SecretKey;
use hedgerow_gateway::upstream::Upstream;
use rustls::HandshakeKind;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::mpsc,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use crate::{
    peer::{Pki, listen, pki, route, send, upstream},
    within,
};

/// Hedges that are cancelled at the same time.
const AT_ONCE: usize = 24;

/// A provider that begins each answer and never ends it; tells how each handshake went, once its connection is closed.
async fn endless(pki: &Pki) -> (SocketAddr, mpsc::UnboundedReceiver<HandshakeKind>) {
    let (listener, address) = listen().await;
    let (told, handshakes) = mpsc::unbounded_channel();
    let acceptor = TlsAcceptor::from(pki.server.clone());
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            let (acceptor, told) = (acceptor.clone(), told.clone());
            tokio::spawn(async move {
                let mut socket = acceptor.accept(socket).await.unwrap();
                let kind = socket.get_ref().1.handshake_kind().unwrap();
                begin_and_wait(&mut socket).await;
                let _ = told.send(kind);
            });
        }
    });
    (address, handshakes)
}

/// Answers the request with a beginning, then waits until the other side has closed.
async fn begin_and_wait(socket: &mut TlsStream<TcpStream>) {
    let mut seen = [0; 4096];
    let mut begun = false;
    while matches!(socket.read(&mut seen).await, Ok(read) if read > 0) {
        if !begun {
            let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n";
            begun = socket.write_all(head).await.is_ok();
        }
    }
}

fn trusting(pki: &Pki, address: SocketAddr) -> Arc<Upstream> {
    let mut route = route(&format!("https://localhost:{}", address.port()));
    route.tls.ca = Some(SecretKey { name: "ca".to_owned(), key: "pem".to_owned() });
    upstream(&route, Some(&pki.ca))
}

#[tokio::test]
async fn connections_after_a_burst_of_cancelled_attempts_resume_the_sessions_of_those() {
    let pki = pki(&[b"http/1.1"]);
    let (address, mut handshakes) = endless(&pki).await;
    let upstream = trusting(&pki, address);
    let mut resumed = 0;
    for _ in 0..2 {
        drop(within(join_all((0..AT_ONCE).map(|_| send(&upstream)))).await);
        resumed = 0;
        for _ in 0..AT_ONCE {
            let kind = within(handshakes.recv()).await.unwrap();
            resumed += usize::from(kind == HandshakeKind::Resumed);
        }
    }
    assert_eq!(resumed, AT_ONCE, "of the second burst");
}
