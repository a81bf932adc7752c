//! The operator's own metrics, as OpenMetrics text.
//!
//! Labels are names of objects only; nothing of requests is known here. A family of one fleet ends with the fleet.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};

use crate::{cluster::FleetId, domain::guardrail::Decision};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CohortState {
    namespace: String,
    policy: String,
    cohort: String,
    state: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Transition {
    namespace: String,
    policy: String,
    cohort: String,
    to: String,
    reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Failure {
    step: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Scrapes {
    namespace: String,
    fleet: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Pods {
    namespace: String,
    fleet: String,
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Watch {
    kind: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Writes {
    resource: String,
}

/// All of them.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    leader: Gauge,
    cohorts: Family<CohortState, Gauge>,
    transitions: Family<Transition, Counter>,
    reconciles: Histogram,
    errors: Family<Failure, Counter>,
    scrapes_failed: Family<Scrapes, Counter>,
    pods: Family<Pods, Gauge>,
    watches_failed: Family<Watch, Counter>,
    writes: Family<Writes, Counter>,
    /// Which cohorts have a sample, by fleet.
    shown: Mutex<BTreeSet<(FleetId, String, String, String)>>,
}

/// States of pods that are counted.
const PODS: [&str; 3] = ["desired", "ready", "programmed"];

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("hedgerow_operator"),
            leader: Gauge::default(),
            cohorts: Family::default(),
            transitions: Family::default(),
            reconciles: Histogram::new(exponential_buckets(0.001, 4.0, 8)),
            errors: Family::default(),
            scrapes_failed: Family::default(),
            pods: Family::default(),
            watches_failed: Family::default(),
            writes: Family::default(),
            shown: Mutex::default(),
        };
        let registry = &mut metrics.registry;
        registry.register("leader", "1 while this process leads", metrics.leader.clone());
        registry.register("cohort_state", "1 for the present state of a cohort", metrics.cohorts.clone());
        registry.register("transitions", "Guardrail decisions", metrics.transitions.clone());
        registry.register("reconcile_seconds", "Time of one round over a fleet", metrics.reconciles.clone());
        registry.register("reconcile_errors", "Steps of a round that failed", metrics.errors.clone());
        registry.register("scrape_failures", "Pods that could not be read", metrics.scrapes_failed.clone());
        registry.register("pods", "Gateway pods", metrics.pods.clone());
        registry.register("watch_errors", "Watches that broke", metrics.watches_failed.clone());
        registry.register("writes", "Writes to the API server", metrics.writes.clone());
        metrics
    }
}

impl Metrics {
    /// Whether this process leads.
    pub fn leads(&self, leads: bool) {
        self.leader.set(i64::from(leads));
    }

    /// A transition.
    pub fn decided(&self, namespace: &str, decision: &Decision) {
        let labels = Transition {
            namespace: namespace.to_owned(),
            policy: decision.key.policy.clone(),
            cohort: decision.key.cohort.clone(),
            to: decision.to.as_str().to_owned(),
            reason: decision.reason.as_str().to_owned(),
        };
        self.transitions.get_or_create(&labels).inc();
    }

    /// The present states of a fleet's cohorts: policy, cohort, state.
    pub fn cohorts(&self, id: &FleetId, states: impl Iterator<Item = (String, String, String)>) {
        let new: BTreeSet<_> =
            states.map(|(policy, cohort, state)| (id.clone(), policy, cohort, state)).collect();
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let old: BTreeSet<_> = shown.iter().filter(|(fleet, ..)| fleet == id).cloned().collect();
        for gone in old.difference(&new) {
            self.cohorts.remove(&cohort(gone));
            shown.remove(gone);
        }
        for added in new.difference(&old) {
            self.cohorts.get_or_create(&cohort(added)).set(1);
            shown.insert(added.clone());
        }
    }

    /// One round over a fleet.
    pub fn reconciled(&self, took: Duration) {
        self.reconciles.observe(took.as_secs_f64());
    }

    /// A step of a round failed.
    pub fn failed(&self, step: &'static str) {
        self.errors.get_or_create(&Failure { step }).inc();
    }

    /// A pod could not be read.
    pub fn scrape_failed(&self, id: &FleetId) {
        self.scrapes_failed.get_or_create(&fleet(id)).inc();
    }

    /// Pods of a fleet: wanted, ready, with the present configuration.
    pub fn pods(&self, id: &FleetId, counts: [usize; 3]) {
        for (state, count) in PODS.into_iter().zip(counts) {
            let gauge = self.pods.get_or_create(&pods(id, state));
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
    }

    /// A watch broke.
    pub fn watch_failed(&self, kind: &str) {
        self.watches_failed.get_or_create(&Watch { kind: kind.to_owned() }).inc();
    }

    /// A write to the API server.
    pub fn wrote(&self, resource: &str) {
        self.writes.get_or_create(&Writes { resource: resource.to_owned() }).inc();
    }

    /// Nobody works on a fleet any more.
    pub fn forget(&self, id: &FleetId) {
        self.cohorts(id, std::iter::empty());
        self.scrapes_failed.remove(&fleet(id));
        for state in PODS {
            self.pods.remove(&pods(id, state));
        }
    }

    /// The text that Prometheus reads.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

fn cohort((id, policy, name, state): &(FleetId, String, String, String)) -> CohortState {
    CohortState {
        namespace: id.namespace.clone(),
        policy: policy.clone(),
        cohort: name.clone(),
        state: state.clone(),
    }
}

fn fleet(id: &FleetId) -> Scrapes {
    Scrapes { namespace: id.namespace.clone(), fleet: id.name.clone() }
}

fn pods(id: &FleetId, state: &'static str) -> Pods {
    Pods { namespace: id.namespace.clone(), fleet: id.name.clone(), state }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cohort_has_a_sample_for_its_present_state_only() {
        let metrics = Metrics::default();
        let id = FleetId { namespace: "a".into(), name: "default".into() };
        let state = |state: &str| [("chat".to_owned(), "stream".to_owned(), state.to_owned())].into_iter();
        metrics.cohorts(&id, state("Active"));
        assert!(metrics.text().contains("state=\"Active\"} 1"), "{}", metrics.text());
        metrics.cohorts(&id, state("Suspended"));
        assert!(!metrics.text().contains("Active") && metrics.text().contains("Suspended"));
        metrics.pods(&id, [2, 1, 0]);
        metrics.forget(&id);
        assert!(!metrics.text().contains("namespace="), "{}", metrics.text());
    }
}
