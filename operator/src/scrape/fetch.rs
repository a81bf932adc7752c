//! One read of a pod's admin port: `GET /state`, gzip, bounded in time and size.
//!
//! The transport decodes nothing by itself, so that the limit also holds for what a small gzip body unpacks to. No proxy
//! and no redirect: the address is a pod's, and only a pod may answer.

use std::{io::Read as _, net::SocketAddr, time::Duration};

use flate2::read::GzDecoder;
use hedgerow_config::{
    State,
    state::{DigestOnly, SCHEMA},
};
use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING};
use serde::de::DeserializeOwned;

/// Longest read, connecting included.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Largest document after unpacking: twice what a gateway may write.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Reads pods.
#[derive(Clone, Debug)]
pub struct Fetcher {
    client: reqwest::Client,
}

/// Why a pod could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// No answer, or not in time.
    #[error("no answer from {admin} within {}s: {cause}", TIMEOUT.as_secs())]
    Unreachable {
        /// Admin port of the pod.
        admin: SocketAddr,
        /// Innermost cause.
        cause: String,
    },
    /// Another status than 200.
    #[error("{admin} answered {status} to GET /state: is this the admin port of a gateway?")]
    Status {
        /// Admin port of the pod.
        admin: SocketAddr,
        /// Status.
        status: u16,
    },
    /// More than a gateway may say.
    #[error("{admin} sent more than {MAX_BYTES} bytes: the rest was not read")]
    TooLarge {
        /// Admin port of the pod.
        admin: SocketAddr,
    },
    /// Not the document.
    #[error("{admin} sent no readable state: {cause}")]
    Malformed {
        /// Admin port of the pod.
        admin: SocketAddr,
        /// What is wrong with it.
        cause: String,
    },
    /// The client itself could not be set up.
    #[error("http client: {0}")]
    Client(String),
}

impl Fetcher {
    /// A client that keeps one connection per pod.
    pub fn new() -> Result<Self, FetchError> {
        // A second installation is refused and means only that another part of the process was first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        reqwest::Client::builder()
            .timeout(TIMEOUT)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .pool_max_idle_per_host(1)
            .build()
            .map(|client| Self { client })
            .map_err(|error| FetchError::Client(innermost(&error)))
    }

    /// The whole document.
    pub async fn state(&self, admin: SocketAddr) -> Result<State, FetchError> {
        let state: State = self.read(admin, "/state").await?;
        if state.schema == SCHEMA {
            return Ok(state);
        }
        let cause = format!("schema {:?}, this version reads {SCHEMA:?}", state.schema);
        Err(FetchError::Malformed { admin, cause })
    }

    /// Only what configuration is in force.
    pub async fn digest(&self, admin: SocketAddr) -> Result<DigestOnly, FetchError> {
        self.read(admin, "/state?only=digest").await
    }

    async fn read<T: DeserializeOwned>(&self, admin: SocketAddr, path: &str) -> Result<T, FetchError> {
        let unreachable = |error: reqwest::Error| FetchError::Unreachable { admin, cause: innermost(&error) };
        let mut response = self
            .client
            .get(format!("http://{admin}{path}"))
            .header(ACCEPT_ENCODING, "gzip")
            .send()
            .await
            .map_err(unreachable)?;
        if response.status() != reqwest::StatusCode::OK {
            return Err(FetchError::Status { admin, status: response.status().as_u16() });
        }
        let gzip = response.headers().get(CONTENT_ENCODING).is_some_and(|value| value == "gzip");
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            if body.len() + chunk.len() > MAX_BYTES {
                return Err(FetchError::TooLarge { admin });
            }
            body.extend_from_slice(&chunk);
        }
        if gzip {
            body = unpack(admin, &body)?;
        }
        serde_json::from_slice(&body)
            .map_err(|error| FetchError::Malformed { admin, cause: error.to_string() })
    }
}

fn unpack(admin: SocketAddr, packed: &[u8]) -> Result<Vec<u8>, FetchError> {
    let mut plain = Vec::new();
    GzDecoder::new(packed)
        .take(MAX_BYTES as u64 + 1)
        .read_to_end(&mut plain)
        .map_err(|error| FetchError::Malformed { admin, cause: error.to_string() })?;
    if plain.len() > MAX_BYTES { Err(FetchError::TooLarge { admin }) } else { Ok(plain) }
}

/// The cause at the bottom: the outer ones only repeat the address.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::*;

    /// Answers one connection with `head` and `body`, then closes it.
    async fn pod(head: &'static str, body: Vec<u8>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let admin = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = [0; 1024];
            let _ = socket.read(&mut request).await;
            let head = format!("{head}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            let _ = socket.write_all(head.as_bytes()).await;
            let _ = socket.write_all(&body).await;
        });
        admin
    }

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    const GZIP: &str = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip";

    #[tokio::test]
    async fn a_gzip_answer_is_unpacked_and_parsed() {
        let admin = pod(GZIP, gzip(br#"{"digest":"abc","ready":true}"#)).await;
        let answer = Fetcher::new().unwrap().digest(admin).await.unwrap();
        assert!(answer.ready && answer.digest == "abc");
    }

    #[tokio::test]
    async fn a_small_body_that_unpacks_to_too_much_is_refused() {
        let bomb = gzip(&vec![b' '; MAX_BYTES + 1]);
        assert!(bomb.len() < 100_000);
        let admin = pod(GZIP, bomb).await;
        let error = Fetcher::new().unwrap().state(admin).await.unwrap_err();
        assert!(matches!(error, FetchError::TooLarge { .. }), "{error}");
    }

    #[tokio::test]
    async fn what_is_no_state_is_an_error_that_says_so() {
        let fetcher = Fetcher::new().unwrap();
        let html = fetcher.state(pod("HTTP/1.1 200 OK", b"<html>".to_vec()).await).await.unwrap_err();
        assert!(html.to_string().contains("no readable state"), "{html}");
        let missing = fetcher.state(pod("HTTP/1.1 404 Not Found", Vec::new()).await).await.unwrap_err();
        assert!(missing.to_string().contains("admin port"), "{missing}");
        let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let refused = fetcher.state(gone).await.unwrap_err();
        assert!(matches!(refused, FetchError::Unreachable { .. }), "{refused}");
    }
}
