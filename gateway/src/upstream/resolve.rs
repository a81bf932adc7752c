//! From a host to the addresses that may be dialled.
//!
//! Inputs: a host. Outputs: at least one checked address, or an error. Literal addresses and `localhost` (RFC 6761,
//! 6.3) ask nobody; every other name goes to the machine's resolver configuration and hosts file through hickory,
//! because a static binary has no NSS. Invariant: no address leaves this file unchecked ([`address::allowed`]).

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use hickory_resolver::TokioResolver;

use super::{
    address,
    endpoint::{Endpoint, Host},
    error::UpstreamError,
};

/// Longest wait for one answer of a name server. The usual 5 s (resolv.conf(5)) are all that `timeouts.connect` has, so one
/// lost datagram would be a failed request.
const ANSWER: Duration = Duration::from_secs(1);
/// How often a name server is asked again: within `timeouts.connect` by default.
const RETRIES: usize = 4;

/// Resolves and checks. One per process: it caches by the records' time to live.
#[derive(Clone)]
pub(super) struct Resolver {
    /// Absent where the machine has no usable resolver configuration.
    names: Option<Arc<TokioResolver>>,
}

impl Resolver {
    /// With the machine's configuration; without one only literal addresses and `localhost` work.
    pub(super) fn from_system() -> Self {
        let built = TokioResolver::builder_tokio().and_then(|mut builder| {
            let options = builder.options_mut();
            options.timeout = options.timeout.min(ANSWER);
            options.attempts = options.attempts.max(RETRIES);
            builder.build()
        });
        match built {
            Ok(resolver) => Self { names: Some(Arc::new(resolver)) },
            Err(error) => {
                tracing::warn!(%error, "no resolver configuration: only literal addresses can be dialled");
                Self { names: None }
            }
        }
    }

    /// The checked addresses of an endpoint, in the order in which they should be tried.
    pub(super) async fn resolve(&self, endpoint: &Endpoint) -> Result<Vec<SocketAddr>, UpstreamError> {
        let addresses = match &endpoint.host {
            Host::Address(address) => vec![*address],
            Host::Name(name) if is_localhost(name) => {
                vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)]
            }
            Host::Name(name) => self.ask(name).await?,
        };
        check(&endpoint.host, endpoint.port, &addresses)
    }

    async fn ask(&self, name: &str) -> Result<Vec<IpAddr>, UpstreamError> {
        let failed =
            |message: &str| UpstreamError::Resolve { host: Arc::from(name), message: Arc::from(message) };
        let resolver =
            self.names.as_ref().ok_or_else(|| failed("this machine has no resolver configuration"))?;
        let answer = resolver.lookup_ip(name).await.map_err(|error| failed(&error.to_string()))?;
        Ok(answer.iter().collect())
    }
}

fn is_localhost(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

/// Keeps the allowed addresses; an error if none is left.
fn check(host: &Host, port: u16, addresses: &[IpAddr]) -> Result<Vec<SocketAddr>, UpstreamError> {
    let host = || Arc::from(host.to_string());
    let kept: Vec<_> = addresses
        .iter()
        .filter(|found| address::allowed(**found))
        .map(|found| SocketAddr::new(*found, port))
        .collect();
    match (kept.is_empty(), addresses.first()) {
        (false, _) => Ok(kept),
        (true, Some(refused)) => Err(UpstreamError::AddressRefused { host: host(), address: *refused }),
        (true, None) => {
            Err(UpstreamError::Resolve { host: host(), message: Arc::from("the name has no address") })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_addresses_are_left_out_and_an_empty_rest_is_an_error() {
        let host = Host::Name("mixed.example".to_owned());
        let metadata: IpAddr = "169.254.169.254".parse().unwrap();
        let good: IpAddr = "10.1.2.3".parse().unwrap();
        assert_eq!(check(&host, 443, &[metadata, good]).unwrap(), [SocketAddr::new(good, 443)]);
        let error = check(&host, 443, &[metadata]).unwrap_err();
        assert!(
            matches!(error, UpstreamError::AddressRefused { address, .. } if address == metadata),
            "{error}"
        );
        assert!(matches!(check(&host, 443, &[]).unwrap_err(), UpstreamError::Resolve { .. }));
    }

    #[tokio::test]
    async fn localhost_and_its_subdomains_ask_nobody() {
        let resolver = Resolver { names: None };
        for name in ["http://localhost:1", "http://api.localhost:1"] {
            let found = resolver.resolve(&Endpoint::parse(name).unwrap()).await.unwrap();
            assert!(found.iter().all(|address| address.ip().is_loopback()), "{name}: {found:?}");
        }
        let error = resolver.resolve(&Endpoint::parse("http://other.example").unwrap()).await.unwrap_err();
        assert!(!error.sent());
    }
}
