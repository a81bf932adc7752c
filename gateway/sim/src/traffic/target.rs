//! Where traffic goes: an address, a protocol, and whom to trust.

use std::{net::SocketAddr, sync::Arc};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, InvalidDnsNameError, ServerName, pem::PemObject as _},
};

/// A server that speaks HTTP.
#[derive(Debug, Clone)]
pub struct Target {
    pub(super) addr: SocketAddr,
    pub(super) host: String,
    pub(super) h2: bool,
    pub(super) tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    /// Requests after which an HTTP/1.1 connection is not used again.
    pub(super) uses: u32,
}

/// Why a TLS target cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The certificate is not PEM.
    #[error("the certificate to trust is not PEM: {0}")]
    Pem(#[from] rustls::pki_types::pem::Error),
    /// The certificate cannot be an authority.
    #[error("the certificate cannot be trusted: {0}")]
    Certificate(#[from] rustls::Error),
    /// The name cannot be a server's name.
    #[error("the host is not a server name: {0}")]
    Name(#[from] InvalidDnsNameError),
}

impl Target {
    /// Plain HTTP/1.1.
    pub fn http1(addr: SocketAddr) -> Self {
        Self { addr, host: addr.to_string(), h2: false, tls: None, uses: u32::MAX }
    }

    /// HTTP/1.1 connections carry this many requests at most (at least 1), so that a balancer of connections is asked
    /// again and again.
    #[must_use]
    pub fn requests_per_connection(self, uses: u32) -> Self {
        Self { uses: uses.max(1), ..self }
    }

    /// Plain HTTP/2 with prior knowledge.
    pub fn h2c(addr: SocketAddr) -> Self {
        Self { h2: true, ..Self::http1(addr) }
    }

    /// TLS to `host` at `addr`, trusting only the authority `ca_pem`; ALPN offers h2 or HTTP/1.1.
    ///
    /// # Errors
    /// A certificate or a name that cannot be used.
    pub fn tls(addr: SocketAddr, host: &str, ca_pem: &str, h2: bool) -> Result<Self, TrustError> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(ca_pem.as_bytes())?)?;
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![if h2 { b"h2".to_vec() } else { b"http/1.1".to_vec() }];
        let name = ServerName::try_from(host.to_owned())?;
        let host = format!("{host}:{}", addr.port());
        Ok(Self { host, h2, tls: Some((Arc::new(config), name)), ..Self::http1(addr) })
    }
}
