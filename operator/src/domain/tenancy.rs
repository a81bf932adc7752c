//! What an installation lets the authors of routes and fleets reach.
//!
//! The right to create a route must not be the right to read any Secret of the namespace, or to talk to any host of the
//! network. Input: the patterns of the installation. Output: whether a Secret may be mounted and sent, whether an endpoint
//! may be used, and the sentence for whoever may not. In a pattern `*` stands for any text, also for none and across
//! dots; everything else is literal.

use serde::{Deserialize, Serialize};

use super::upstream::Upstream;

/// What authors may reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Tenancy {
    /// Names of Secrets that pods may mount. Default: `hedgerow-*`.
    pub secret_names: Vec<String>,
    /// Hosts of endpoints; empty = any public one, over TLS.
    pub allowed_endpoints: Vec<String>,
}

impl Default for Tenancy {
    fn default() -> Self {
        Self { secret_names: vec!["hedgerow-*".to_owned()], allowed_endpoints: Vec::new() }
    }
}

impl Tenancy {
    /// Everything is allowed: where whoever writes the objects also owns the machine.
    pub fn permissive() -> Self {
        Self { secret_names: vec!["*".to_owned()], allowed_endpoints: vec!["*".to_owned()] }
    }

    /// Whether pods may mount a Secret.
    pub fn allows_secret(&self, name: &str) -> bool {
        self.secret_names.iter().any(|pattern| matches(pattern, name))
    }

    /// Whether routes may use an endpoint.
    pub fn allows_endpoint(&self, url: &str) -> bool {
        let Some(upstream) = Upstream::parse(url) else { return false };
        if self.allowed_endpoints.is_empty() {
            return upstream.is_public();
        }
        self.allowed_endpoints.iter().any(|pattern| matches(&pattern.to_ascii_lowercase(), &upstream.host))
    }

    /// Why a Secret is not mounted.
    pub(super) fn secret_refusal(&self, name: &str) -> String {
        format!(
            "Secret {name} is not mounted: this installation mounts {} only (tenancy.secretNames): rename the Secret or \
             ask whoever runs the operator",
            listed(&self.secret_names)
        )
    }

    /// Why an endpoint is not used.
    pub(super) fn endpoint_refusal(&self, url: &str) -> String {
        let allowed = if self.allowed_endpoints.is_empty() {
            "public names over https only".to_owned()
        } else {
            format!("{} only", listed(&self.allowed_endpoints))
        };
        format!(
            "{url} is not used: this installation allows {allowed} (tenancy.allowedEndpoints): use another endpoint or \
             ask whoever runs the operator"
        )
    }
}

/// Patterns as people read them.
fn listed(patterns: &[String]) -> String {
    if patterns.is_empty() { "none".to_owned() } else { patterns.join(", ") }
}

/// Whether all of `text` is what the pattern describes.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_text_and_everything_else_is_literal() {
        for (pattern, text, expected) in [
            ("hedgerow-*", "hedgerow-default-keys", true),
            ("hedgerow-*", "hedgerow-", true),
            ("hedgerow-*", "other-hedgerow-x", false),
            ("*", "", true),
            ("*", "anything.at.all", true),
            ("", "", true),
            ("", "x", false),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "abc", true),
            ("a*b*c", "acb", false),
            ("*.openai.com", "api.openai.com", true),
            ("*.openai.com", "openai.com", false),
            ("*.openai.com", "openai.com.evil.example", false),
            ("a.b", "axb", false),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn by_default_own_secrets_and_public_endpoints_are_allowed() {
        let tenancy = Tenancy::default();
        assert!(tenancy.allows_secret("hedgerow-default-keys") && !tenancy.allows_secret("database"));
        assert!(tenancy.allows_endpoint("https://api.openai.com/v1"));
        assert!(!tenancy.allows_endpoint("http://vllm.models.svc:8000"));
        assert!(!tenancy.allows_endpoint("not a url"));
    }

    #[test]
    fn listed_hosts_replace_the_public_ones() {
        let tenancy = Tenancy { allowed_endpoints: vec!["*.Models.svc".to_owned()], ..Tenancy::default() };
        assert!(tenancy.allows_endpoint("http://vllm.models.svc:8000/v1"));
        assert!(!tenancy.allows_endpoint("https://api.openai.com"));
        assert!(tenancy.endpoint_refusal("https://x").contains("*.Models.svc only"));
    }

    #[test]
    fn the_permissive_one_allows_everything_that_is_an_endpoint() {
        let tenancy = Tenancy::permissive();
        assert!(tenancy.allows_secret("database") && tenancy.allows_endpoint("http://127.0.0.1:1"));
    }
}
