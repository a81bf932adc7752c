//! Which addresses may be dialled.
//!
//! Why: whoever may create a route must not reach the cloud's metadata service or the node through the gateway
//! (server-side request forgery), whatever the name resolves to at connect time. Inputs: an address after resolution.
//! Invariant: an IPv4 address counts the same in each of its IPv6 notations (mapped, compatible, translated
//! `::ffff:0:0:0/96`, NAT64 `64:ff9b::/96` and `64:ff9b:1::/48`, 6to4 `2002::/16`). Private and loopback ranges are allowed: self-hosted models live there.
//!
//! Metadata services outside link-local: AWS over IPv6 `fd00:ec2::254`, Azure `168.63.129.16`, Alibaba
//! `100.100.100.200`, Oracle `192.0.0.192` (vendors' manuals).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const METADATA_V4: [Ipv4Addr; 3] =
    [Ipv4Addr::new(168, 63, 129, 16), Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(192, 0, 0, 192)];
const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x254);

/// Whether an attempt may be sent to `address`.
pub(super) fn allowed(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => allowed_v4(v4),
        IpAddr::V6(v6) => embedded(v6).map_or_else(|| allowed_v6(v6), allowed_v4),
    }
}

fn allowed_v4(address: Ipv4Addr) -> bool {
    let this_network = address.octets()[0] == 0;
    !(this_network
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || METADATA_V4.contains(&address))
}

fn allowed_v6(address: Ipv6Addr) -> bool {
    !(address.is_unspecified()
        || address.is_unicast_link_local()
        || address.is_multicast()
        || address == METADATA_V6)
}

/// The IPv4 address that an IPv6 address stands for.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let s = address.segments();
    let join = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match s {
        [0, 0, 0, 0, 0, 0, 0, _] => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x64, 0xff9b, 1, _, _, _, high, low]
        | [0x2002, high, low, ..] => Some(join(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_and_link_local_are_refused_in_every_notation() {
        for text in [
            "169.254.169.254",
            "169.254.0.1",
            "::ffff:169.254.169.254",
            "::169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::a9fe:a9fe",
            "::ffff:0:a9fe:a9fe",
            "2002:a9fe:a9fe::1",
            "fe80::1",
            "febf::1",
            "fd00:ec2::254",
            "168.63.129.16",
            "::ffff:168.63.129.16",
            "100.100.100.200",
            "192.0.0.192",
            "0.0.0.0",
            "0.1.2.3",
            "::",
            "::ffff:0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "ff02::1",
        ] {
            assert!(!allowed(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn public_private_and_loopback_addresses_are_allowed() {
        for text in [
            "1.2.3.4",
            "10.0.0.7",
            "192.168.1.1",
            "172.16.0.1",
            "127.0.0.1",
            "::1",
            "fd12::1",
            "2606:4700::1",
        ] {
            assert!(allowed(text.parse().unwrap()), "{text}");
        }
    }
}
