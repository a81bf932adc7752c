//! Scripted upstreams and what the tests send to them.

use std::{net::SocketAddr, sync::Arc};

use bytes::Bytes;
use hedgerow_config::Route;
use hedgerow_gateway::upstream::{Setup, Upstream, UpstreamError, UpstreamResponse, UpstreamShared};
use hedgerow_gateway::wire::splice::Segments;
use http::{Request, request};
use http_body_util::BodyExt as _;
use rcgen::{CertifiedIssuer, KeyPair};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

pub async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// A route with all defaults and this endpoint.
pub fn route(endpoint: &str) -> Route {
    serde_json::from_value(serde_json::json!({
        "name": "r", "uid": "u", "api": "OpenAI", "endpoint": endpoint, "auth": {"type": "None"},
        "failureDomain": {"provider": "p", "region": "x"}, "quotaGroup": "r", "models": [{"name": "m"}],
    }))
    .unwrap()
}

pub fn upstream(route: &Route, ca: Option<&str>) -> Arc<Upstream> {
    let shared = UpstreamShared::new().unwrap();
    let setup = Setup { ca: ca.map(str::as_bytes), ..Setup::default() };
    Upstream::new(route, &shared, &setup).unwrap()
}

pub fn head(path: &str) -> request::Parts {
    Request::post(path).header("x-test", "1").body(()).unwrap().into_parts().0
}

pub async fn send(upstream: &Upstream) -> Result<UpstreamResponse, UpstreamError> {
    upstream
        .send(head("/v1/chat/completions"), Segments::from(Bytes::from_static(b"{\"model\":\"m\"}")))
        .await
}

/// Reads an answer to its end.
pub async fn text(response: UpstreamResponse) -> String {
    String::from_utf8(response.body.collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

/// Reads one HTTP/1.1 request with a content-length; `None` at the end of the connection.
pub async fn read_request(socket: &mut TcpStream) -> Option<String> {
    let mut seen = Vec::new();
    loop {
        let mut chunk = [0; 4096];
        let read = socket.read(&mut chunk).await.ok().filter(|read| *read > 0)?;
        seen.extend_from_slice(&chunk[..read]);
        let text = String::from_utf8_lossy(&seen).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
        if body.len() >= length.unwrap_or(0) {
            return Some(text);
        }
    }
}

pub async fn answer(socket: &mut TcpStream, body: &str) {
    let text = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    socket.write_all(text.as_bytes()).await.unwrap();
}

/// Waits until the other side has closed.
pub async fn closed(socket: &mut TcpStream) {
    let mut rest = [0; 4096];
    while matches!(socket.read(&mut rest).await, Ok(read) if read > 0) {}
}

/// A throw-away CA and a server certificate for `localhost` under it.
pub struct Pki {
    pub ca: String,
    pub server: Arc<ServerConfig>,
}

pub fn pki(alpn: &[&[u8]]) -> Pki {
    pki_until(alpn, 4096)
}

/// The same with a certificate that is valid up to the beginning of this year.
pub fn pki_until(alpn: &[&[u8]], year: i32) -> Pki {
    let mut authority = rcgen::CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.not_after = rcgen::date_time_ymd(year, 1, 1);
    let certificate = params.signed_by(&key, &authority).unwrap();
    let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut server = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .unwrap();
    server.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    Pki { ca: authority.pem(), server: Arc::new(server) }
}
