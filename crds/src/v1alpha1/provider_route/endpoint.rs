//! The base URL of an upstream, and the addresses that it must never name.
//!
//! Whoever may create routes must not be able to read the instance metadata of the nodes: the first of
//! two gates refuses link-local and metadata addresses in every notation that a resolver accepts
//! (dotted, decimal, octal, hexadecimal, IPv6, IPv4 inside IPv6, by name). The second gate is the
//! gateway's, which checks the address after resolution; so names that merely contain `metadata` are
//! allowed here. URL parsing in CEL (`url()`, `ip()`) exceeds the API server's cost limit, hence
//! patterns.

use std::{borrow::Cow, fmt, ops::Deref};

use kube::core::{Rule, validate};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Base URL of an upstream, without credentials, query or fragment.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Endpoint(pub String);

/// Longest URL in bytes.
const MAX_LENGTH: usize = 512;

/// Metadata services of the large clouds (AWS, GCP, Azure: 169.254/16; Azure wire server:
/// 168.63.129.16; Alibaba: 100.100.100.200; Oracle: 192.0.0.192; AWS on IPv6: fd00:ec2::/32) and
/// link-local IPv6, IPv4 inside IPv6 (mapped, compatible, translated), and the metadata names.
const FORBIDDEN: &str = "^https?://(169[.]254[.]|168[.]63[.]129[.]16([.:/]|$)|100[.]100[.]100[.]200([.:/]|$)\
     |192[.]0[.]0[.]192([.:/]|$)|\\\\[(fe[89ab][0-9a-f]:|fd00:0?ec2:|64:ff9b:|2002:a9fe:|[0:]+(ffff:|a9fe:|[0-9]+[.]))\
     |metadata[.]?([:/]|$)|metadata[.]google[.]internal|instance-data[.]?([:/]|$))";

/// A host whose last label is a number is an IPv4 address to every resolver (WHATWG URL, 4.3).
const NUMERIC_HOST: &str = "^https?://([^/:]*[.])?(0x[0-9a-f]*|[0-9]+)[.]?([:/]|$)";

/// The one notation of an IPv4 address that has one meaning.
const DOTTED_HOST: &str = "^https?://(0|[1-9][0-9]{0,2})([.](0|[1-9][0-9]{0,2})){3}([:/]|$)";

fn rules() -> [Rule; 5] {
    [
        Rule::new("isURL(self) && self.matches('^https?://[^/:]')")
            .message("endpoint must be a URL such as https://api.openai.com"),
        Rule::new("!self.matches('[@?#%\\\\s]')")
            .message("endpoint must be a plain base URL: no credentials, no query, no fragment, no escapes"),
        Rule::new(format!("!self.lowerAscii().matches('{FORBIDDEN}')"))
            .message("endpoint must not be a link-local or metadata address: name the provider's host"),
        Rule::new(format!(
            "!self.lowerAscii().matches('{NUMERIC_HOST}') || self.lowerAscii().matches('{DOTTED_HOST}')"
        ))
        .message("an IPv4 address must be four decimal numbers without leading zeros, such as 192.0.2.10"),
        Rule::new("self.matches('^[ -~]*$')")
            .message("endpoint must be plain ASCII: write an international name in its xn-- form"),
    ]
}

impl JsonSchema for Endpoint {
    fn schema_name() -> Cow<'static, str> {
        "Endpoint".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut schema = json_schema!({ "type": "string", "minLength": 1, "maxLength": MAX_LENGTH });
        for rule in rules() {
            validate(&mut schema, rule).expect("a rule is plain JSON");
        }
        schema
    }
}

impl Deref for Endpoint {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Endpoint {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
