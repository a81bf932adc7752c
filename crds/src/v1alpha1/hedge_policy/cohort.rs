//! Cohorts: the named classes of requests that guardrails switch. Items of a list: no defaults in
//! the schema, see [`crate::effective`].

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::{super::reference::Operation, Mode, rule};
use crate::{
    text::{CohortName, HeaderValue, Label, ModelName, TenantName},
    units::{DurationText, Percent},
};

/// A named class of requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cohort {
    /// Name, unique in the fleet. At most 40 characters.
    pub name: CohortName,
    /// Disabled, Observe or Enforce for this cohort. Default: the policy's mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Which requests belong to it; all that is given must hold. Default: every request.
    #[serde(rename = "match", default, skip_serializing_if = "Option::is_none")]
    pub match_: Option<CohortMatch>,
    /// Share of matching requests that is enrolled, in percent; the others are never hedged. Default:
    /// 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub share_percent: Option<Percent>,
    /// Where hedges may go. Default: anywhere outside the primary's failure domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hedge_to: Option<HedgeTo>,
    /// Whether to hedge requests that mostly read the provider's prompt cache, which the alternate does
    /// not have. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hedge_warm_cache: Option<bool>,
    /// What the users of this cohort need. Reported, decides nothing. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<Objective>,
    /// Whether hedging of this cohort is switched off. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
}

impl Cohort {
    /// A cohort of that name with no other field set.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.into(),
            mode: None,
            match_: None,
            share_percent: None,
            hedge_to: None,
            hedge_warm_cache: None,
            objective: None,
            suspend: None,
        }
    }
}

/// Which tool use a cohort admits. There is no value for tools that the provider runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = rule::undescribed)]
pub enum ToolUse {
    /// Requests that declare no tool.
    None,
    /// Requests that declare tools, all of them run by the client.
    ClientOnly,
}

/// Which requests belong to a cohort; all that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = match_rules)]
pub struct CohortMatch {
    /// Models, as clients name them. Default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "set"))]
    pub models: Vec<ModelName>,
    /// true = streaming requests only, false = non-streaming only. Default: both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// Operations: ChatCompletions, Completions, Responses, Embeddings, Messages, CountTokens. Default:
    /// all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 6), extend("x-kubernetes-list-type" = "set"))]
    pub operations: Vec<Operation>,
    /// None = requests without tools; ClientOnly = requests whose tools are all run by the client.
    /// Default: both. Tools that the provider runs never match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolUse>,
    /// Estimated input in tokens must be below this. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub input_tokens_below: Option<i64>,
    /// Requested output in tokens must be given and below this. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub max_output_tokens_below: Option<i64>,
    /// Headers that must be present with exactly these values; names in any case. Default: none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 16))]
    pub headers: BTreeMap<String, HeaderValue>,
    /// Tenants. Default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "set"))]
    pub tenants: Vec<TenantName>,
}

fn match_rules(schema: &mut Schema) {
    rule::attach(schema, [rule::header_names("headers")]);
}

/// Where hedges of a cohort may go, inside what the failure domain and the data boundary allow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HedgeTo {
    /// Providers. Default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "set"))]
    pub providers: Vec<Label>,
    /// Regions. Default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "set"))]
    pub regions: Vec<Label>,
}

/// What the users of a cohort need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = objective_rules)]
pub struct Objective {
    /// First token within this time (non-streaming: the complete answer). 1ms to 1h. Required.
    pub first_token: DurationText,
    /// Share of requests that must meet it, in percent. Default: 99.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub percent: Option<Percent>,
}

fn objective_rules(schema: &mut Schema) {
    rule::attach(schema, [rule::within("firstToken", "1ms", "1h")]);
}
