//! Which hosts are reached without the fleet's proxy.
//!
//! Inputs: the entries of `egress.noProxy`, a host and a port. Output: whether the proxy is left out. The entries mean what
//! they mean in `NO_PROXY` to Go and curl: `example.com` is that name and every name below it, `.example.com` and
//! `*.example.com` only those below it, `10.0.0.0/8` a network, `10.1.2.3` one address, `*` everything; `:443` behind a name
//! or an IPv4 address (behind an IPv6 address in brackets) narrows it to that port. Invariants: this machine is never reached
//! through a proxy; a network matches addresses as written in an endpoint, never what a name resolves to, because with a
//! proxy in between it is the proxy that resolves.

use std::{fmt, net::IpAddr, str::FromStr};

/// What is reached directly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bypass(Vec<Entry>);

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    hosts: Hosts,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Hosts {
    All,
    /// Lower case, without dots at its ends; `itself` = the name and not only those below it.
    Names {
        suffix: String,
        itself: bool,
    },
    Network {
        address: IpAddr,
        bits: u8,
    },
}

/// An entry that says nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meaningless {
    /// As written.
    pub entry: String,
}

impl fmt::Display for Meaningless {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{:?} is no host, domain suffix or network: write example.com, .example.com, 10.0.0.0/8 or one of them with :443",
            self.entry
        )
    }
}

impl std::error::Error for Meaningless {}

impl Bypass {
    /// Reads the entries; those that say nothing are left out and come back.
    pub fn read(entries: &[impl AsRef<str>]) -> (Self, Vec<Meaningless>) {
        let (mut kept, mut refused) = (Vec::new(), Vec::new());
        for entry in entries {
            match entry.as_ref().parse() {
                Ok(entry) => kept.push(entry),
                Err(meaningless) => refused.push(meaningless),
            }
        }
        (Self(kept), refused)
    }

    /// Whether `host`, a name or an address without brackets, is reached directly at `port`.
    pub fn takes(&self, host: &str, port: u16) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let address: Option<IpAddr> = host.parse().ok();
        let own = address.map_or_else(
            || host == "localhost" || host.ends_with(".localhost"),
            |address| address.to_canonical().is_loopback(),
        );
        own || self.0.iter().any(|entry| entry.takes(&host, address, port))
    }
}

impl Entry {
    fn takes(&self, host: &str, address: Option<IpAddr>, port: u16) -> bool {
        if self.port.is_some_and(|only| only != port) {
            return false;
        }
        match (&self.hosts, address) {
            (Hosts::All, _) => true,
            (Hosts::Network { address, bits }, Some(host)) => within(host.to_canonical(), *address, *bits),
            (Hosts::Names { suffix, itself }, None) => host
                .strip_suffix(suffix.as_str())
                .is_some_and(|rest| rest.ends_with('.') || (*itself && rest.is_empty())),
            _ => false,
        }
    }
}

impl FromStr for Entry {
    type Err = Meaningless;

    fn from_str(written: &str) -> Result<Self, Meaningless> {
        let refuse = || Meaningless { entry: written.to_owned() };
        if let Some(hosts) = network(written) {
            return Ok(Self { hosts, port: None });
        }
        let (host, port) = match written.rsplit_once(':') {
            Some((host, port)) => {
                (host, Some(port.parse().ok().filter(|port| *port > 0).ok_or_else(refuse)?))
            }
            None => (written, None),
        };
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let hosts = network(bare).or_else(|| names(host)).ok_or_else(refuse)?;
        Ok(Self { hosts, port })
    }
}

/// An address, or a network in the form of `10.0.0.0/8`.
fn network(written: &str) -> Option<Hosts> {
    let (address, bits) = match written.split_once('/') {
        Some((address, bits)) => (address, Some(bits.parse().ok()?)),
        None => (written, None),
    };
    let address: IpAddr = address.parse().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits: u8 = bits.unwrap_or(most);
    (bits <= most).then_some(Hosts::Network { address, bits })
}

