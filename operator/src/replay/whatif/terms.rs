//! What the user has given beside the records: a policy for bounds and guardrails, routes for prices.

use std::{collections::BTreeMap, time::Duration};

use hedgerow_crds::v1alpha1::{gateway_fleet::GatewayFleetSpec, hedge_policy::HedgePolicySpec};
use hedgerow_policy::ledger::Prices;

use crate::{domain::Objects, replay::model::terms};

/// Policy and prices.
pub struct Given {
    /// The policy, or that of the defaults.
    pub policy: HedgePolicySpec,
    /// Prices by route and model.
    pub prices: BTreeMap<(String, String), Prices>,
    /// Currency of them: that of the fleet where one is given, else the resource's default.
    pub currency: String,
}

impl Default for Given {
    fn default() -> Self {
        let currency = GatewayFleetSpec::default().currency.to_string();
        Self { policy: terms::policy(&serde_json::json!({})), prices: BTreeMap::new(), currency }
    }
}

impl Given {
    /// Prices of a route's model; those of its only model where the records name none.
    pub fn price(&self, route: &str, model: &str) -> Option<Prices> {
        let exact = self.prices.get(&(route.to_owned(), model.to_owned()));
        exact.copied().or_else(|| {
            let mut of_route = self.prices.iter().filter(|((name, _), _)| name == route);
            of_route.next().map(|(_, prices)| *prices).filter(|_| of_route.next().is_none())
        })
    }
}

impl Given {
    /// Until when a request of a cohort must have its first token (its whole answer where it does not stream).
    pub fn deadline(&self, cohort: &str, streaming: bool) -> Duration {
        let named = self.policy.cohorts.iter().find(|of| of.name == cohort);
        let objective = named.and_then(|of| of.objective.as_ref()).map(|objective| &objective.first_token);
        let deadline = &self.policy.deadline;
        let own = if streaming { &deadline.stream } else { &deadline.complete };
        objective.unwrap_or(own).parse().unwrap_or(Duration::MAX)
    }

    /// Of the user's objects: the only policy, or the one that is named; prices of all routes.
    ///
    /// # Errors
    /// There are several policies and none is named, or none of that name.
    pub fn of(objects: &Objects) -> Result<Self, String> {
        let mut given = Self::default();
        match objects.policies.as_slice() {
            [] => {}
            [policy] => given.policy = policy.spec.clone(),
            several => {
                let names: Vec<&str> = several.iter().map(|policy| policy.name.as_str()).collect();
                return Err(format!(
                    "there are {} HedgePolicies ({}): give the files of one of them and of the routes",
                    several.len(),
                    names.join(", ")
                ));
            }
        }
        if let [fleet] = objects.fleets.as_slice() {
            given.currency = fleet.spec.currency.to_string();
        }
        for route in &objects.routes {
            for model in &route.spec.models {
                let Some(pricing) = &model.pricing else { continue };
                let amount = |micros: Option<i64>| micros.and_then(|micros| u64::try_from(micros).ok());
                let (Some(input), Some(output)) =
                    (amount(pricing.input_micros_per_million), amount(pricing.output_micros_per_million))
                else {
                    continue;
                };
                let prices = Prices {
                    input,
                    output,
                    cache_read: amount(pricing.cached_input_micros_per_million).unwrap_or(input),
                    cache_write: input,
                };
                given.prices.insert((route.name.clone(), model.name.to_string()), prices);
            }
        }
        Ok(given)
    }
}
