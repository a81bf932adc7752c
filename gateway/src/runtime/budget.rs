//! Retry and hedge budgets: one bucket per model and one for the pod; both give or neither.
//!
//! A [`Reservation`] is a token that was taken for an attempt that is not yet sent. Dropping it refunds, spending it does
//! not. Buckets outlive snapshots; rules are replaced in place.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use hedgerow_config::cohort::BudgetRule;
use hedgerow_policy::{
    budget::{self, Bucket, Empty, Grant, Rule, Spend},
    gauge::{Gauge, Held},
    time::Moment,
};

/// All buckets of the pod.
pub struct Budgets {
    pod: Arc<Bucket>,
    models: Mutex<HashMap<String, Arc<ModelBudget>>>,
    /// Tokens taken for attempts that are not yet sent, in 1/1000.
    pub reserved: Gauge,
}

/// The bucket of one model with the pod's behind it.
pub struct ModelBudget {
    /// Public model name, `*` for all unlisted.
    pub model: String,
    bucket: Bucket,
    pod: Arc<Bucket>,
    reserved: Gauge,
    shown: crate::telemetry::metrics::Level,
}

impl Budgets {
    /// Only the pod's bucket.
    pub fn new(now: Moment) -> Self {
        let pod = Arc::new(Bucket::pod(&Rule::default(), now));
        Self { pod, models: Mutex::default(), reserved: Gauge::default() }
    }

    /// Replaces the pod's rule.
    pub fn rule_pod(&self, found: &BudgetRule, replicas: u32) {
        self.pod.set_rule(&rule(found, replicas));
    }

    /// The bucket of `model` under `found`, made when it is missing.
    pub fn model(
        &self,
        model: &str,
        found: &BudgetRule,
        replicas: u32,
        now: Moment,
        shown: impl FnOnce(&str) -> crate::telemetry::metrics::Level,
    ) -> Arc<ModelBudget> {
        let rule = rule(found, replicas);
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(budget) = models.get(model) {
            budget.bucket.set_rule(&rule);
            return budget.clone();
        }
        let budget = Arc::new(ModelBudget {
            model: model.to_owned(),
            bucket: Bucket::new(&rule, now),
            pod: self.pod.clone(),
            reserved: self.reserved.clone(),
            shown: shown(model),
        });
        models.insert(model.to_owned(), budget.clone());
        budget
    }

    /// The number of pods changed: every bucket gets its new share.
    pub fn share<'a>(&self, found: impl Fn(&str) -> &'a BudgetRule, replicas: u32) {
        self.rule_pod(found(""), replicas);
        for budget in self.models.lock().unwrap_or_else(PoisonError::into_inner).values() {
            budget.bucket.set_rule(&rule(found(&budget.model), replicas));
        }
    }

    /// Shows all balances.
    pub fn show(&self) {
        for budget in self.models.lock().unwrap_or_else(PoisonError::into_inner).values() {
            budget.shown.set(budget.bucket.balance_milli() as f64 / 1_000.0);
        }
    }
}

impl ModelBudget {
    /// An original was admitted.
    pub fn deposit(&self, now: Moment) {
        budget::deposit(&self.bucket, &self.pod, now);
    }

    /// An original ended.
    pub fn settle(&self, now: Moment, ok: bool) {
        self.bucket.settle(now, ok);
        self.pod.settle(now, ok);
    }

    /// Balance in 1/1000 of an attempt.
    pub fn balance_milli(&self) -> u64 {
        self.bucket.balance_milli()
    }

    /// Takes one token.
    pub fn reserve(self: &Arc<Self>, spend: Spend, now: Moment) -> Result<Reservation, Empty> {
        let grant = budget::take(&self.bucket, &self.pod, spend, now)?;
        Ok(Reservation { budget: self.clone(), grant: Some(grant), _held: self.reserved.hold(1_000) })
    }
}

/// One token for an attempt that is not yet sent; dropping refunds it.
#[must_use = "dropping it refunds the token"]
pub struct Reservation {
    budget: Arc<ModelBudget>,
    grant: Option<Grant>,
    _held: Held,
}

impl Reservation {
    /// The attempt is sent: the token is gone.
    pub fn spend(mut self) {
        // A grant that is not refunded is spent.
        self.grant = None;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(grant) = self.grant.take() {
            budget::refund(&self.budget.bucket, &self.budget.pod, grant);
        }
    }
}

fn rule(found: &BudgetRule, replicas: u32) -> Rule {
    Rule {
        ratio_percent: u16::try_from(found.ratio_percent).unwrap_or(u16::MAX),
        cap: found.cap,
        retry_reserve_per_second: found.retry_reserve_per_second,
        replicas: replicas.max(1),
    }
}
