//! Version `v1alpha1` of the four kinds.
//!
//! Every object level carries its constant defaults through `#[serde(default)]` and `Default`: the
//! schema shows them and reading a partial object fills them. Two exceptions: below the items of a
//! list there are no defaults in the schema (GitOps tools would report drift for ever), fields there are
//! optional and [`crate::effective`] fills them; and a default that depends on another field is not
//! constant, so it is found there too.
//!
//! Rules are CEL, attached by a `rules` function of each type (module `rule`). `KubeSchema` is derived only
//! at the root: it renames the struct, and container-level `#[serde(default)]` doesn't survive that.

pub mod gateway_fleet;
pub mod hedge_policy;
pub mod priority_lane;
pub mod provider_route;
mod reference;
mod rule;

pub use gateway_fleet::{GatewayFleet, GatewayFleetSpec, GatewayFleetStatus};
pub use hedge_policy::{HedgePolicy, HedgePolicySpec, HedgePolicyStatus};
pub use priority_lane::{PriorityLane, PriorityLaneSpec, PriorityLaneStatus};
pub use provider_route::{ProviderRoute, ProviderRouteSpec, ProviderRouteStatus};
pub use reference::{DataRef, Operation};
