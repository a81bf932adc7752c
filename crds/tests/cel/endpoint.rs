//! The endpoint of a route: metadata and link-local addresses in every notation.

use hedgerow_crds::Kind;
use serde_json::json;

use super::{fails, passes, verdict};

fn at(url: &str) -> serde_json::Value {
    json!({ "endpoint": url, "insecureHttp": true })
}

const METADATA: &str =
    "spec.endpoint: endpoint must not be a link-local or metadata address: name the provider's host";
const NOTATION: &str =
    "spec.endpoint: an IPv4 address must be four decimal numbers without leading zeros, such as 192.0.2.10";

#[test]
fn metadata_and_link_local_addresses_are_refused_by_name_and_number() {
    for url in [
        "http://169.254.169.254",
        "http://169.254.169.254/latest",
        "https://169.254.0.1:8443",
        "http://168.63.129.16",
        "http://100.100.100.200/",
        "http://192.0.0.192",
        "http://[fe80::1]",
        "http://[FEBF::1]:80",
        "http://[fd00:ec2::254]",
        "http://[::ffff:169.254.169.254]",
        "http://[::ffff:a9fe:a9fe]",
        "http://[0:0:0:0:0:ffff:a9fe:a9fe]",
        "http://[::169.254.169.254]",
        "http://[64:ff9b::a9fe:a9fe]",
        "http://[64:ff9b::169.254.169.254]",
        "http://[2002:a9fe:a9fe::]",
        "http://[::ffff:0:169.254.169.254]",
        "http://metadata./",
        "http://metadata",
        "http://METADATA/computeMetadata",
        "http://metadata.google.internal",
        "http://Metadata.Google.Internal./x",
        "http://instance-data",
    ] {
        fails(Kind::ProviderRoute, &at(url), METADATA);
    }
    let dotted = verdict(Kind::ProviderRoute, &at("http://169.254.169.254."));
    assert!(dotted.contains(&METADATA.to_owned()), "{dotted:?}");
}

#[test]
fn a_number_that_only_a_resolver_understands_is_refused() {
    for url in [
        "http://2852039166",
        "http://0xa9fea9fe",
        "http://0xA9.0xFE.0xA9.0xFE",
        "http://0251.0376.0251.0376",
        "http://0251.254.169.254",
        "http://169.16689662",
        "http://010.1",
        "http://10.1",
        "http://127.1:8080",
    ] {
        assert!(verdict(Kind::ProviderRoute, &at(url)).contains(&NOTATION.to_owned()), "{url}");
    }
}

#[test]
fn ordinary_hosts_are_accepted() {
    for url in [
        "https://api.openai.com",
        "https://api.openai.com/v1/",
        "https://metadata.example.com",
        "https://metadata-service.team.svc:8443",
        "https://instance-data.example.com",
        "https://192.0.2.10",
        "https://10.0.0.7:8443/base",
        "https://169.255.1.1",
        "https://0xcafe.example",
        "https://v1.example4",
        "http://127.0.0.1:18081",
        "http://localhost:8080",
        "http://[::1]:8080",
        "https://[2001:db8::1]",
        "https://[fd12:3456::1]",
    ] {
        passes(Kind::ProviderRoute, &at(url));
    }
}

#[test]
fn an_endpoint_is_a_plain_base_url() {
    let plain =
        "spec.endpoint: endpoint must be a plain base URL: no credentials, no query, no fragment, no escapes";
    for url in [
        "https://user:pass@api.example.com",
        "https://api.example.com?x=1",
        "https://api.example.com#x",
        "https://api.example.com/%2e%2e",
    ] {
        fails(Kind::ProviderRoute, &at(url), plain);
    }
    let url = "spec.endpoint: endpoint must be a URL such as https://api.openai.com";
    for text in ["api.openai.com", "ftp://api.example.com", "https://", "https:///x"] {
        assert!(verdict(Kind::ProviderRoute, &at(text)).contains(&url.to_owned()), "{text}");
    }
    fails(
        Kind::ProviderRoute,
        &at("https://bücher.example"),
        "spec.endpoint: endpoint must be plain ASCII: write an international name in its xn-- form",
    );
}

#[test]
fn plain_http_needs_insecure_http() {
    passes(Kind::ProviderRoute, &json!({ "endpoint": "http://10.0.0.7", "insecureHttp": true }));
    fails(
        Kind::ProviderRoute,
        &json!({ "endpoint": "http://10.0.0.7" }),
        "spec.endpoint: endpoint (http://10.0.0.7) is not encrypted: use https:// or set insecureHttp: true",
    );
}
