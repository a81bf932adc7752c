//! `gateway.json`: the root of the compiled configuration, how it is read, and what makes it unusable.
//!
//! Inputs: the file's bytes. Outputs: a [`GatewayConfig`] or a [`ReadError`] that says where. Refuses to repair: a
//! configuration is taken as a whole or not at all.

use serde::{Deserialize, Serialize};

use crate::{Cohort, Lane, Route, Settings, cohort::BudgetRule};

/// The only value of `schema` that this version reads.
pub const SCHEMA: &str = "hedgerow.dev/gateway/v1";
/// File name in the configuration directory.
pub const FILE: &str = "gateway.json";
/// Largest file in bytes, decompressed, that gateways read and the operator writes: ten times what fits a `ConfigMap`.
pub const MAX_BYTES: usize = 10 * 1024 * 1024;

/// Everything that users decided and every guardrail decision, defaults applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewayConfig {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The fleet that this configuration is for.
    pub fleet: FleetId,
    /// Every object that went in, so that `/state` can say which generations are in force.
    #[serde(default)]
    pub objects: Vec<ObjectRef>,
    /// Fleet-wide settings.
    #[serde(default)]
    pub settings: Settings,
    /// Routes, sorted by name.
    #[serde(default)]
    pub routes: Vec<Route>,
    /// Cohorts of all policies in matching order (policy priority, policy name, written order): the first match wins.
    #[serde(default)]
    pub cohorts: Vec<Cohort>,
    /// Lanes in matching order: priority descending, then name. Requests that match none go to the built-in lane `default`.
    #[serde(default)]
    pub lanes: Vec<Lane>,
    /// One rule per model that a policy names; every other model uses `settings.defaults.budget`. Sorted by model.
    #[serde(default)]
    pub budgets: Vec<BudgetRule>,
}

/// Namespace and name of a fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FleetId {
    /// Kubernetes namespace; `local` in standalone.
    pub namespace: String,
    /// Value of `spec.gateway`.
    pub name: String,
}

/// One object that went into the configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectRef {
    /// `ProviderRoute`, `HedgePolicy`, `PriorityLane` or `GatewayFleet`.
    pub kind: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`; in standalone a stable hash of kind and name.
    pub uid: String,
    /// `metadata.generation`; in standalone it grows with each change of the object.
    pub generation: i64,
}

/// Why a configuration was refused as a whole.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not JSON, or not of the shape of [`GatewayConfig`].
    #[error("{file}: {source}")]
    Json {
        /// File name.
        file: &'static str,
        /// Position and cause.
        source: serde_json::Error,
    },
    /// Written by a version whose schema this one does not know.
    #[error(
        "{file}: schema {found:?} is not known to this version, which reads {expected:?}: upgrade the gateway first"
    )]
    Schema {
        /// File name.
        file: &'static str,
        /// What the file says.
        found: String,
        /// What this version reads.
        expected: &'static str,
    },
}

impl GatewayConfig {
    /// Reads a file's bytes. Ignores unknown fields, refuses an unknown schema.
    pub fn read(bytes: &[u8]) -> Result<Self, ReadError> {
        /// Only the field that decides whether the rest can be read.
        #[derive(Deserialize)]
        struct Head {
            schema: String,
        }
        let head: Head =
            serde_json::from_slice(bytes).map_err(|source| ReadError::Json { file: FILE, source })?;
        if head.schema != SCHEMA {
            return Err(ReadError::Schema { file: FILE, found: head.schema, expected: SCHEMA });
        }
        serde_json::from_slice(bytes).map_err(|source| ReadError::Json { file: FILE, source })
    }

    /// The file's bytes: pretty JSON with a final newline, identical for equal values.
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_configuration_of_this_schema_is_valid_and_round_trips() {
        let config = GatewayConfig::read(
            br#"{"schema":"hedgerow.dev/gateway/v1","fleet":{"namespace":"a","name":"default"}}"#,
        )
        .unwrap();
        assert_eq!(GatewayConfig::read(&config.write()).unwrap(), config);
        assert_eq!(config.settings.max_in_flight, 900);
    }

    #[test]
    fn an_unknown_schema_is_refused_even_if_the_rest_cannot_be_read() {
        let error = GatewayConfig::read(br#"{"schema":"hedgerow.dev/gateway/v9","fleet":7}"#).unwrap_err();
        assert!(error.to_string().contains("upgrade the gateway"), "{error}");
    }

    #[test]
    fn unknown_fields_are_ignored() {
        let text = br#"{"schema":"hedgerow.dev/gateway/v1","fleet":{"namespace":"a","name":"b","x":1},"y":{"z":[]}}"#;
        assert!(GatewayConfig::read(text).is_ok());
    }
}
