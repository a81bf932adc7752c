//! Certificate authorities, from mounted files.
//!
//! Input: the bytes of a PEM file. Output: what it trusts, or why it cannot be used. Invariant: a file that is partly
//! unusable is not used at all, because a missing authority shows later and elsewhere. Refuses: an empty set.

use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, pem::PemObject as _},
};

/// The authorities of a file.
///
/// # Errors
/// Not PEM, a certificate that cannot be read, or none at all.
pub fn read(pem: &[u8]) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    if roots.is_empty() { Err("no certificate in PEM form found".to_owned()) } else { Ok(roots) }
}
