//! What survives a reload, and how a new snapshot is built on it.
//!
//! Identity: routes by uid, cohorts by policy and name, lanes and models by name. Whatever is not in the new
//! configuration is kept here (requests in flight still use it), so a cohort that comes back continues; lanes that left
//! are retired. A route that comes into a running fleet, was edited or was resumed ramps up.
//!
//! Invariant: building never changes the snapshot in force; a refused configuration changes nothing but numbers.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicU64},
};

use hedgerow_config::{self as config, GatewayConfig, cohort::BudgetRule, settings::Egress};
use hedgerow_policy::{draw::Key, time::Moment};

use super::{
    Runtime,
    cohort::{self, CohortRuntime, CohortState},
    error::ApplyError,
    fleet::FleetView,
    fleet_key,
    lane::{self, LaneRuntime, LaneState},
    route::{self, ModelRuntime, RouteRuntime, RouteState},
    snapshot::{Listing, Offer, Snapshot, WILDCARD},
    target::Address,
    trust::Trust,
};
use crate::race::transport::{Closed, Transport};

/// State by identity.
#[derive(Default)]
pub struct Carried {
    routes: HashMap<String, Arc<RouteState>>,
    cohorts: HashMap<(String, String), (u16, Arc<CohortState>)>,
    lanes: HashMap<String, Arc<LaneState>>,
    models: HashMap<String, u16>,
    route_numbers: u16,
}

impl Carried {
    /// Builds the snapshot of `config`.
    pub fn build(
        &mut self,
        runtime: &Runtime,
        config: GatewayConfig,
        digest: String,
        previous: Option<&Snapshot>,
        fleet: &FleetView,
    ) -> Result<Snapshot, ApplyError> {
        let now = runtime.clock.now();
        let key = fleet_key(&config.fleet.namespace, &config.fleet.name);
        let routes = config
            .routes
            .into_iter()
            .map(|route| self.route(runtime, route, &config.settings.egress, previous, now).map(Arc::new))
            .collect::<Result<Vec<_>, _>>()?;
        let listings = self.listings(runtime, &routes, &config.settings, &config.budgets, fleet, now)?;
        let cohorts = config
            .cohorts
            .into_iter()
            .enumerate()
            .map(|(place, cohort)| self.cohort(runtime, place, cohort).map(Arc::new))
            .collect::<Result<Vec<_>, _>>()?;
        runtime.lanes.with(|lanes| lanes.set_max_in_flight(config.settings.max_in_flight));
        let lanes = self.lanes(runtime, &key, config.lanes, fleet, now);
        let actions = lanes
            .iter()
            .map(|lane| {
                let of = |cohort: &str| runtime.metrics.actions(cohort, &lane.config.name);
                std::iter::once(of("")).chain(cohorts.iter().map(|cohort| of(&cohort.config.name))).collect()
            })
            .collect();
        runtime.budgets.rule_pod(&config.settings.defaults.budget, fleet.replicas);
        Ok(Snapshot {
            digest,
            fleet: config.fleet,
            key,
            budgets: config.budgets,
            objects: config.objects,
            settings: config.settings,
            routes,
            cohorts,
            lanes,
            listings,
            actions,
            since_unix_ms: runtime.clock.unix_ms(),
        })
    }

    fn route(
        &mut self,
        runtime: &Runtime,
        config: config::Route,
        egress: &Egress,
        previous: Option<&Snapshot>,
        now: Moment,
    ) -> Result<RouteRuntime, ApplyError> {
        let address = Address::new(&config)?;
        let models: Vec<_> = config
            .models
            .iter()
            .map(|model| ModelRuntime {
                config: model.clone(),
                prices: model.pricing.as_ref().map(route::prices),
                identity: config.identity(model),
                metrics: runtime.metrics.model(&config.name, listed_name(&model.name)),
            })
            .collect();
        let identity: String =
            models.iter().map(|model| model.identity.as_str()).collect::<Vec<_>>().join("\n");
        let before = previous.and_then(|old| old.routes.iter().find(|old| old.config.uid == config.uid));
        let same_way = previous.is_some_and(|old| old.settings.egress == *egress);
        let (transport, trust) = match before {
            Some(old) if same_way && same_pool(&old.config, &config) => {
                (old.transport.load_full(), old.trust.lock().unwrap_or_else(PoisonError::into_inner).clone())
            }
            _ => set_up(runtime, &config, egress),
        };
        let rule = route::breaker_rule(&config.breaker);
        let state = if let Some(state) = self.routes.get(&config.uid) {
            state.edit(&identity, rule, now);
            if before.is_some_and(|old| old.config.suspend) && !config.suspend {
                state.restart_ramp(now);
            }
            state.clone()
        } else {
            let id = next_number(&mut self.route_numbers, "routes")?;
            let state = Arc::new(RouteState::new(id, identity, rule, now, previous.is_some()));
            self.routes.insert(config.uid.clone(), state.clone());
            state
        };
        let metrics = runtime.metrics.route(&config.name);
        metrics.breaker(state.breaker(|breaker| breaker.state(now)));
        let (transport, trust) = (transport.into(), Mutex::new(trust));
        Ok(RouteRuntime { config, address, models, transport, trust, state, metrics })
    }

