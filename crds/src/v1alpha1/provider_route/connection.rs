//! How a route talks to its upstream: time-outs, certificate checks, what it accepts.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::{super::reference::DataRef, rule};
use crate::{
    text::{ApiVersion, DeploymentName, HostName},
    units::DurationText,
};

/// How long to wait for what. The idle ones start at the first token, never run for non-streaming
/// answers, and stand still while the client is not reading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = timeout_rules)]
pub struct Timeouts {
    /// Connection and TLS handshake. 50ms to 60s. Default: 5s.
    pub connect: DurationText,
    /// Silence of a stream before its first token; hidden reasoning is silent for minutes. 100ms to 1h.
    /// Default: 300s.
    pub first_token: DurationText,
    /// Silence of a stream after its first token, in bytes of any kind. 100ms to 1h. Default: 60s.
    pub idle_bytes: DurationText,
    /// Time of a stream without a token after its first one, pings not counted. 100ms to 1h. Default:
    /// 300s.
    pub idle_tokens: DurationText,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: "5s".into(),
            first_token: "300s".into(),
            idle_bytes: "60s".into(),
            idle_tokens: "300s".into(),
        }
    }
}

fn timeout_rules(schema: &mut Schema) {
    rule::attach(
        schema,
        [
            rule::within("connect", "50ms", "60s"),
            rule::within("firstToken", "100ms", "1h"),
            rule::within("idleBytes", "100ms", "1h"),
            rule::within("idleTokens", "100ms", "1h"),
        ],
    );
}

/// What Azure needs beyond the endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = azure_rules)]
pub struct Azure {
    /// Value of api-version. Default: none, the version-less v1 surface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<ApiVersion>,
    /// Deployment by model, as clients name it. Default: the model's upstream name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64))]
    pub deployments: BTreeMap<String, DeploymentName>,
}

fn azure_rules(schema: &mut Schema) {
    rule::attach(
        schema,
        [rule::fixed(
            "!has(self.deployments) || self.deployments.all(k, size(k) <= 128)",
            "deployments",
            "a model's name has at most 128 characters",
        )],
    );
}

/// What the upstream accepts beyond its dialect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Capabilities {
    /// Whether streams can report usage (stream_options.include_usage). Default: true.
    pub stream_usage: bool,
    /// Whether signatures of thinking blocks are accepted from other providers. Default: false.
    pub portable_signatures: bool,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self { stream_usage: true, portable_signatures: false }
    }
}

/// How the upstream's certificate is checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = tls_rules)]
pub struct Tls {
    /// PEM bundle of authorities in a Secret. Default: those of the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_secret_ref: Option<DataRef>,
    /// PEM bundle of authorities in a ConfigMap. Default: those of the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_config_map_ref: Option<DataRef>,
    /// Name that the certificate must carry. Default: the endpoint's host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_name: Option<HostName>,
}

fn tls_rules(schema: &mut Schema) {
    rule::attach(
        schema,
        [rule::fixed(
            "!(has(self.caSecretRef) && has(self.caConfigMapRef))",
            "caConfigMapRef",
            "set either caSecretRef or caConfigMapRef, not both",
        )],
    );
}
