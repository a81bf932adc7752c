//! How attempts authenticate at an upstream. Credentials are referenced, never written.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::rule;
use crate::text::{DataKey, HeaderName, ObjectName};

/// Kind of authentication.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum AuthType {
    /// `Authorization: Bearer <key>`.
    #[default]
    Bearer,
    /// A header of its own, such as `x-api-key` (Anthropic) or `api-key` (Azure).
    Header,
    /// No authentication.
    None,
    /// The client's own credential is forwarded, and the user action stays on this one host.
    Passthrough,
}

/// How requests authenticate at the upstream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules)]
pub struct Auth {
    /// Bearer, Header, None or Passthrough. Passthrough forwards the client's own credential and binds
    /// the user action to this one host. Default: Bearer.
    #[serde(rename = "type", default)]
    pub type_: AuthType,
    /// Header that carries the key, such as x-api-key. Required with type Header, absent with any
    /// other. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<HeaderName>,
    /// The key, in a Secret. Required with type Bearer or Header, absent with any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretRef>,
}

/// One key of a Secret in the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretRef {
    /// Name of the Secret, in the same namespace. Default: hedgerow-<fleet>-keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ObjectName>,
    /// Key inside the Secret. Required.
    pub key: DataKey,
}

fn rules(schema: &mut Schema) {
    rule::attach(schema, rule::present_with("secretRef", "type", &["Bearer", "Header"]));
    rule::attach(schema, rule::present_with("header", "type", &["Header"]));
}
