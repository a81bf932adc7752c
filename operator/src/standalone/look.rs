//! One round over a fleet's cohorts: facts from the readings, decisions from `domain::guardrail`.

use std::{collections::BTreeMap, path::Path, time::Duration};

use hedgerow_config::State;
use hedgerow_crds::{Kind, v1alpha1::HedgePolicyStatus};
use hedgerow_policy::time::Moment;

use super::{fleet::Fleet, hold, status_file::StatusFiles};
use crate::domain::{
    CohortKey, Policy, decision,
    guardrail::{Decision, Facts, Standing, decide, rules},
};

/// What one round gave.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// Transitions, in order.
    pub(super) decisions: Vec<Decision>,
    /// Annotations that cannot be read.
    pub(super) problems: Vec<String>,
}

impl Fleet {
    /// Makes sure that every cohort in force has a standing: from its status where it has one, else fresh. Those that are
    /// gone are forgotten.
    pub(super) fn restore(&mut self, files: &StatusFiles, now: Moment) {
        let mut kept = BTreeMap::new();
        for policy in &self.snapshot.policies {
            let mut before: Option<Vec<_>> = None;
            for cohort in &policy.spec.cohorts {
                let key = CohortKey { policy: policy.name.clone(), cohort: cohort.name.to_string() };
                let standing = self.standings.remove(&key).unwrap_or_else(|| {
                    let statuses = before.get_or_insert_with(|| {
                        let document = files.read::<HedgePolicyStatus>(Kind::HedgePolicy, &policy.name);
                        document.map(|document| document.status.cohorts).unwrap_or_default()
                    });
                    let status =
                        statuses.iter().find(|status| *status.name == *cohort.name && status.since.is_some());
                    status
                        .map(|status| Standing::restore(status, &rules(&policy.spec), now))
                        .unwrap_or_default()
                });
                kept.insert(key, standing);
            }
        }
        self.standings = kept;
    }

    /// Looks at every cohort once. `config_dir` is where requests by hand are left.
    pub(super) fn look(&mut self, config_dir: &Path, now: Moment) -> Round {
        let mut round = Round::default();
        let command = format!(" --config {}", config_dir.display());
        let p95 = self.route_p95();
        let policies: Vec<Policy> = self.snapshot.policies.clone();
        for policy in &policies {
            let annotations = annotations(policy, config_dir);
            for cohort in &policy.spec.cohorts {
                let key = CohortKey { policy: policy.name.clone(), cohort: cohort.name.to_string() };
                if self.is_elsewhere(&key) {
                    continue;
                }
                let states: Vec<&State> = self.store.lives().map(|life| &life.state).collect();
                let fleet_spec = self.snapshot.settings.as_ref().map(|fleet| &fleet.spec);
                let facts = Facts {
                    fleet: &self.name,
                    key: &key,
                    mode: decision::mode(fleet_spec, &policy.spec, cohort),
                    spec: &policy.spec,
                    annotations: &annotations,
                    states: &states,
                    seen: self.store.present(now).next().is_some(),
                    lost_today: self.today(&key.cohort).cost_lost,
                    p95: &p95,
                    command: &command,
                    now,
                };
                let fresh = Standing::default();
                let mut outcome = decide(self.standings.get(&key).unwrap_or(&fresh), &facts);
                round.decisions.extend(outcome.decision.take());
                round.problems.append(&mut outcome.problems);
                self.standings.insert(key.clone(), outcome.standing.clone());
                self.outcomes.insert(key, outcome);
            }
        }
        self.outcomes.retain(|key, _| self.standings.contains_key(key));
        round
    }

    /// Whether another policy has the cohort, or its policy is not in force.
    fn is_elsewhere(&self, key: &CohortKey) -> bool {
        let verdict = self
            .verdicts
            .iter()
            .find(|verdict| verdict.kind == Kind::HedgePolicy && verdict.name == key.policy);
        verdict.is_none_or(|verdict| {
            !verdict.accepted() || verdict.conflicts.iter().any(|conflict| conflict.cohort == key.cohort)
        })
    }

    fn route_p95(&self) -> BTreeMap<String, Duration> {
        let routes = self.snapshot.routes.iter();
        routes.filter_map(|route| Some((route.name.clone(), self.recent.route(&route.name).p95?))).collect()
    }
}

/// Annotations of the YAML and requests by hand; the latter win.
fn annotations(policy: &Policy, config_dir: &Path) -> BTreeMap<String, String> {
    let mut annotations = policy.annotations.clone();
    annotations.extend(hold::read(config_dir, &policy.name));
    annotations
}
