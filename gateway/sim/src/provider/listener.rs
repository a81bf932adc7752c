//! Accepts connections and serves each until it ends or the provider does.
//!
//! Invariant: when [`run`] returns, every socket of the provider is closed.

use std::sync::Arc;

use http::Request;
use hyper::{
    body::Incoming,
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

use super::{
    service,
    socket::Socket,
    state::{State, stopped},
};

/// Runs until the provider is stopped or dropped.
pub(crate) async fn run(listener: TcpListener, tls: Option<TlsAcceptor>, state: Arc<State>) {
    let mut stop = state.stop.clone();
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = stopped(&mut stop) => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection(stream, tls.clone(), Arc::clone(&state)));
                }
                // Out of descriptors, or the peer is gone already: others may still come.
                Err(error) => {
                    tracing::warn!(%error, "cannot accept");
                    tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                }
            },
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn connection(stream: TcpStream, tls: Option<TlsAcceptor>, state: Arc<State>) {
    let mut stop = state.stop.clone();
    state.stats.send_modify(|stats| {
        stats.connections += 1;
        stats.connections_accepted += 1;
    });
    tokio::select! {
        biased;
        () = stopped(&mut stop) => {}
        () = serve(stream, tls, Arc::clone(&state)) => {}
    }
    state.stats.send_modify(|stats| stats.connections -= 1);
}

async fn serve(stream: TcpStream, tls: Option<TlsAcceptor>, state: Arc<State>) {
    // Without it frames wait for acknowledgements; a failure only costs latency.
    let _ = stream.set_nodelay(true);
    let socket = Socket::new(stream, state.stop.clone());
    match tls {
        None => match socket.begins_with_h2().await {
            Ok(h2) => speak(socket, h2, state).await,
            Err(error) => tracing::debug!(%error, "a connection broke before its first byte"),
        },
        Some(acceptor) => match acceptor.accept(socket).await {
            Ok(stream) => {
                let h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                speak(stream, h2, state).await;
            }
            Err(error) => tracing::debug!(%error, "a TLS handshake failed"),
        },
    }
}

async fn speak(io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, h2: bool, state: Arc<State>) {
    let service = service_fn(move |request: Request<Incoming>| service::answer(Arc::clone(&state), request));
    let io = TokioIo::new(io);
    let result = if h2 {
        http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_concurrent_streams(128)
            // Hedging gateways cancel many streams; the library's guards against reset floods would close their
            // connections, which no vendor does.
            .max_pending_accept_reset_streams(4096)
            .max_local_error_reset_streams(None)
            .serve_connection(io, service)
            .await
    } else {
        http1::Builder::new().timer(TokioTimer::new()).serve_connection(io, service).await
    };
    if let Err(error) = result {
        tracing::debug!(%error, "a connection ended early");
    }
}
