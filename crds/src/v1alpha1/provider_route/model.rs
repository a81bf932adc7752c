//! The models of a route and their prices. Items of a list: no defaults in the schema, see
//! [`crate::effective`].

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::rule;
use crate::{
    text::ModelName,
    units::{DurationText, Micros},
};

/// One model that a route serves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules)]
pub struct Model {
    /// Name that clients ask for; * = any model that no route names. Routes of a fleet that list the
    /// same name are declared to be contract-equivalent.
    pub name: ModelName,
    /// Name at the upstream. Default: the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream_name: Option<ModelName>,
    /// Prices in micro-units of the fleet's currency per million tokens. A missing price is shown as
    /// unpriced, never as 0. Default: unpriced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pricing: Option<Pricing>,
    /// Context window in tokens. Default: unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub context_tokens: Option<i64>,
    /// Largest number of output tokens. Default: unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub max_output_tokens: Option<i64>,
    /// How long a stream may be silent before its first token. 100ms to 1h. Default: the
    /// route's timeouts.firstToken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token_timeout: Option<DurationText>,
}

fn rules(schema: &mut Schema) {
    rule::attach(schema, [rule::within("firstTokenTimeout", "100ms", "1h")]);
}

/// Prices of a model, in micro-units of the fleet's currency per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pricing {
    /// Price of a million input tokens, in micro-units. Default: unpriced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1_000_000_000_000_i64))]
    pub input_micros_per_million: Option<Micros>,
    /// Price of a million input tokens read from the provider's prompt cache, in micro-units. Default:
    /// that of input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1_000_000_000_000_i64))]
    pub cached_input_micros_per_million: Option<Micros>,
    /// Price of a million input tokens written to the provider's prompt cache, in micro-units. Default:
    /// that of input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1_000_000_000_000_i64))]
    pub cache_write_micros_per_million: Option<Micros>,
    /// Price of a million output tokens, in micro-units. Default: unpriced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1_000_000_000_000_i64))]
    pub output_micros_per_million: Option<Micros>,
}
