//! The fleet's way out: a proxy, what goes around it, and further authorities.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use hedgerow_config::{Route, settings::Egress};
use hedgerow_gateway::upstream::{Setup, Upstream, UpstreamError, UpstreamShared};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy_bidirectional},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::TlsAcceptor;

use crate::{
    peer::{Pki, listen, pki, route, send, text},
    within,
};

/// A proxy that takes every way to `to`, whatever was asked for, and remembers what was.
struct Proxy {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Answers CONNECT with `answer`; over TLS where there is an `acceptor`.
    async fn start(to: SocketAddr, answer: &'static str, acceptor: Option<TlsAcceptor>) -> Self {
        let (listener, address) = listen().await;
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heads = asked.clone();
        tokio::spawn(async move {
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                let (heads, acceptor) = (heads.clone(), acceptor.clone());
                tokio::spawn(async move {
                    match acceptor {
                        None => pass(socket, to, answer, &heads).await,
                        Some(acceptor) => {
                            let Ok(socket) = acceptor.accept(socket).await else { return };
                            pass(socket, to, answer, &heads).await;
                        }
                    }
                });
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

async fn pass<T>(mut socket: T, to: SocketAddr, answer: &str, heads: &Mutex<Vec<String>>)
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = socket.read_u8().await else { return };
        head.push(byte);
    }
    heads.lock().unwrap().push(String::from_utf8(head).unwrap());
    socket.write_all(answer.as_bytes()).await.unwrap();
    if answer.contains(" 200 ") {
        let mut behind = TcpStream::connect(to).await.unwrap();
        let _ = copy_bidirectional(&mut socket, &mut behind).await;
    }
}

const OPEN: &str = "HTTP/1.1 200 Connection established\r\n\r\n";

/// A provider that answers each connection's first request over TLS, HTTP/1.1.
async fn provider(pki: &Pki) -> SocketAddr {
    let (listener, address) = listen().await;
    tokio::spawn(serve(listener, TlsAcceptor::from(pki.server.clone())));
    address
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor) {
    loop {
        let (socket, _) = listener.accept().await.unwrap();
        let Ok(mut socket) = acceptor.accept(socket).await else { continue };
        let mut last = 0;
        while last != b'}' {
            let Ok(byte) = socket.read_u8().await else { break };
            last = byte;
        }
        let _ = socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
    }
}

/// A route to a name that only the proxy knows, whose certificate is that of `localhost`.
fn unknown_name() -> Route {
    let mut route = route("https://provider.example:8443");
    route.tls.server_name = Some("localhost".to_owned());
    route
}

fn upstream(route: &Route, egress: &Egress, further: &str) -> Arc<Upstream> {
    let setup = Setup { egress: Some(egress), further: Some(further.as_bytes()), ..Setup::default() };
    Upstream::new(route, &UpstreamShared::new().unwrap(), &setup).unwrap()
}

fn through(proxy: &str) -> Egress {
    Egress { https_proxy: Some(proxy.to_owned()), ..Egress::default() }
}

#[tokio::test]
async fn an_https_endpoint_is_reached_through_the_proxy_which_sees_host_and_port_only() {
    let pki = pki(&[b"http/1.1"]);
    let proxy = Proxy::start(provider(&pki).await, OPEN, None).await;
    let upstream = upstream(&unknown_name(), &through(&format!("http://{}", proxy.address)), &pki.ca);
    let answer = within(send(&upstream)).await.unwrap();
    assert_eq!(within(text(answer)).await, "ok");
    let asked = "CONNECT provider.example:8443 HTTP/1.1\r\nHost: provider.example:8443\r\n\r\n";
    assert_eq!(proxy.asked(), [asked]);
}

#[tokio::test]
async fn the_way_to_the_proxy_itself_may_be_encrypted() {
    let pki = pki(&[b"http/1.1"]);
    let acceptor = Some(TlsAcceptor::from(pki.server.clone()));
    let proxy = Proxy::start(provider(&pki).await, OPEN, acceptor).await;
    let egress = through(&format!("https://localhost:{}", proxy.address.port()));
    let answer = within(send(&upstream(&unknown_name(), &egress, &pki.ca))).await.unwrap();
    assert_eq!(within(text(answer)).await, "ok");
}

#[tokio::test]
async fn what_no_proxy_names_and_this_machine_are_reached_directly() {
    let pki = pki(&[b"http/1.1"]);
    let address = provider(&pki).await;
    let proxy = Proxy::start(address, OPEN, None).await;
    let mut egress = through(&format!("http://{}", proxy.address));
    let own = route(&format!("https://localhost:{}", address.port()));
    let answer = within(send(&upstream(&own, &egress, &pki.ca))).await.unwrap();
    assert_eq!(within(text(answer)).await, "ok");
    egress.no_proxy = vec!["example:8443".to_owned()];
    let error = within(send(&upstream(&unknown_name(), &egress, &pki.ca))).await.unwrap_err();
    assert!(matches!(error, UpstreamError::Resolve { .. }), "asked for directly: {error:?}");
    assert_eq!(proxy.asked(), [""; 0]);
}

#[tokio::test]
async fn a_proxy_that_refuses_or_is_not_there_is_named() {
    let pki = pki(&[b"http/1.1"]);
    let to = provider(&pki).await;
    for (answer, says) in [
        (
            "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 2\r\n\r\nno",
            "407 Proxy Authentication",
        ),
        ("HTTP/1.1 403 Forbidden\r\n\r\n", "403 Forbidden"),
        ("SSH-2.0-x\r\n\r\n", "does not answer CONNECT in HTTP"),
        ("HTTP/1.1 200 OK\r\n\r\nsurprise", "does not answer CONNECT in HTTP"),
        ("", "closed the connection"),
    ] {
        let proxy = Proxy::start(to, answer, None).await;
        let upstream = upstream(&unknown_name(), &through(&format!("http://{}", proxy.address)), &pki.ca);
        let error = within(send(&upstream)).await.unwrap_err();
        assert!(!error.sent() && error.as_str() == "proxy", "{error:?}");
        let error = error.to_string();
        assert!(error.contains(says) && error.contains(&proxy.address.to_string()), "{answer:?}: {error}");
        assert!(error.contains("provider.example"), "{error}");
    }
    let (listener, gone) = listen().await;
    drop(listener);
    let upstream = upstream(&unknown_name(), &through(&format!("http://{gone}")), &pki.ca);
    let error = within(send(&upstream)).await.unwrap_err().to_string();
    assert!(error.contains(&format!("no way through proxy {gone} to provider.example")), "{error}");
}

#[tokio::test]
async fn an_address_that_no_provider_has_is_refused_before_the_proxy_is_asked() {
    let pki = pki(&[b"http/1.1"]);
    let proxy = Proxy::start(provider(&pki).await, OPEN, None).await;
    let egress = through(&format!("http://{}", proxy.address));
    let error =
        within(send(&upstream(&route("https://169.254.169.254"), &egress, &pki.ca))).await.unwrap_err();
    assert!(error.to_string().contains("not an address of a provider"), "{error}");
    assert_eq!(proxy.asked(), [""; 0]);
}

#[tokio::test]
async fn a_provider_behind_the_proxy_that_nobody_vouches_for_is_refused_by_name_of_both() {
    let (theirs, ours) = (pki(&[b"http/1.1"]), pki(&[b"http/1.1"]));
    let proxy = Proxy::start(provider(&theirs).await, OPEN, None).await;
    let upstream = upstream(&unknown_name(), &through(&format!("http://{}", proxy.address)), &ours.ca);
    let error = within(send(&upstream)).await.unwrap_err();
    assert!(matches!(error, UpstreamError::Tls { .. }), "{error:?}");
    let said = format!("provider.example through proxy {}", proxy.address);
    assert!(error.to_string().contains(&said), "{error}");
}

#[tokio::test]
async fn a_collector_of_traces_is_reached_as_a_provider_is() {
    let (ours, theirs) = (pki(&[b"http/1.1"]), pki(&[b"http/1.1"]));
    let address = provider(&ours).await;
    let shared = UpstreamShared::new().unwrap();
    let endpoint = format!("https://localhost:{}", address.port());
    let to = |endpoint: &str, egress: &Egress, further: &Pki| {
        let setup = Setup { egress: Some(egress), further: Some(further.ca.as_bytes()), ..Setup::default() };
        Upstream::collector(endpoint, &shared, &setup).unwrap()
    };
    let direct = Egress::default();
    let answer = within(send(&to(&endpoint, &direct, &ours))).await.unwrap();
    assert_eq!(within(text(answer)).await, "ok");
    let error = within(send(&to(&endpoint, &direct, &theirs))).await.unwrap_err();
    assert!(matches!(error, UpstreamError::Tls { .. }), "{error:?}");
    let error = within(send(&to("http://169.254.169.254:4318", &direct, &ours))).await.unwrap_err();
    assert!(matches!(error, UpstreamError::AddressRefused { .. }), "{error:?}");
    let proxy = Proxy::start(address, OPEN, None).await;
    let through = through(&format!("http://{}", proxy.address));
    // The certificate is that of `localhost`: the way is open, and who is at its end is checked.
    let error = within(send(&to("https://otel.example:4318", &through, &ours))).await.unwrap_err();
    assert!(matches!(error, UpstreamError::Tls { .. }), "{error:?}");
    assert_eq!(proxy.asked().len(), 1);
}
