//! Scheme, host and port of an endpoint, as far as decisions need them.
//!
//! Input: a base URL that the schema has admitted (`http` or `https`, plain ASCII, no credentials, no query). Anything
//! else gives `None`, and whoever asks refuses it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where an endpoint is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// Whether TLS is spoken.
    pub tls: bool,
    /// Lower-case host without brackets and without a final dot.
    pub host: String,
    /// Port; that of the scheme unless written.
    pub port: u16,
}

/// Last labels that no public name has: RFC 6761, RFC 6762, RFC 8375, ICANN's `.internal`, and what private networks use.
const PRIVATE_SUFFIXES: [&str; 14] = [
    "local",
    "localhost",
    "localdomain",
    "internal",
    "svc",
    "cluster",
    "lan",
    "home",
    "corp",
    "intranet",
    "private",
    "test",
    "invalid",
    "arpa",
];

impl Upstream {
    /// Reads a base URL.
    pub fn parse(url: &str) -> Option<Self> {
        let lower = url.to_ascii_lowercase();
        let (scheme, rest) = lower.split_once("://")?;
        let tls = match scheme {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let authority = rest.split(['/', '?', '#']).next()?;
        let (host, port) = match authority.strip_prefix('[') {
            Some(inner) => inner.split_once(']').map(|(host, port)| (host, port.strip_prefix(':')))?,
            None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
        };
        let port = match port {
            None | Some("") => u16::from(tls) * (443 - 80) + 80,
            Some(digits) => digits.parse().ok()?,
        };
        let host = host.strip_suffix('.').unwrap_or(host);
        (!host.is_empty() && port > 0).then(|| Self { tls, host: host.to_owned(), port })
    }

    /// The host as an address, if it is one.
    pub fn address(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }

    /// Whether the host is one of the public internet, and the peer has to prove that it is that host.
    ///
    /// A name of two labels may also be a Service (`name.namespace`), which only TLS tells apart; so plain HTTP is never
    /// public.
    pub fn is_public(&self) -> bool {
        if !self.tls {
            return false;
        }
        match self.address() {
            Some(IpAddr::V4(address)) => is_public_v4(address),
            Some(IpAddr::V6(address)) => is_public_v6(address),
            None => {
                let labels: Vec<_> = self.host.split('.').collect();
                let last = labels.last().copied().unwrap_or_default();
                labels.len() > 1
                    && !labels[1..].contains(&"svc")
                    && !PRIVATE_SUFFIXES.contains(&last)
                    && !last.bytes().all(|byte| byte.is_ascii_digit())
            }
        }
    }

    /// The namespace of the Service that the host names: `name` (the `own` one), `name.namespace.svc` or
    /// `name.namespace.svc.<cluster domain>`.
    pub fn service_namespace<'a>(&'a self, own: &'a str) -> Option<&'a str> {
        if self.address().is_some() {
            return None;
        }
        let mut labels = self.host.split('.');
        let (_, namespace) = (labels.next()?, labels.next());
        match namespace {
            None => (self.host != "localhost").then_some(own),
            Some(namespace) => (labels.next() == Some("svc")).then_some(namespace),
        }
    }
}

/// Not one of the networks of RFC 6890 that are not globally reachable.
fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let shared = first == 100 && (64..128).contains(&second);
    let reserved = first == 0 || first >= 224 || (first, second, third) == (192, 0, 0);
    let benchmarks = first == 198 && (second == 18 || second == 19);
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || shared
        || reserved
        || benchmarks)
}

/// Global unicast (2000::/3) other than documentation, and no IPv4 address in disguise (6to4, Teredo).
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    first & 0xe000 == 0x2000 && first != 0x2002 && !(first == 0x2001 && (second == 0 || second == 0xdb8))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upstream(url: &str) -> Upstream {
        Upstream::parse(url).unwrap_or_else(|| unreachable!("{url}"))
    }

    #[test]
    fn host_and_port_are_found_in_every_form() {
        for (url, tls, host, port) in [
            ("https://api.openai.com", true, "api.openai.com", 443),
            ("https://API.openai.com./v1", true, "api.openai.com", 443),
            ("http://vllm.models.svc:8000/v1", false, "vllm.models.svc", 8000),
            ("http://10.0.0.1", false, "10.0.0.1", 80),
            ("https://[2606:4700::1]:8443/x", true, "2606:4700::1", 8443),
            ("https://[2606:4700::1]", true, "2606:4700::1", 443),
        ] {
            assert_eq!(upstream(url), Upstream { tls, host: host.to_owned(), port }, "{url}");
        }
        for bad in ["ftp://x", "https://", "https://x:0", "https://x:99999", "https://[::1", "x", ""] {
            assert_eq!(Upstream::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn only_names_of_the_internet_under_tls_are_public() {
        for url in ["https://api.openai.com", "https://x.ai", "https://1.1.1.1", "https://[2606:4700::1]"] {
            assert!(upstream(url).is_public(), "{url}");
        }
        for url in [
            "http://api.openai.com",
            "https://localhost",
            "https://vllm",
            "https://vllm.models.svc",
            "https://vllm.models.svc.cluster.local",
            "https://vllm.models.svc.k8s.example.com",
            "https://metadata.google.internal",
            "https://printer.local",
            "https://1.2.3",
            "https://10.1.2.3",
            "https://100.64.0.1",
            "https://127.0.0.1",
            "https://169.254.169.254",
            "https://192.0.0.192",
            "https://[::1]",
            "https://[fd00::1]",
            "https://[::ffff:10.0.0.1]",
            "https://[2002:a00:1::]",
        ] {
            assert!(!upstream(url).is_public(), "{url}");
        }
    }

    #[test]
    fn services_of_the_cluster_give_their_namespace() {
        for (url, namespace) in [
            ("http://vllm:8000", Some("own")),
            ("http://vllm.models.svc:8000", Some("models")),
            ("http://vllm.models.svc.cluster.local", Some("models")),
            ("http://vllm.models", None),
            ("https://api.openai.com", None),
            ("http://10.0.0.1", None),
            ("http://localhost", None),
        ] {
            assert_eq!(upstream(url).service_namespace("own"), namespace, "{url}");
        }
    }
}
