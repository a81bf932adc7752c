//! Throw-away certificates: an authority that lives as long as the process, and one server certificate for
//! `localhost` and the loopback addresses. ALPN offers h2, then HTTP/1.1, as the vendors do.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer};

/// Why a certificate could not be made.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// Key generation or signing failed.
    #[error("cannot make a throw-away certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// The TLS library refused what was made.
    #[error("cannot use the throw-away certificate: {0}")]
    Config(#[from] rustls::Error),
}

/// A server configuration and what its clients have to trust.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) server: Arc<ServerConfig>,
    /// The authority's certificate, PEM.
    pub(crate) ca_pem: String,
}

impl Identity {
    pub(crate) fn new() -> Result<Self, TlsError> {
        let mut authority = CertificateParams::new(Vec::new())?;
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
        let key = KeyPair::generate()?;
        let names: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
        let leaf = CertificateParams::new(names)?.signed_by(&key, &authority)?;
        let key = PrivateKeyDer::try_from(key.serialize_der())
            .map_err(|reason| rustls::Error::General(reason.into()))?;
        let mut server = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], key)?;
        server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { server: Arc::new(server), ca_pem: authority.pem() })
    }
}
