//! The smallest proxy in the gateway's stack: hyper's server, hyper-util's pooled client, and nothing between them.
//!
//! It reads no body, knows no route, counts nothing. Figures of the gateway are told as multiples of this.

use std::net::SocketAddr;

use http::{Request, Response, Uri, header};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo},
};
use tokio::net::TcpListener;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where to listen.
    #[arg(long)]
    listen: SocketAddr,
    /// Where every request goes, in plain HTTP/1.1.
    #[arg(long)]
    upstream: SocketAddr,
}

/// Serves until the process is ended.
pub(crate) async fn serve(args: Args) -> anyhow::Result<()> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Client<_, Incoming> =
        Client::builder(TokioExecutor::new()).pool_max_idle_per_host(4096).build(connector);
    let listener = TcpListener::bind(args.listen).await?;
    loop {
        let Ok((socket, _)) = listener.accept().await else { continue };
        socket.set_nodelay(true)?;
        let client = client.clone();
        let service = service_fn(move |request| pass(request, client.clone(), args.upstream));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), service));
    }
}

async fn pass(
    mut request: Request<Incoming>,
    client: Client<HttpConnector, Incoming>,
    upstream: SocketAddr,
) -> anyhow::Result<Response<Incoming>> {
    let path = request.uri().path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    *request.uri_mut() =
        Uri::builder().scheme("http").authority(upstream.to_string()).path_and_query(path).build()?;
    for hop in [header::CONNECTION, header::TE, header::TRANSFER_ENCODING, header::HOST] {
        request.headers_mut().remove(hop);
    }
    Ok(client.request(request).await?)
}
