//! A route's base URL, taken apart once at configuration load.
//!
//! Inputs: the endpoint as written. Output: what every attempt needs ready-made (authority, `Host` header, scheme).
//! Refuses: user information, other schemes, and hosts that some resolvers read as an IPv4 address in octal, hex or
//! with missing parts (WHATWG URL standard, "ends in a number"), because those hide metadata addresses.

use std::net::IpAddr;

use http::{
    HeaderValue, Uri,
    uri::{Authority, Scheme},
};

use super::error::SetupError;

/// Where a route's attempts go.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    pub scheme: Scheme,
    /// Host and, if it is not the scheme's own, port.
    pub authority: Authority,
    /// The same as a header value.
    pub host_header: HeaderValue,
    pub host: Host,
    pub port: u16,
}

/// Host of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Host {
    Name(String),
    Address(IpAddr),
}

impl Endpoint {
    /// Takes a base URL apart.
    pub(super) fn parse(endpoint: &str) -> Result<Self, SetupError> {
        let refuse = |problem| SetupError::Endpoint { endpoint: endpoint.to_owned(), problem };
        let uri: Uri =
            endpoint.parse().map_err(|_| refuse("write a URL such as https://api.example.com/v1"))?;
        let scheme = match uri.scheme_str() {
            Some("https") => Scheme::HTTPS,
            Some("http") => Scheme::HTTP,
            _ => return Err(refuse("the scheme must be https or http")),
        };
        let written = uri.authority().ok_or_else(|| refuse("the host is missing"))?;
        if written.as_str().contains('@') {
            return Err(refuse("no user information in the URL: name a Secret in auth"));
        }
        let default_port = if scheme == Scheme::HTTPS { 443 } else { 80 };
        let port = written.port_u16().unwrap_or(default_port);
        let host = Host::parse(written.host()).map_err(refuse)?;
        let shown =
            if port == default_port { written.host().to_owned() } else { written.as_str().to_owned() };
        let authority = shown.parse().map_err(|_| refuse("the host is not valid"))?;
        let host_header = HeaderValue::from_str(&shown).map_err(|_| refuse("the host is not valid"))?;
        Ok(Self { scheme, authority, host_header, host, port })
    }

    /// Whether connections are encrypted.
    pub(super) fn tls(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }
}

impl Host {
    fn parse(host: &str) -> Result<Self, &'static str> {
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
        if let Ok(address) = bare.parse() {
            return Ok(Self::Address(address));
        }
        let name = bare.trim_end_matches('.').to_ascii_lowercase();
        let last = name.rsplit('.').next().unwrap_or_default();
        let hex = last.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_hexdigit()));
        match name.as_str() {
            "" => Err("the host is missing"),
            _ if hex || last.bytes().all(|b| b.is_ascii_digit()) => {
                Err("write an IPv4 address with four decimal parts")
            }
            _ => Ok(Self::Name(name)),
        }
    }
}

impl std::fmt::Display for Host {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name(name) => out.write_str(name),
            Self::Address(address) => write!(out, "{address}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_endpoints_are_taken_apart() {
        for (written, host, port, authority) in [
            ("https://api.openai.com", "api.openai.com", 443, "api.openai.com"),
            ("https://API.example.com:443/v1", "api.example.com", 443, "API.example.com"),
            ("http://127.0.0.1:9001", "127.0.0.1", 9001, "127.0.0.1:9001"),
            ("https://[::1]:8443/x", "::1", 8443, "[::1]:8443"),
            (
                "http://vllm.ai.svc.cluster.local.",
                "vllm.ai.svc.cluster.local",
                80,
                "vllm.ai.svc.cluster.local.",
            ),
        ] {
            let endpoint = Endpoint::parse(written).unwrap();
            assert_eq!(endpoint.host.to_string(), host, "{written}");
            assert_eq!(endpoint.port, port, "{written}");
            assert_eq!(endpoint.authority.as_str(), authority, "{written}");
        }
    }

    #[test]
    fn hidden_addresses_and_other_schemes_are_refused() {
        for written in [
            "https://2852039166",
            "https://0xa9fea9fe/latest",
            "https://169.254.43518",
            "https://0251.0376.0251.0376",
            "https://user:key@api.openai.com",
            "ftp://api.openai.com",
            "api.openai.com",
            "https://",
        ] {
            assert!(Endpoint::parse(written).is_err(), "{written}");
        }
    }
}
