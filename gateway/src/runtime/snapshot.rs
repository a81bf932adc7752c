//! One configuration in force: immutable, shared by every request that started under it.
//!
//! Inputs: a `GatewayConfig` and what earlier snapshots left behind (`carried`). Outputs: a [`Snapshot`], or why the
//! configuration cannot be used. A request keeps the snapshot it started with; state (breakers, counts, budgets, lanes)
//! is shared between snapshots by identity.

use std::{collections::HashMap, sync::Arc, sync::atomic::AtomicU64};

use hedgerow_config::{
    self as config, Settings,
    gateway::{FleetId, ObjectRef},
};
use hedgerow_policy::draw::Key;

use super::{
    budget::ModelBudget, cohort::CohortRuntime, lane::LaneRuntime, matching::Traits, route::RouteRuntime,
};
use crate::{telemetry::metrics::ActionMetrics, wire::dialect::Dialect};

/// Name under which all unlisted models of a wildcard route are counted.
pub const WILDCARD: &str = "*";

/// One configuration in force.
pub struct Snapshot {
    /// Digest of the file.
    pub digest: String,
    /// Whose configuration it is.
    pub fleet: FleetId,
    /// Key of draws, affinity and fingerprints; equal in all pods of a fleet.
    pub key: Key,
    /// Budget rules of named models.
    pub budgets: Vec<config::cohort::BudgetRule>,
    /// Objects that went in.
    pub objects: Vec<ObjectRef>,
    /// Fleet-wide settings.
    pub settings: Settings,
    /// Routes, sorted by name.
    pub routes: Vec<Arc<RouteRuntime>>,
    /// Cohorts in matching order.
    pub cohorts: Vec<Arc<CohortRuntime>>,
    /// Lanes in matching order; the last one takes everything.
    pub lanes: Vec<Arc<LaneRuntime>>,
    /// What clients may ask for.
    pub listings: HashMap<String, Arc<Listing>>,
    /// Metric handles of ended user actions by lane, then by cohort; the first is for requests in no cohort.
    pub actions: Vec<Vec<ActionMetrics>>,
    /// Milliseconds since 1970 when it was put in force, for `created` in model lists.
    pub since_unix_ms: u64,
}

/// One public model name and who serves it.
pub struct Listing {
    /// Public name; [`WILDCARD`] for unlisted ones.
    pub name: String,
    /// Small number of the model, unique in the process.
    pub id: u16,
    /// Who serves it.
    pub offers: Vec<Offer>,
    /// Retry and hedge budget.
    pub budget: Arc<ModelBudget>,
    /// Turns taken by requests without affinity.
    pub turn: AtomicU64,
}

/// A route's entry for a model.
#[derive(Clone)]
pub struct Offer {
    /// The route.
    pub route: Arc<RouteRuntime>,
    /// Place in the route's models.
    pub model: usize,
}

impl Offer {
    /// The model's entry on its route.
    pub fn model(&self) -> Option<&super::route::ModelRuntime> {
        self.route.models.get(self.model)
    }

    /// The model's name as configured on its route.
    pub fn model_name(&self) -> &str {
        self.model().map_or("", |model| model.config.name.as_str())
    }
}

impl Snapshot {
    /// Who serves `model` in `dialect`.
    pub fn listing(&self, model: &str, dialect: Dialect) -> Option<&Arc<Listing>> {
        [model, WILDCARD]
            .into_iter()
            .filter_map(|name| self.listings.get(name))
            .find(|listing| listing.offers.iter().any(|offer| offer.route.dialect() == dialect))
    }

    /// The first cohort that takes a request.
    pub fn cohort(&self, request: &Traits<'_>) -> Option<&Arc<CohortRuntime>> {
        self.cohorts.iter().find(|cohort| request.in_cohort(&cohort.config.matches))
    }

    /// The first lane that takes a request.
    pub fn lane(&self, request: &Traits<'_>) -> Option<&Arc<LaneRuntime>> {
        self.lanes.iter().find(|lane| request.in_lane(lane.config.matches.as_ref())).or(self.lanes.last())
    }

    /// Metric handles of ended user actions.
    pub fn action_metrics(&self, cohort: Option<&CohortRuntime>, lane: &LaneRuntime) -> &ActionMetrics {
        let cohort = cohort.map_or(0, |cohort| cohort.place + 1);
        &self.actions[lane.place][cohort]
    }

    /// The budget rule of a model.
    pub fn budget_rule(&self, model: &str) -> &config::cohort::BudgetRule {
        self.budgets.iter().find(|rule| rule.model == model).unwrap_or(&self.settings.defaults.budget)
    }

    /// Contract, retry and deadline of a request.
    pub fn terms<'a>(&'a self, cohort: Option<&'a CohortRuntime>) -> Terms<'a> {
        let defaults = &self.settings.defaults;
        cohort.map_or(
            Terms { retry: &defaults.retry, contract: &defaults.contract, deadline: &defaults.deadline },
            |cohort| Terms {
                retry: &cohort.config.retry,
                contract: &cohort.config.contract,
                deadline: &cohort.config.deadline,
            },
        )
    }
}

/// What a cohort, or the fleet for requests in none, says about one user action.
#[derive(Clone, Copy)]
pub struct Terms<'a> {
    /// Attempts and back-off.
    pub retry: &'a config::cohort::Retry,
    /// What makes an answer valid.
    pub contract: &'a config::cohort::Contract,
    /// Ends.
    pub deadline: &'a config::cohort::Deadline,
}
