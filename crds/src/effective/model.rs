//! A model with the route's values and its own defaults.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    text::{DeploymentName, ModelName},
    units::{DurationText, Micros},
    v1alpha1::provider_route::{Api, Model, Pricing, ProviderRouteSpec},
};

/// The values of a model in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EffectiveModel {
    /// Name that clients ask for; * = any.
    pub name: ModelName,
    /// Name at the upstream; * = the name that the client asked for.
    pub upstream_name: ModelName,
    /// Azure deployment; absent for other dialects and for *.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<DeploymentName>,
    /// How long a stream may be silent before its first token.
    pub first_token_timeout: DurationText,
    /// Prices; absent = unpriced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pricing: Option<EffectivePricing>,
}

/// Prices in force, in micro-units of the fleet's currency per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EffectivePricing {
    /// A million input tokens, in micro-units.
    #[schemars(range(min = 0, max = 1_000_000_000_000_i64))]
    pub input_micros_per_million: Micros,
    /// A million input tokens read from the prompt cache, in micro-units.
    #[schemars(range(min = 0, max = 1_000_000_000_000_i64))]
    pub cached_input_micros_per_million: Micros,
    /// A million input tokens written to the prompt cache, in micro-units.
    #[schemars(range(min = 0, max = 1_000_000_000_000_i64))]
    pub cache_write_micros_per_million: Micros,
    /// A million output tokens, in micro-units.
    #[schemars(range(min = 0, max = 1_000_000_000_000_i64))]
    pub output_micros_per_million: Micros,
}

/// The values of one model of a route.
pub fn model(route: &ProviderRouteSpec, model: &Model) -> EffectiveModel {
    let upstream_name = model.upstream_name.clone().unwrap_or_else(|| model.name.clone());
    EffectiveModel {
        name: model.name.clone(),
        deployment: deployment(route, model, &upstream_name),
        upstream_name,
        first_token_timeout: model
            .first_token_timeout
            .clone()
            .unwrap_or_else(|| route.timeouts.first_token.clone()),
        pricing: model.pricing.as_ref().and_then(pricing),
    }
}

/// The values of all models of a route, in written order.
pub fn models(route: &ProviderRouteSpec) -> Vec<EffectiveModel> {
    route.models.iter().map(|one| model(route, one)).collect()
}

/// Azure's deployment: as listed, else of the upstream's name; the model * has none of its own.
fn deployment(route: &ProviderRouteSpec, model: &Model, upstream: &ModelName) -> Option<DeploymentName> {
    if route.api != Api::AzureOpenAI {
        return None;
    }
    let listed = route.azure.as_ref().and_then(|azure| azure.deployments.get(&model.name.0));
    listed.cloned().or_else(|| (*upstream != "*").then(|| DeploymentName(upstream.0.clone())))
}

/// Complete prices, or none: a model with half a price list is unpriced. Cached tokens without a price
/// of their own cost what input costs, which never shows spend too low.
fn pricing(pricing: &Pricing) -> Option<EffectivePricing> {
    let input = pricing.input_micros_per_million?;
    Some(EffectivePricing {
        input_micros_per_million: input,
        cached_input_micros_per_million: pricing.cached_input_micros_per_million.unwrap_or(input),
        cache_write_micros_per_million: pricing.cache_write_micros_per_million.unwrap_or(input),
        output_micros_per_million: pricing.output_micros_per_million?,
    })
}
