//! TLS towards upstreams.
//!
//! Inputs: the machine's CA bundle, the fleet's further authorities, a route's private CA and server name. Output: one client
//! configuration per set of roots, which also keeps the session tickets (resumption costs 230 us of client CPU instead of
//! 327, `data-plane-experiments` E6). Invariants: ALPN offers h2, then HTTP/1.1; certificates are always checked; a private
//! CA replaces the bundle instead of joining it; the fleet's authorities join either, because what stands between the
//! gateway and one provider stands there for all. Refuses: any way to switch checks off.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use hedgerow_config::Route;
use rustls::{
    CipherSuite, ClientConfig, RootCertStore,
    client::Resumption,
    crypto::{CryptoProvider, ring},
    pki_types::ServerName,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::{
    Setup,
    endpoint::{Endpoint, Host},
    error::SetupError,
    sessions::Sessions,
};
use crate::config::authorities;

/// ALPN name of HTTP/2.
pub(super) const H2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";

/// How one route does TLS.
#[derive(Clone)]
pub(super) struct Tls {
    pub config: Arc<ClientConfig>,
    pub name: ServerName<'static>,
}

impl Tls {
    /// Encrypts `socket` and checks who is at its other end.
    pub(super) async fn shake<T>(&self, socket: T) -> io::Result<TlsStream<T>>
    where
        T: AsyncRead + AsyncWrite + Unpin,
    {
        TlsConnector::from(self.config.clone()).connect(self.name.clone(), socket).await
    }
}

/// Client configurations for the machine's CA bundle, alone and with the fleet's authorities.
pub(super) struct Roots {
    machine: RootCertStore,
    alone: Arc<ClientConfig>,
    /// The PEM file that the fleet names, and the configuration with it: the same for all routes.
    joined: Mutex<Option<(Vec<u8>, Arc<ClientConfig>)>>,
}

impl Roots {
    /// Reads the machine's bundle. Certificates that cannot be read are skipped with a warning.
    pub(super) fn of_machine() -> Result<Self, SetupError> {
        let found = rustls_native_certs::load_native_certs();
        let mut machine = RootCertStore::empty();
        let (added, skipped) = machine.add_parsable_certificates(found.certs);
        if added == 0 {
            let problems: Vec<_> = found.errors.iter().map(ToString::to_string).collect();
            tracing::warn!(?problems, "no CA bundle: https upstreams need tls.ca");
        } else if skipped > 0 {
            tracing::debug!(added, skipped, "some certificates of the CA bundle cannot be used");
        }
        Ok(Self { alone: client(machine.clone())?, machine, joined: Mutex::default() })
    }

    /// The configuration of routes without a CA of their own. Authorities that cannot be read are reported with the other
    /// mounted files; the bundle still serves who does not need them.
    fn with(&self, further: Option<&[u8]>) -> Result<Arc<ClientConfig>, SetupError> {
        let Some((pem, further)) = further.and_then(|pem| Some((pem, authorities::read(pem).ok()?))) else {
            return Ok(self.alone.clone());
        };
        let mut joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, config)) = joined.as_ref()
            && known == pem
        {
            return Ok(config.clone());
        }
        let mut roots = self.machine.clone();
        roots.extend(further.roots);
        let config = client(roots)?;
        *joined = Some((pem.to_owned(), config.clone()));
        Ok(config)
    }
}

/// What a route needs for TLS: the shared roots, or its own when it names a CA.
pub(super) fn of_route(
    route: &Route,
    endpoint: &Endpoint,
    shared: &Roots,
    setup: &Setup<'_>,
) -> Result<Tls, SetupError> {
    let refuse = |problem| SetupError::Ca { route: route.name.clone(), problem };
    let config = match (&route.tls.ca, setup.ca) {
        (None, _) => shared.with(setup.further)?,
        (Some(_), Some(pem)) => {
            let mut roots = authorities::read(pem).map_err(refuse)?;
            roots.extend(
                setup
                    .further
                    .and_then(|pem| authorities::read(pem).ok())
                    .into_iter()
                    .flat_map(|further| further.roots),
            );
            client(roots)?
        }
        (Some(key), None) => {
            return Err(refuse(format!("secret {}/{} is not mounted", key.name, key.key)));
        }
    };
    let name = match &route.tls.server_name {
        Some(name) => server_name(name)?,
        None => name_of(&endpoint.host)?,
    };
    Ok(Tls { config, name })
}

/// What a host of no route needs for TLS: the shared roots.
pub(super) fn of_host(endpoint: &Endpoint, shared: &Roots, setup: &Setup<'_>) -> Result<Tls, SetupError> {
    Ok(Tls { config: shared.with(setup.further)?, name: name_of(&endpoint.host)? })
}

/// TLS towards the proxy itself: HTTP/1.1 only, because CONNECT is asked for in it.
pub(super) fn of_proxy(proxy: &Endpoint, shared: &Roots, setup: &Setup<'_>) -> Result<Tls, SetupError> {
    let mut config = ClientConfig::clone(&*shared.with(setup.further)?);
    config.alpn_protocols = vec![HTTP1.to_vec()];
    Ok(Tls { config: Arc::new(config), name: name_of(&proxy.host)? })
}

fn name_of(host: &Host) -> Result<ServerName<'static>, SetupError> {
    match host {
        Host::Name(name) => server_name(name),
        Host::Address(address) => Ok(ServerName::IpAddress((*address).into())),
    }
}

fn server_name(name: &str) -> Result<ServerName<'static>, SetupError> {
    ServerName::try_from(name.to_owned()).map_err(|_| SetupError::ServerName { name: name.to_owned() })
}

/// All that rustls takes for safe, AES-128 first, as browsers and Go do. Many servers follow the client, and rustls's first
/// is AES-256 with SHA-384: a handshake hashes dozens of times, and most processors have instructions for SHA-256 only.
fn provider() -> CryptoProvider {
    let mut provider = ring::default_provider();
    provider.cipher_suites.sort_by_key(|suite| {
        !matches!(
            suite.suite(),
            CipherSuite::TLS13_AES_128_GCM_SHA256
                | CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
                | CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
        )
    });
    provider
}

fn client(roots: RootCertStore) -> Result<Arc<ClientConfig>, SetupError> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![H2.to_vec(), HTTP1.to_vec()];
    config.resumption = Resumption::store(Arc::new(Sessions::new()));
    Ok(Arc::new(config))
}
