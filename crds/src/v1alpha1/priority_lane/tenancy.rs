//! How tenants share a lane.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::rule;
use crate::{text::TenantName, units::Percent};

/// How tenants share a lane: while others wait, none exceeds its weighted share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = rules)]
pub struct Tenants {
    /// Most that one tenant may take of the lane, in percent of its limit. Default: 100.
    #[schemars(range(min = 1, max = 100))]
    pub max_share_percent: Percent,
    /// Weight by tenant, 1 to 1000; a tenant that is not listed weighs 1. Default: none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 256))]
    pub weights: BTreeMap<String, i32>,
    /// Tenants that are always shed. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), extend("x-kubernetes-list-type" = "set"))]
    pub deny: Vec<TenantName>,
}

impl Default for Tenants {
    fn default() -> Self {
        Self { max_share_percent: 100, weights: BTreeMap::new(), deny: Vec::new() }
    }
}

fn rules(schema: &mut Schema) {
    rule::attach(
        schema,
        [rule::fixed(
            "!has(self.weights) || self.weights.all(t, size(t) <= 63 && self.weights[t] >= 1 && self.weights[t] <= 1000)",
            "weights",
            "a weight is a number from 1 to 1000, for a tenant of at most 63 characters",
        )],
    );
}
