//! An upstream that costs little: it reads a request, forgets it, and answers what two headers say.
//!
//! `x-bench-events: N` asks for a stream of N events, `x-bench-gap-ms: M` for M ms between them; without the first it is
//! one document of about 1 KB. `--first-ms` holds every answer back, as a slow provider does.

use std::{convert::Infallible, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context as _;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, Request, Response, header};
use http_body::Frame;
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    body::Incoming,
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer};
use serde_json::json;
use tokio::{
    net::{TcpListener, TcpStream},
    time::sleep,
};
use tokio_rustls::TlsAcceptor;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where to listen.
    #[arg(long)]
    listen: SocketAddr,
    /// TLS with a throw-away certificate for `localhost`, offering this protocol.
    #[arg(long, value_name = "h2|http/1.1", requires = "ca_out")]
    alpn: Option<String>,
    /// Write the authority to trust into this file.
    #[arg(long)]
    ca_out: Option<PathBuf>,
    /// Milliseconds before every answer.
    #[arg(long, default_value_t = 0)]
    first_ms: u64,
}

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Serves until the process is ended.
pub(crate) async fn serve(args: Args) -> anyhow::Result<()> {
    let acceptor = match (&args.alpn, &args.ca_out) {
        (Some(alpn), Some(path)) => {
            let (server, authority) = identity(alpn.as_bytes())?;
            std::fs::write(path, authority).with_context(|| format!("cannot write {}", path.display()))?;
            Some(TlsAcceptor::from(Arc::new(server)))
        }
        _ => None,
    };
    let answers = Answers { document: document(), first: Duration::from_millis(args.first_ms) };
    let listener = TcpListener::bind(args.listen).await?;
    loop {
        let Ok((socket, _)) = listener.accept().await else { continue };
        socket.set_nodelay(true)?;
        tokio::spawn(connection(socket, acceptor.clone(), answers.clone()));
    }
}

async fn connection(socket: TcpStream, acceptor: Option<TlsAcceptor>, answers: Answers) {
    let service = service_fn(move |request| answers.clone().answer(request));
    // How a connection ends is the proxy's business.
    let Some(acceptor) = acceptor else {
        let _ = http1::Builder::new().serve_connection(TokioIo::new(socket), service).await;
        return;
    };
    let Ok(socket) = acceptor.accept(socket).await else { return };
    if socket.get_ref().1.alpn_protocol() == Some(b"h2") {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.max_concurrent_streams(100).max_pending_accept_reset_streams(4096);
        let _ = builder.serve_connection(TokioIo::new(socket), service).await;
    } else {
        let _ = http1::Builder::new().serve_connection(TokioIo::new(socket), service).await;
    }
}

#[derive(Clone)]
struct Answers {
    document: Bytes,
    first: Duration,
}

impl Answers {
    async fn answer(self, request: Request<Incoming>) -> anyhow::Result<Response<Body>> {
        let (head, mut body) = request.into_parts();
        while let Some(frame) = body.frame().await {
            drop(frame?);
        }
        if !self.first.is_zero() {
            sleep(self.first).await;
        }
        let Some(events) = number(&head.headers, "x-bench-events") else {
            let answer = Response::builder().header(header::CONTENT_TYPE, "application/json");
            return Ok(answer.body(Full::new(self.document).boxed_unsync())?);
        };
        let gap = Duration::from_millis(number(&head.headers, "x-bench-gap-ms").unwrap_or(0));
        let answer = Response::builder().header(header::CONTENT_TYPE, "text/event-stream");
        Ok(answer.body(flow(events, gap).boxed_unsync())?)
    }
}

/// `events` tokens, then the end of a chat stream.
fn flow(events: u64, gap: Duration) -> impl http_body::Body<Data = Bytes, Error = Infallible> {
    StreamBody::new(stream::unfold(0, move |sent| async move {
        if sent > events {
            return None;
        }
        if sent > 0 && !gap.is_zero() {
            sleep(gap).await;
        }
        let text = if sent < events { token() } else { end() };
        Some((Ok(Frame::data(Bytes::from_static(text.as_bytes()))), sent + 1))
    }))
}

const fn token() -> &'static str {
    "data: {\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"bench\",\
     \"choices\":[{\"index\":0,\"delta\":{\"content\":\" hedgerow\"},\"finish_reason\":null}]}\n\n"
}

const fn end() -> &'static str {
    "data: {\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"bench\",\
     \"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
}

fn document() -> Bytes {
    let message = json!({ "role": "assistant", "content": "hedgerow ".repeat(85) });
    let document = json!({
        "id": "chatcmpl-bench", "object": "chat.completion", "created": 1_700_000_000, "model": "bench",
        "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 200, "completion_tokens": 85, "total_tokens": 285 },
    });
    document.to_string().into()
}

fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.parse().ok()
}

/// A server for `localhost` and its authority as PEM.
fn identity(alpn: &[u8]) -> anyhow::Result<(ServerConfig, String)> {
    let mut authority = CertificateParams::new(Vec::new())?;
    // With the name of the leaf OpenSSL, and so nginx, would take the leaf for self-signed.
    authority.distinguished_name.push(DnType::CommonName, "authority of the upstream");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let leaf = CertificateParams::new(vec!["localhost".to_owned()])?.signed_by(&key, &authority)?;
    let key = PrivateKeyDer::try_from(key.serialize_der()).map_err(anyhow::Error::msg)?;
    let mut server = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key)?;
    server.alpn_protocols = vec![alpn.to_vec()];
    // As providers' edges do: tickets that any of their machines can take, not sessions in one's memory.
    server.ticketer = ring::Ticketer::new()?;
    Ok((server, authority.pem()))
}
