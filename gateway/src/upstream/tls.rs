//! TLS towards upstreams.
//!
//! Inputs: the machine's CA bundle, a route's private CA and server name. Output: one client configuration per set of
//! roots, which also keeps the session tickets (resumption costs 230 us of client CPU instead of 327,
//! `data-plane-experiments` E6). Invariants: ALPN offers h2, then HTTP/1.1; certificates are always checked; a private
//! CA replaces the bundle instead of joining it. Refuses: any way to switch checks off.

use std::sync::Arc;

use hedgerow_config::Route;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};

use super::{
    endpoint::{Endpoint, Host},
    error::SetupError,
};

/// ALPN name of HTTP/2.
pub(super) const H2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";

/// How one route does TLS.
#[derive(Clone)]
pub(super) struct Tls {
    pub config: Arc<ClientConfig>,
    pub name: ServerName<'static>,
}

/// A configuration that trusts the machine's CA bundle. Certificates that cannot be read are skipped with a warning.
pub(super) fn machine_roots() -> Result<Arc<ClientConfig>, SetupError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (added, skipped) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        let problems: Vec<_> = found.errors.iter().map(ToString::to_string).collect();
        tracing::warn!(?problems, "no CA bundle: https upstreams need tls.ca");
    } else if skipped > 0 {
        tracing::debug!(added, skipped, "some certificates of the CA bundle cannot be used");
    }
    client(roots)
}

/// What a route needs for TLS: `shared`, or its own roots when it names a CA.
pub(super) fn of_route(
    route: &Route,
    endpoint: &Endpoint,
    shared: &Arc<ClientConfig>,
    ca: Option<&[u8]>,
) -> Result<Tls, SetupError> {
    let config = match (&route.tls.ca, ca) {
        (None, _) => shared.clone(),
        (Some(_), Some(pem)) => client(private_roots(&route.name, pem)?)?,
        (Some(key), None) => {
            let problem = format!("secret {}/{} is not mounted", key.name, key.key);
            return Err(SetupError::Ca { route: route.name.clone(), problem });
        }
    };
    let name = match (&route.tls.server_name, &endpoint.host) {
        (Some(name), _) | (None, Host::Name(name)) => server_name(name)?,
        (None, Host::Address(address)) => ServerName::IpAddress((*address).into()),
    };
    Ok(Tls { config, name })
}

fn server_name(name: &str) -> Result<ServerName<'static>, SetupError> {
    ServerName::try_from(name.to_owned()).map_err(|_| SetupError::ServerName { name: name.to_owned() })
}

fn private_roots(route: &str, pem: &[u8]) -> Result<RootCertStore, SetupError> {
    let refuse = |problem: String| SetupError::Ca { route: route.to_owned(), problem };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| refuse(error.to_string()))?;
        roots.add(certificate).map_err(|error| refuse(error.to_string()))?;
    }
    if roots.is_empty() { Err(refuse("no certificate in PEM form found".to_owned())) } else { Ok(roots) }
}

fn client(roots: RootCertStore) -> Result<Arc<ClientConfig>, SetupError> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![H2.to_vec(), HTTP1.to_vec()];
    Ok(Arc::new(config))
}
