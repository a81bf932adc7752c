//! The certificate of the traffic port, from a mounted Secret.
//!
//! Inputs: the values of `tls.crt` and `tls.key`. Output: what TLS handshakes are answered with, or why the pair cannot
//! be used, in words for its author. Invariants: a key that does not belong to the certificate is refused here and not in
//! the first handshake; nothing of the key is in any message. Refuses: to judge names and dates, which only clients can.
//!
//! TLS 1.2 and 1.3 on ring; ALPN offers h2, then HTTP/1.1. Tickets are stateless and end with the certificate that they
//! were made under: a client that comes back after a change is shown the new one.

use std::sync::Arc;

use hedgerow_config::settings::{CERTIFICATE_KEY, PRIVATE_KEY};
use rustls::{
    Error, InconsistentKeys, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use sha2::{Digest as _, Sha256};

use super::Secret;

/// ALPN name of HTTP/2.
pub const H2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";

/// A pair that can be served.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// Answers handshakes.
    pub server: Arc<ServerConfig>,
    /// SHA-256 of the first certificate, first 16 hex digits.
    pub fingerprint: String,
}

/// Why a pair cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Unusable {
    /// Keys of the Secret that are missing or empty.
    pub missing: Vec<String>,
    /// A sentence.
    pub message: String,
}

impl Unusable {
    fn because(message: impl Into<String>) -> Self {
        Self { missing: Vec::new(), message: message.into() }
    }
}

/// Makes a server of what is mounted.
///
/// # Errors
/// A value is missing or not PEM, or the key is not that of the certificate.
pub fn read(chain: Option<&Secret>, key: Option<&Secret>) -> Result<Certificate, Unusable> {
    let (Some(chain), Some(key)) = (chain, key) else {
        let missing: Vec<_> = [(CERTIFICATE_KEY, chain), (PRIVATE_KEY, key)]
            .into_iter()
            .filter(|(_, value)| value.is_none())
            .map(|(name, _)| name.to_owned())
            .collect();
        let message = format!("{} missing or empty", missing.join(" and "));
        return Err(Unusable { missing, message });
    };
    let chain = CertificateDer::pem_slice_iter(chain.bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| Unusable::because(format!("{CERTIFICATE_KEY} is not PEM: {error}")))?;
    let Some(first) = chain.first() else {
        return Err(Unusable::because(format!("{CERTIFICATE_KEY} holds no certificate in PEM form")));
    };
    let mut start = [0; 8];
    start.copy_from_slice(&Sha256::digest(first)[..8]);
    let fingerprint = format!("{:016x}", u64::from_be_bytes(start));
    // The reader's own error could quote what it read.
    let key = PrivateKeyDer::from_pem_slice(key.bytes())
        .map_err(|_| Unusable::because(format!("{PRIVATE_KEY} holds no private key in PEM form")))?;
    Ok(Certificate { server: server(chain, key)?, fingerprint })
}

fn server(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<Arc<ServerConfig>, Unusable> {
    let said = |error: Error| match error {
        Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => Unusable::because(format!(
            "{PRIVATE_KEY} is not the key of the first certificate in {CERTIFICATE_KEY}"
        )),
        Error::InvalidCertificate(_) => {
            Unusable::because(format!("the first certificate in {CERTIFICATE_KEY} cannot be read: {error}"))
        }
        _ => Unusable::because(error.to_string()),
    };
    let mut server = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(said)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(said)?;
    server.alpn_protocols = vec![H2.to_vec(), HTTP1.to_vec()];
    server.ticketer = ring::Ticketer::new().map_err(said)?;
    Ok(Arc::new(server))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret {
        let place = hedgerow_config::route::SecretKey { name: "s".to_owned(), key: "k".to_owned() };
        Secret::new(&place, text.as_bytes(), 1)
    }

    fn pair() -> (String, String) {
        let rcgen::CertifiedKey { cert, signing_key } =
            rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        (cert.pem(), signing_key.serialize_pem())
    }

    #[test]
    fn a_pair_is_served_with_both_protocols_and_known_by_its_certificate() {
        let ((chain, key), (other, _)) = (pair(), pair());
        let good = read(Some(&secret(&chain)), Some(&secret(&key))).unwrap();
        assert_eq!(good.server.alpn_protocols, [b"h2".to_vec(), b"http/1.1".to_vec()]);
        assert_eq!(good.fingerprint.len(), 16);
        let longer = read(Some(&secret(&(chain + &other))), Some(&secret(&key))).unwrap();
        assert_eq!(longer.fingerprint, good.fingerprint, "the first certificate is the pod's own");
    }

    #[test]
    fn every_broken_pair_says_what_is_wrong_and_nothing_of_the_key() {
        let ((chain, key), (_, other)) = (pair(), pair());
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        for (chain, key, says) in [
            (None, None, "tls.crt and tls.key missing or empty"),
            (Some(chain.as_str()), None, "tls.key missing or empty"),
            (None, Some(key.as_str()), "tls.crt missing or empty"),
            (Some("text"), Some(&key), "tls.crt holds no certificate"),
            (Some("-----BEGIN CERTIFICATE-----\n!"), Some(&key), "tls.crt is not PEM"),
            (Some(broken), Some(&key), "tls.crt cannot be read"),
            (Some(&chain), Some("sk-hidden"), "tls.key holds no private key"),
            (Some(&chain), Some(&chain), "tls.key holds no private key"),
            (Some(&chain), Some(&other), "tls.key is not the key of the first certificate in tls.crt"),
        ] {
            let (chain, key) = (chain.map(secret), key.map(secret));
            let refused = read(chain.as_ref(), key.as_ref()).unwrap_err();
            assert!(refused.message.contains(says), "{says}: {refused}");
            assert_eq!(refused.missing.is_empty(), !says.ends_with("missing or empty"), "{refused:?}");
            assert!(!refused.message.contains("hidden"), "{refused}");
        }
    }
}
