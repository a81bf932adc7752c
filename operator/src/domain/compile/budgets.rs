//! Retry and hedge budgets: one rule per model.
//!
//! A policy rules the models that its cohorts name. A cohort that names none takes every model, so its policy rules
//! all models that the fleet's routes list. The first policy in order wins; a model that no policy rules has the
//! fleet's default budget.

use std::collections::BTreeMap;

use hedgerow_config::{cohort::BudgetRule, route::Model};
use hedgerow_crds::v1alpha1::hedge_policy::{Budget, Cohort};

use super::{
    cohorts::models,
    measure::{count, narrow},
};
use crate::domain::object::Policy;

/// All rules, by model.
pub(super) fn budgets(policies: &[(&Policy, Vec<&Cohort>)], served: &[&Model]) -> Vec<BudgetRule> {
    let mut rules = BTreeMap::new();
    for (policy, cohorts) in policies {
        for cohort in cohorts {
            let named = cohort.match_.as_ref().map(|matches| models(&matches.models)).unwrap_or_default();
            let all = served.iter().map(|model| model.name.clone()).filter(|name| name != "*");
            let ruled = if named.is_empty() { all.collect() } else { named };
            for model in ruled {
                rules.entry(model).or_insert_with_key(|model| rule(&policy.spec.budget, model));
            }
        }
    }
    rules.into_values().collect()
}

/// One rule; an empty model is the default.
pub(super) fn rule(budget: &Budget, model: &str) -> BudgetRule {
    BudgetRule {
        model: model.to_owned(),
        ratio_percent: count(budget.ratio_percent),
        cap: narrow(budget.cap),
        retry_reserve_per_second: count(budget.retry_reserve_per_second),
    }
}
