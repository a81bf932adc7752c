//! Bounded strings: every name, address and header value that an object may carry.
//!
//! Input: text from an object. Output: the same text with a type that says what it is. The bounds
//! live in the schema (`maxLength`, `pattern`) and are checked by the API server and by lint; the
//! Rust types accept any text, so that an object which passed the schema can always be read.

use std::{borrow::Borrow, borrow::Cow, fmt, ops::Deref};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A string newtype whose schema carries length and pattern.
macro_rules! bounded {
    ($($(#[$doc:meta])* $name:ident, $min:literal..=$max:literal, $pattern:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "minLength": $min, "maxLength": $max, "pattern": $pattern })
            }
        }

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.0 == *other
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

bounded! {
    /// Name of a fleet: a DNS label of at most 40 characters, so that `hedgerow-<fleet>-history` is
    /// still a valid name (63) of a child object.
    FleetName, 1..=40, "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
    /// Name of a cohort: at most 40 characters, so that `hedgerow.dev/suspend.<cohort>` is a valid
    /// annotation key (63 after the slash).
    CohortName, 1..=40, "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
    /// A lower-case word such as a provider, a region, a data boundary or a quota group.
    Label, 1..=63, "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
    /// A model as clients name it, or `*` for any.
    ModelName, 1..=128, "^([*]|[A-Za-z0-9][A-Za-z0-9._:/@+-]*)$";
    /// Name of an Azure OpenAI deployment.
    DeploymentName, 1..=64, "^[A-Za-z0-9][A-Za-z0-9._-]*$";
    /// Azure's `api-version` query value.
    ApiVersion, 1..=32, "^[0-9A-Za-z][0-9A-Za-z.-]*$";
    /// A tenant. No dots: a client key entry is `<tenant>` or `<tenant>.<suffix>`.
    TenantName, 1..=63, "^[A-Za-z0-9]([-A-Za-z0-9_]*[A-Za-z0-9])?$";
    /// Name of an HTTP header.
    HeaderName, 1..=64, "^[A-Za-z0-9-]+$";
    /// Value of an HTTP header: printable ASCII.
    HeaderValue, 1..=256, "^[ -~]+$";
    /// Name of a Secret or ConfigMap.
    ObjectName, 1..=253, "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$";
    /// Key inside a Secret or ConfigMap.
    DataKey, 1..=253, "^[-._a-zA-Z0-9]+$";
    /// Name of a namespace, or `*` for every one.
    NamespaceName, 1..=63, "^([*]|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$";
    /// A DNS name of a host.
    HostName, 1..=253, "^[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?$";
    /// A JSON pointer (RFC 6901) into an answer.
    JsonPointer, 1..=256, "^(/[^/]*)+$";
    /// A finish or stop reason in the provider's words.
    FinishReason, 1..=64, "^[A-Za-z0-9_.-]+$";
    /// A three-letter currency code (ISO 4217).
    Currency, 3..=3, "^[A-Z]{3}$";
    /// An image tag.
    ImageTag, 1..=128, "^[A-Za-z0-9_][A-Za-z0-9._-]*$";
    /// An amount of CPU or memory as Kubernetes writes it: `250m`, `64Mi`.
    Quantity, 1..=32, "^[0-9]+([.][0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$";
    /// Value of a label.
    LabelValue, 0..=63, "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$";
    /// Value of an annotation.
    AnnotationValue, 0..=4096, "^[^\\x00]*$";
    /// Name of an environment variable.
    EnvName, 1..=128, "^[A-Za-z_][A-Za-z0-9_]*$";
    /// Value of an environment variable.
    EnvValue, 0..=4096, "^[^\\x00]*$";
    /// URL of a proxy.
    ProxyUrl, 1..=512, "^https?://[^ @]+$";
    /// A host, domain suffix or CIDR that is reached without the proxy.
    NoProxyEntry, 1..=253, "^[A-Za-z0-9.*:/_-]+$";
}

impl Default for FleetName {
    fn default() -> Self {
        crate::DEFAULT_FLEET.into()
    }
}

impl Default for Currency {
    fn default() -> Self {
        "USD".into()
    }
}
