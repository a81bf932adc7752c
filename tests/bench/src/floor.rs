//! The smallest proxy in the gateway's stack: hyper's server, hyper-util's pooled client, and nothing between them.
//!
//! It reads no body, knows no route, counts nothing. Figures of the gateway are told as multiples of this.

use std::{net::SocketAddr, path::PathBuf};

use anyhow::Context as _;
use http::{Request, Response, Uri, header, uri::Scheme};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo, TokioTimer},
};
use rustls::{ClientConfig, RootCertStore, pki_types::CertificateDer};
use rustls_pki_types::pem::PemObject as _;
use tokio::net::TcpListener;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where to listen.
    #[arg(long)]
    listen: SocketAddr,
    /// Port of the upstream on loopback.
    #[arg(long)]
    upstream: u16,
    /// Speak TLS to it and trust this authority; which protocol, the handshake tells. Else plain HTTP/1.1.
    #[arg(long)]
    ca: Option<PathBuf>,
}

type Upstream = Client<HttpsConnector<HttpConnector>, Incoming>;

/// Serves until the process is ended.
pub(crate) async fn serve(args: Args) -> anyhow::Result<()> {
    let scheme = if args.ca.is_some() { Scheme::HTTPS } else { Scheme::HTTP };
    // The name in the upstream's certificate; it must lead to the address where the upstream listens.
    let host = if args.ca.is_some() { "localhost" } else { "127.0.0.1" };
    let to = Uri::builder()
        .scheme(scheme)
        .authority(format!("{host}:{}", args.upstream))
        .path_and_query("/")
        .build()?;
    let client = upstream(args.ca.as_deref().map(authority).transpose()?);
    let listener = TcpListener::bind(args.listen).await?;
    loop {
        let Ok((socket, _)) = listener.accept().await else { continue };
        socket.set_nodelay(true)?;
        let (client, to) = (client.clone(), to.clone());
        let service = service_fn(move |request| pass(request, client.clone(), to.clone()));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), service));
    }
}

fn upstream(roots: Option<RootCertStore>) -> Upstream {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    connector.enforce_http(false);
    let tls = ClientConfig::builder()
        .with_root_certificates(roots.unwrap_or_else(RootCertStore::empty))
        .with_no_client_auth();
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .enable_all_versions()
        .wrap_connector(connector);
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_max_idle_per_host(4096)
        .build(connector)
}

fn authority(file: &std::path::Path) -> anyhow::Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in
        CertificateDer::pem_file_iter(file).with_context(|| format!("cannot read {}", file.display()))?
    {
        roots.add(certificate?)?;
    }
    Ok(roots)
}

async fn pass(
    mut request: Request<Incoming>,
    client: Upstream,
    to: Uri,
) -> anyhow::Result<Response<Incoming>> {
    let mut parts = to.into_parts();
    parts.path_and_query = request.uri().path_and_query().cloned().or(parts.path_and_query);
    *request.uri_mut() = Uri::from_parts(parts)?;
    // As it came: HTTP/1.1. The client turns it into what the connection speaks.
    for hop in [header::CONNECTION, header::TE, header::TRANSFER_ENCODING, header::HOST] {
        request.headers_mut().remove(hop);
    }
    Ok(client.request(request).await?)
}
