//! The fleet's proxy before an `https` endpoint.
//!
//! Inputs: `egress.httpsProxy` and `egress.noProxy`, an endpoint, a socket to the proxy. Output: the same socket, whose other
//! end is the endpoint from then on (CONNECT, RFC 9110, 9.3.6). Invariants: keys and prompts are inside the endpoint's own
//! TLS, so the proxy sees host and port only; an endpoint that is written as an address is checked as without a proxy; a name
//! is resolved by the proxy, whose rules then decide what may be reached. Refuses: credentials for the proxy, and endpoints in
//! plain HTTP, which go directly.

use std::{io, net::IpAddr};

use hedgerow_policy::bypass::Bypass;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::{
    Setup, address,
    endpoint::{Endpoint, Host},
    error::SetupError,
    tls::{self, Roots, Tls},
};

/// Longest answer to CONNECT.
const LONGEST_HEAD: usize = 8 * 1024;
/// Most of a status line that is repeated in messages.
const LONGEST_LINE: usize = 120;

/// Stands before an endpoint.
pub(super) struct Proxy {
    pub endpoint: Endpoint,
    /// Of the connection to the proxy itself.
    pub tls: Option<Tls>,
}

/// Why the proxy opens no way.
#[derive(Debug, thiserror::Error)]
pub(super) enum Shut {
    #[error("{0} is not an address of a provider")]
    Address(IpAddr),
    #[error("it answered {0:?} to CONNECT")]
    Refused(String),
    #[error("it does not answer CONNECT in HTTP")]
    Foreign,
    #[error("it closed the connection instead of answering CONNECT")]
    Silent,
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Proxy {
    /// What stands before `endpoint`; `None` = nothing.
    pub(super) fn before(
        endpoint: &Endpoint,
        roots: &Roots,
        setup: &Setup<'_>,
    ) -> Result<Option<Self>, SetupError> {
        let Some((written, egress)) =
            setup.egress.and_then(|egress| Some((egress.https_proxy.as_ref()?, egress)))
        else {
            return Ok(None);
        };
        // Entries that say nothing are named in the fleet's status.
        let (bypass, _) = Bypass::read(&egress.no_proxy);
        if !endpoint.tls() || bypass.takes(&endpoint.host.to_string(), endpoint.port) {
            return Ok(None);
        }
        let proxy = Endpoint::parse(written)
            .map_err(|error| SetupError::Proxy { proxy: written.clone(), problem: error.to_string() })?;
        let tls = if proxy.tls() { Some(tls::of_proxy(&proxy, roots, setup)?) } else { None };
        Ok(Some(Self { endpoint: proxy, tls }))
    }

    /// Asks for the way to `endpoint` on a connection to the proxy.
    pub(super) async fn open<T>(&self, mut socket: T, endpoint: &Endpoint) -> Result<T, Shut>
    where
        T: AsyncRead + AsyncWrite + Unpin,
    {
        let host = match &endpoint.host {
            Host::Address(refused) if !address::allowed(*refused) => return Err(Shut::Address(*refused)),
            Host::Address(IpAddr::V6(address)) => format!("[{address}]"),
            host => host.to_string(),
        };
        let target = format!("{host}:{}", endpoint.port);
        let asked = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
        socket.write_all(asked.as_bytes()).await?;
        socket.flush().await?;
        let (head, more) = read_head(&mut socket).await?;
        let line = head.split("\r\n").next().unwrap_or_default();
        let status = line.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1));
        match status.map(str::as_bytes) {
            Some([b'2', _, _]) if !more => Ok(socket),
            Some([b'2', _, _]) => Err(Shut::Foreign),
            Some([_, _, _]) => Err(Shut::Refused(line.chars().take(LONGEST_LINE).collect())),
            _ => Err(Shut::Foreign),
        }
    }
}

/// Reads up to the empty line, and whether more came with it: behind an open way that is wrong, because the server at the
/// other end does not speak first; behind a refusal it is a body, which nobody reads.
async fn read_head(socket: &mut (impl AsyncRead + Unpin)) -> Result<(String, bool), Shut> {
    let (mut head, mut chunk) = (Vec::new(), [0; 1024]);
    loop {
        let read = socket.read(&mut chunk).await?;
        if read == 0 {
            return Err(Shut::Silent);
        }
        head.extend_from_slice(&chunk[..read]);
        if let Some(end) = head.windows(4).position(|window| window == b"\r\n\r\n") {
            let more = head.len() > end + 4;
            head.truncate(end);
            return String::from_utf8(head).map(|head| (head, more)).map_err(|_| Shut::Foreign);
        }
        if head.len() >= LONGEST_HEAD {
            return Err(Shut::Foreign);
        }
    }
}