    fn listings(
        &mut self,
        runtime: &Runtime,
        routes: &[Arc<RouteRuntime>],
        settings: &config::Settings,
        budgets: &[BudgetRule],
        fleet: &FleetView,
        now: Moment,
    ) -> Result<HashMap<String, Arc<Listing>>, ApplyError> {
        let mut names: Vec<&str> =
            routes.iter().flat_map(|route| &route.config.models).map(|model| model.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let mut listings = HashMap::with_capacity(names.len());
        for name in names {
            let offers = routes.iter().filter_map(|route| offer(route, name)).collect();
            let rule = budgets.iter().find(|rule| rule.model == name).unwrap_or(&settings.defaults.budget);
            let budget = runtime
                .budgets
                .model(name, rule, fleet.replicas, now, |model| runtime.metrics.budget(listed_name(model)));
            let id = self.model_number(name)?;
            let listing = Listing { name: name.to_owned(), id, offers, budget, turn: AtomicU64::new(0) };
            listings.insert(name.to_owned(), Arc::new(listing));
        }
        Ok(listings)
    }

    fn model_number(&mut self, name: &str) -> Result<u16, ApplyError> {
        if let Some(id) = self.models.get(name) {
            return Ok(*id);
        }
        let mut last = u16::try_from(self.models.len()).unwrap_or(u16::MAX);
        let id = next_number(&mut last, "models")?;
        self.models.insert(name.to_owned(), id);
        Ok(id)
    }

    fn cohort(
        &mut self,
        runtime: &Runtime,
        place: usize,
        mut config: config::Cohort,
    ) -> Result<CohortRuntime, ApplyError> {
        let key = (config.policy.clone(), config.name.clone());
        let (id, state) = if let Some(known) = self.cohorts.get(&key) {
            known.clone()
        } else {
            let mut last = u16::try_from(self.cohorts.len()).unwrap_or(u16::MAX);
            let id = next_number(&mut last, "cohorts")?;
            let state = Arc::new(CohortState::new(config.decision.clone()));
            self.cohorts.insert(key, (id, state.clone()));
            (id, state)
        };
        config.decision = state.newest(&config.decision);
        let delay = [cohort::delay_rule(&config, true), cohort::delay_rule(&config, false)];
        let metrics = runtime.metrics.cohort(&config.name);
        Ok(CohortRuntime { config, place, id, delay, state, metrics })
    }

    fn lanes(
        &mut self,
        runtime: &Runtime,
        key: &Key,
        found: Vec<config::Lane>,
        fleet: &FleetView,
        now: Moment,
    ) -> Vec<Arc<LaneRuntime>> {
        let mut found = found;
        if !found.iter().any(|lane| lane.matches.is_none()) {
            found.push(config::Lane::built_in());
        }
        let gone: Vec<String> =
            self.lanes.keys().filter(|name| !found.iter().any(|lane| lane.name == **name)).cloned().collect();
        for name in gone {
            if let Some(state) = self.lanes.remove(&name) {
                runtime.lanes.with(|lanes| lanes.retire(now, state.id));
            }
        }
        found
            .into_iter()
            .enumerate()
            .map(|(place, lane)| {
                let (config, state) = self.lane(runtime, key, lane, fleet, now);
                let metrics = runtime.metrics.lane(&config.name);
                Arc::new(LaneRuntime { config, place, state, metrics })
            })
            .collect()
    }

    fn lane(
        &mut self,
        runtime: &Runtime,
        key: &Key,
        config: config::Lane,
        fleet: &FleetView,
        now: Moment,
    ) -> (config::Lane, Arc<LaneState>) {
        let rule = lane::rule(&config, |tenant| key.hash(tenant.as_bytes()));
        let state = if let Some(state) = self.lanes.get(&config.name) {
            runtime.lanes.with(|lanes| lanes.update(state.id, rule));
            state.clone()
        } else {
            let mean = fleet.lanes.get(&config.name);
            let warm = mean.map(|mean| lane::warm(mean, runtime.clock.unix_ms()));
            let id = runtime.lanes.with(|lanes| lanes.add(now, rule, warm));
            let state = Arc::new(LaneState::new(id));
            self.lanes.insert(config.name.clone(), state.clone());
            state
        };
        (config, state)
    }
}

/// The offer of `route` for the listed name: its own entry, else its wildcard.
fn offer(route: &Arc<RouteRuntime>, name: &str) -> Option<Offer> {
    let models = &route.config.models;
    let exact = models.iter().position(|model| model.name == name);
    let model = exact.or_else(|| models.iter().position(|model| model.name == WILDCARD))?;
    Some(Offer { route: route.clone(), model })
}

/// Connections of a route that has none yet. Where they cannot be set up, the others serve and the route says why.
fn set_up(runtime: &Runtime, route: &config::Route, egress: &Egress) -> (Arc<Arc<dyn Transport>>, Trust) {
    let trust = Trust::of(route, egress, &runtime.credentials);
    let transport = runtime.transports.open(route, egress, &trust).unwrap_or_else(|error| {
        tracing::error!(route = route.name, %error, "the route cannot be set up and takes no attempts");
        Arc::new(Closed(Arc::from(error.to_string())))
    });
    (Arc::new(transport), trust)
}

/// Whether two versions of a route can share connections.
fn same_pool(old: &config::Route, new: &config::Route) -> bool {
    old.endpoint == new.endpoint && old.tls == new.tls && old.timeouts.connect_ms == new.timeouts.connect_ms
}

fn listed_name(model: &str) -> &str {
    if model == WILDCARD { "other" } else { model }
}

fn next_number(last: &mut u16, what: &'static str) -> Result<u16, ApplyError> {
    *last = last.checked_add(1).ok_or(ApplyError::TooMany { what, limit: usize::from(u16::MAX) })?;
    Ok(*last)
}
