//! TLS on the traffic port: who is served with which certificate, and what a broken pair changes.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use hedgerow_config::{GatewayConfig, settings::ServingTls, state::CertificateState};
use hedgerow_gateway::{
    app::{App, Options, Running},
    front::server::Limits,
};
use http::{Request, Version};
use http_body_util::{BodyExt as _, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use rustls::{ClientConfig, ProtocolVersion, RootCertStore, crypto::ring, pki_types::ServerName};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::{get, peer::route, within};

const LISTING: &str = "GET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n";

/// A gateway with a certificate from an authority of its own.
struct Stand {
    running: Running,
    directory: TempDir,
    authority: CertifiedIssuer<'static, KeyPair>,
}

/// Chain and key, PEM.
type Pair = (String, String);

impl Stand {
    fn authority() -> CertifiedIssuer<'static, KeyPair> {
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap()
    }

    /// A gateway that waits for its certificate.
    async fn waiting(limits: Limits) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let text = br#"{"schema":"hedgerow.dev/gateway/v1","fleet":{"namespace":"local","name":"default"}}"#;
        let mut config = GatewayConfig::read(text).unwrap();
        config.routes.push(route("http://provider.test"));
        config.settings.tls = Some(ServingTls { secret_name: "cert".to_owned() });
        fs::write(directory.path().join("gateway.json"), config.write()).unwrap();
        let options = Options { limits, ..Options::local(directory.path().to_owned()) };
        let running = App::start(options).await.unwrap();
        Self { running, directory, authority: Self::authority() }
    }

    /// A gateway that serves a first certificate.
    async fn start(limits: Limits) -> Self {
        let stand = Self::waiting(limits).await;
        stand.mount("1", Some(&stand.pair()));
        within(stand.running.ready()).await;
        stand
    }

    fn secret(&self) -> PathBuf {
        self.directory.path().join("secrets/cert")
    }

    fn pair(&self) -> Pair {
        let key = KeyPair::generate().unwrap();
        let names = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        (names.signed_by(&key, &self.authority).unwrap().pem(), key.serialize_pem())
    }

    /// Mounts a version of the Secret as the kubelet does: a folder of its own, then one swap of a link.
    fn mount(&self, version: &str, pair: Option<&Pair>) {
        use std::os::unix::fs::symlink;
        let secret = self.secret();
        let folder = secret.join(format!("..{version}"));
        fs::create_dir_all(&folder).unwrap();
        if let Some((chain, key)) = pair {
            fs::write(folder.join("tls.crt"), chain).unwrap();
            fs::write(folder.join("tls.key"), key).unwrap();
        }
        symlink(format!("..{version}"), secret.join("..tmp")).unwrap();
        fs::rename(secret.join("..tmp"), secret.join("..data")).unwrap();
        for key in ["tls.crt", "tls.key"] {
            if !link(&secret, key) {
                symlink(format!("..data/{key}"), secret.join(key)).unwrap();
            }
        }
    }

    fn client(&self, alpn: &[&[u8]], versions: &[&'static rustls::SupportedProtocolVersion]) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.der().clone()).unwrap();
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        TlsConnector::from(Arc::new(config))
    }

    /// A new connection, and the fingerprint-free identity of who answered: its certificate.
    async fn connect(&self) -> (TlsStream<TcpStream>, Vec<u8>) {
        let connector = self.client(&[b"http/1.1"], rustls::ALL_VERSIONS);
        let socket = TcpStream::connect(self.running.address).await.unwrap();
        let stream = within(connector.connect(localhost(), socket)).await.unwrap();
        let served = stream.get_ref().1.peer_certificates().unwrap()[0].to_vec();
        (stream, served)
    }

    fn report(&self) -> CertificateState {
        self.running.runtime.state().certificate.unwrap()
    }

    /// Waits until the report is as it should be.
    async fn until(&self, holds: impl Fn(&CertificateState) -> bool) -> CertificateState {
        within(async {
            loop {
                let report = self.report();
                if holds(&report) {
                    return report;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await
    }
}

fn link(folder: &Path, name: &str) -> bool {
    fs::symlink_metadata(folder.join(name)).is_ok()
}

fn localhost() -> ServerName<'static> {
    ServerName::try_from("localhost").unwrap()
}

/// Asks for the models on a connection that is kept.
async fn ask(stream: &mut TlsStream<TcpStream>) -> String {
    within(try_ask(stream)).await.expect("an answer")
}

/// The same; `None` where the port closes the connection first.
async fn try_ask(stream: &mut TlsStream<TcpStream>) -> Option<String> {
    stream.write_all(LISTING.as_bytes()).await.ok()?;
    let mut seen = String::new();
    while !whole(&seen) {
        let mut part = [0; 4096];
        let read = stream.read(&mut part).await.ok().filter(|read| *read > 0)?;
        seen.push_str(&String::from_utf8_lossy(&part[..read]));
    }
    Some(seen)
}

/// Whether an answer with a content-length is there.
fn whole(answer: &str) -> bool {
    let Some((head, body)) = answer.split_once("\r\n\r\n") else { return false };
    head.lines().any(|line| line.strip_prefix("content-length: ") == Some(&body.len().to_string()))
}

#[tokio::test]
async fn one_port_speaks_both_protocols_in_both_versions_of_tls() {
    let stand = Stand::start(Limits::default()).await;
    for versions in [&[&rustls::version::TLS12], &[&rustls::version::TLS13]] {
        let connector = stand.client(&[b"h2"], versions);
        let socket = TcpStream::connect(stand.running.address).await.unwrap();
        let stream = within(connector.connect(localhost(), socket)).await.unwrap();
        let (mut sender, connection) = hyper::client::conn::http2::Builder::new(TokioExecutor::new())
            .handshake::<_, Empty<Bytes>>(TokioIo::new(stream))
            .await
            .unwrap();
        let connection = tokio::spawn(connection);
        let request = Request::get("https://localhost/v1/models").body(Empty::new()).unwrap();
        let answer = within(sender.send_request(request)).await.unwrap();
        assert_eq!((answer.status().as_u16(), answer.version()), (200, Version::HTTP_2));
        within(answer.into_body().collect()).await.unwrap();
        connection.abort();

        let connector = stand.client(&[], versions);
        let socket = TcpStream::connect(stand.running.address).await.unwrap();
        let mut stream = within(connector.connect(localhost(), socket)).await.unwrap();
        let tls12 = stream.get_ref().1.protocol_version() == Some(ProtocolVersion::TLSv1_2);
        assert_eq!(tls12, versions[0].version == ProtocolVersion::TLSv1_2);
        let answer = ask(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "a client that asks for no protocol: {answer}");
    }
}

#[tokio::test]
async fn a_client_that_speaks_plain_http_is_told_to_write_https() {
    let stand = Stand::start(Limits::default()).await;
    let mut socket = TcpStream::connect(stand.running.address).await.unwrap();
    socket.write_all(LISTING.as_bytes()).await.unwrap();
    let mut text = String::new();
    within(socket.read_to_string(&mut text)).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 400 ") && text.ends_with("write https in the URL\n"), "{text}");
    let metrics = stand.running.runtime.metrics.encode();
    drop(socket);
    within(async {
        while stand.running.runtime.in_flight().handshakes > 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    assert!(metrics.contains("hedgerow_certificate_unusable 0"), "{metrics}");
    assert!(stand.running.runtime.metrics.encode().contains("hedgerow_handshakes_failed_total 1"));
}

#[tokio::test]
async fn new_connections_get_the_new_certificate_and_old_ones_go_on() {
    let stand = Stand::start(Limits::default()).await;
    let first = stand.report().served;
    let (mut old, one) = stand.connect().await;
    ask(&mut old).await;
    stand.mount("2", Some(&stand.pair()));
    let second = stand.until(|report| report.served != first).await;
    assert_eq!((second.problem.as_str(), second.secret.as_str()), ("", "cert"));
    let (mut new, two) = stand.connect().await;
    assert_ne!(one, two);
    for stream in [&mut new, &mut old] {
        assert!(ask(stream).await.starts_with("HTTP/1.1 200 OK"));
    }
}

#[tokio::test]
async fn a_broken_pair_is_named_and_the_last_good_one_is_served() {
    let stand = Stand::start(Limits::default()).await;
    let first = stand.report();
    let (_, good) = stand.connect().await;
    let ((chain, key), (_, other)) = (stand.pair(), stand.pair());
    let broken = [
        ("key", Some((chain.clone(), other)), "tls.key is not the key"),
        ("text", Some(("no certificate".to_owned(), key.clone())), "holds no certificate in PEM form"),
        ("cut", Some((chain[..60].to_owned(), key.clone())), "is not PEM"),
        ("empty", Some((String::new(), key)), "tls.crt missing or empty"),
        ("gone", None, "tls.crt and tls.key missing or empty"),
    ];
    for (version, pair, says) in broken {
        stand.mount(version, pair.as_ref());
        let report = stand.until(|report| report.problem.contains(says)).await;
        assert_eq!((&report.served, report.since_unix_ms), (&first.served, first.since_unix_ms), "{version}");
        assert!(stand.running.runtime.ready(), "{version}");
        let (mut stream, served) = stand.connect().await;
        assert_eq!(served, good, "{version}");
        ask(&mut stream).await;
        assert!(stand.running.runtime.metrics.encode().contains("hedgerow_certificate_unusable 1"));
    }
    stand.mount("2", Some(&stand.pair()));
    let report = stand.until(|report| report.problem.is_empty()).await;
    assert_ne!(report.served, first.served);
    assert!(stand.running.runtime.metrics.encode().contains("hedgerow_certificate_unusable 0"));
}

#[tokio::test]
async fn before_its_first_good_pair_a_pod_is_not_ready_and_says_why() {
    let stand = Stand::waiting(Limits::default()).await;
    let report = within(async {
        while stand.running.runtime.state().certificate.is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        stand.report()
    })
    .await;
    assert_eq!((report.served.as_str(), report.missing.len()), ("", 2));
    let ready = get(stand.running.admin_address, "/readyz").await;
    assert!(ready.starts_with("HTTP/1.1 503 "), "{ready}");
    assert!(
        ready.ends_with("not ready: no certificate: secrets/cert: tls.crt and tls.key missing or empty\n"),
        "{ready}"
    );
    assert!(TcpStream::connect(stand.running.address).await.is_err(), "nothing is served in plain text");
    // Two plain files, one after the other, as people write them.
    let (chain, key) = stand.pair();
    fs::create_dir_all(stand.secret()).unwrap();
    fs::write(stand.secret().join("tls.crt"), chain).unwrap();
    fs::write(stand.secret().join("tls.key"), key).unwrap();
    within(stand.running.ready()).await;
    assert!(get(stand.running.admin_address, "/readyz").await.starts_with("HTTP/1.1 200 "));
    ask(&mut stand.connect().await.0).await;
}

#[tokio::test]
async fn half_open_handshakes_are_counted_bounded_in_time_and_keep_nobody_out() {
    let limits = Limits { handshakes: 2, handshake_time: Duration::from_millis(400), ..Limits::default() };
    let stand = Stand::start(limits).await;
    let mut half_open = Vec::new();
    for sent in 1..=5 {
        let mut socket = TcpStream::connect(stand.running.address).await.unwrap();
        // The head of a handshake record whose rest does not come; the last one says nothing at all.
        socket.write_all(if sent < 5 { &[22, 3, 1, 2, 0, 1][..] } else { &[] }).await.unwrap();
        half_open.push(socket);
    }
    within(async {
        while stand.running.runtime.in_flight().handshakes < 5 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    // Both places are taken until their time is over: whoever came later is served then, or comes again.
    within(Box::pin(async {
        loop {
            let connector = stand.client(&[], rustls::ALL_VERSIONS);
            let socket = TcpStream::connect(stand.running.address).await.unwrap();
            // Under TLS 1.3 a client is through before the port is: its time may be over in between.
            if let Ok(mut stream) = connector.connect(localhost(), socket).await
                && let Some(answer) = try_ask(&mut stream).await
            {
                return answer;
            }
        }
    }))
    .await;
    within(async {
        while stand.running.runtime.in_flight().handshakes > 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    for mut socket in half_open {
        let mut rest = Vec::new();
        let _ = within(socket.read_to_end(&mut rest)).await;
    }
}