fn names(written: &str) -> Option<Hosts> {
    if written == "*" {
        return Some(Hosts::All);
    }
    let below = written.strip_prefix("*.").or_else(|| written.strip_prefix('.'));
    let suffix = below.unwrap_or(written).trim_end_matches('.').to_ascii_lowercase();
    let label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    suffix.split('.').all(label).then_some(Hosts::Names { suffix, itself: below.is_none() })
}

fn within(host: IpAddr, network: IpAddr, bits: u8) -> bool {
    match (host, network) {
        (IpAddr::V4(host), IpAddr::V4(network)) => {
            let differ = u32::from(host) ^ u32::from(network);
            differ.checked_shr(32 - u32::from(bits)).unwrap_or(0) == 0
        }
        (IpAddr::V6(host), IpAddr::V6(network)) => {
            let differ = u128::from(host) ^ u128::from(network);
            differ.checked_shr(128 - u32::from(bits)).unwrap_or(0) == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(entry: &str, host: &str, port: u16) -> bool {
        let (bypass, refused) = Bypass::read(&[entry]);
        assert_eq!(refused, [], "{entry}");
        bypass.takes(host, port)
    }

    #[test]
    fn names_networks_and_ports_are_matched_as_no_proxy_means_them() {
        for (entry, host, port, direct) in [
            ("example.com", "example.com", 443, true),
            ("example.com", "API.Example.com.", 443, true),
            ("example.com", "myexample.com", 443, false),
            (".example.com", "api.example.com", 443, true),
            (".example.com", "example.com", 443, false),
            ("*.example.com", "a.b.example.com", 443, true),
            ("*.example.com", "example.com", 443, false),
            (".svc", "vllm.models.svc", 8443, true),
            ("example.com:8443", "api.example.com", 8443, true),
            ("example.com:8443", "api.example.com", 443, false),
            ("10.0.0.0/8", "10.200.3.4", 443, true),
            ("10.0.0.0/8", "11.0.0.1", 443, false),
            ("10.0.0.0/8", "::ffff:10.1.1.1", 443, true),
            ("10.0.0.0/8", "10.example.com", 443, false),
            ("0.0.0.0/0", "192.0.2.1", 443, true),
            ("0.0.0.0/0", "2001:db8::1", 443, false),
            ("192.0.2.7", "192.0.2.7", 443, true),
            ("192.0.2.7:8443", "192.0.2.7", 443, false),
            ("192.0.2.7/31", "192.0.2.6", 443, true),
            ("2001:db8::/32", "2001:db8:1::1", 443, true),
            ("2001:db8::/32", "2001:db9::1", 443, false),
            ("2001:db8::1", "2001:db8::1", 443, true),
            ("[2001:db8::1]:8443", "2001:db8::1", 8443, true),
            ("[2001:db8::1]:8443", "2001:db8::1", 443, false),
            ("*", "anything.example", 1, true),
            ("*:443", "anything.example", 444, false),
        ] {
            assert_eq!(takes(entry, host, port), direct, "{entry} {host}:{port}");
        }
    }

    #[test]
    fn this_machine_is_never_reached_through_a_proxy() {
        for host in ["localhost", "api.localhost", "127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"] {
            assert!(Bypass::default().takes(host, 443), "{host}");
        }
        assert!(!Bypass::default().takes("example.com", 443));
    }

    #[test]
    fn what_says_nothing_is_left_out_and_named() {
        let written = [
            "",
            ".",
            "a..b",
            "10.0.0.0/33",
            "10.0.0/8",
            "example.com:0",
            "example.com:x",
            "a/b",
            "*.*",
            "ok",
        ];
        let (bypass, refused) = Bypass::read(&written);
        let refused: Vec<_> = refused.iter().map(|one| one.entry.as_str()).collect();
        assert_eq!(refused, &written[..9]);
        assert!(bypass.takes("ok", 1));
    }
}
