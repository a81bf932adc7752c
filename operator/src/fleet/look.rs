//! One round over a fleet's cohorts: facts from the readings, decisions from `domain::guardrail`.

use std::{collections::BTreeMap, time::Duration};

use hedgerow_config::State;
use hedgerow_crds::{Kind, v1alpha1::hedge_policy::CohortStatus};
use hedgerow_policy::{
    guardrail::{Context, Latch},
    time::Moment,
};

use super::{Memory, history::History};
use crate::{
    domain::{
        CohortKey, Policy, decision,
        guardrail::{Decision, Facts, Measured, Standing, decide, rules},
    },
    scrape::{Cumulative, Recent},
    status::Sight,
};

/// Recent samples below which their median says nothing.
const MEDIAN_SAMPLES: f64 = 50.0;

/// What one round gave.
#[derive(Debug, Default)]
pub struct Round {
    /// Transitions, in order.
    pub decisions: Vec<Decision>,
    /// Annotations that cannot be read.
    pub problems: Vec<String>,
}

impl Memory {
    /// Makes sure that every cohort in force has a standing: from its status where it has one, else fresh. Those that are
    /// gone are forgotten. `statuses` gives the cohorts' statuses of a policy, as last written.
    pub fn restore(&mut self, mut statuses: impl FnMut(&str) -> Vec<CohortStatus>, now: Moment) {
        let mut kept = BTreeMap::new();
        for policy in &self.snapshot.policies {
            let mut before: Option<Vec<_>> = None;
            for cohort in &policy.spec.cohorts {
                let key = CohortKey { policy: policy.name.clone(), cohort: cohort.name.to_string() };
                let standing = self.standings.remove(&key).unwrap_or_else(|| {
                    let statuses = before.get_or_insert_with(|| statuses(&policy.name));
                    let status =
                        statuses.iter().find(|status| *status.name == *cohort.name && status.since.is_some());
                    status.map_or_else(
                        || Standing {
                            latch: Latch { since: now, ..Latch::default() },
                            ..Standing::default()
                        },
                        |status| Standing::restore(status, &rules(&policy.spec), now),
                    )
                });
                kept.insert(key, standing);
            }
        }
        self.standings = kept;
    }

    /// Takes over what somebody else has decided about a policy's cohorts; true where there is anything. `known` are their
    /// statuses as we last read or wrote them, `stored` those of now.
    pub fn adopt(
        &mut self,
        policy: &Policy,
        known: &[CohortStatus],
        stored: &[CohortStatus],
        now: Moment,
    ) -> bool {
        let mut adopted = false;
        for status in stored {
            let key = CohortKey { policy: policy.name.clone(), cohort: status.name.to_string() };
            let Some(standing) = self.standings.get_mut(&key) else { continue };
            let known = known.iter().find(|known| *known.name == *status.name);
            let known = known.map_or(0, |known| u64::try_from(known.transition).unwrap_or(0));
            if standing.yields_to(status, known) {
                *standing = Standing::restore(status, &rules(&policy.spec), now);
                adopted = true;
            }
        }
        adopted
    }

    /// Looks at every cohort once. `sight` = whether its pods can be judged. `annotations` are those of a policy, requests by hand included; `command` ends the
    /// commands in messages, such as ` -n NAMESPACE`.
    pub fn look(
        &mut self,
        annotations: impl Fn(&Policy) -> BTreeMap<String, String>,
        command: &str,
        sight: Sight,
        now: Moment,
    ) -> Round {
        let mut round = Round::default();
        let unseen = self.unseen(sight, now);
        let p95 = self.route_p95();
        let policies: Vec<Policy> = self.snapshot.policies.clone();
        for policy in &policies {
            let annotations = annotations(policy);
            for cohort in &policy.spec.cohorts {
                let key = CohortKey { policy: policy.name.clone(), cohort: cohort.name.to_string() };
                if self.is_elsewhere(&key) {
                    continue;
                }
                let states: Vec<&State> = self.store.lives().map(|life| &life.state).collect();
                let fleet_spec = Some(self.snapshot.spec());
                let fresh = Standing::default();
                let standing = self.standings.get(&key).unwrap_or(&fresh);
                let measured =
                    measured(self.store.counted(), &self.recent, &self.history, &key.cohort, standing);
                let facts = Facts {
                    fleet: &self.name,
                    key: &key,
                    mode: decision::mode(fleet_spec, &policy.spec, cohort),
                    spec: &policy.spec,
                    annotations: &annotations,
                    states: &states,
                    unseen,
                    measured: &measured,
                    p95: &p95,
                    command,
                    now,
                };
                let mut outcome = decide(standing, &facts);
                round.decisions.extend(outcome.decision.take());
                round.problems.append(&mut outcome.problems);
                self.standings.insert(key.clone(), outcome.standing.clone());
                self.outcomes.insert(key, outcome);
            }
        }
        self.outcomes.retain(|key, _| self.standings.contains_key(key));
        round
    }

    /// For how long nothing could be judged. Without pods nothing is hedged, so that is no blindness, but no sight either.
    fn unseen(&mut self, sight: Sight, now: Moment) -> Duration {
        if sight != Sight::Blind {
            self.seen = now;
        }
        match sight {
            Sight::Clear => Duration::ZERO,
            Sight::Nothing | Sight::Blind => now.since(self.seen).max(Duration::from_nanos(1)),
        }
    }

    /// Whether another policy has the cohort, or its policy is not in force.
    fn is_elsewhere(&self, key: &CohortKey) -> bool {
        let verdict = self.verdict(Kind::HedgePolicy, &key.policy);
        verdict.is_none_or(|verdict| {
            !verdict.accepted() || verdict.conflicts.iter().any(|conflict| conflict.cohort == key.cohort)
        })
    }
}

/// What the pods' rings do not hold of a cohort.
pub(crate) fn measured(
    counted: &Cumulative,
    recent: &Recent,
    history: &History,
    cohort: &str,
    standing: &Standing,
) -> Measured {
    let from = standing.hedging_since.unwrap_or(Moment::ZERO);
    let now = recent.without_hedging(Some(cohort));
    let median = now.p50.filter(|_| now.samples >= MEDIAN_SAMPLES);
    Measured {
        past: history.past(cohort, counted),
        context: Context {
            error_baseline: history.error_rate(cohort),
            median: median.zip(history.median(cohort)),
            tail_gain: history.tail_gain(cohort, counted, from),
            spent_today: history.today(cohort).lost.0,
            ..Context::default()
        },
    }
}
