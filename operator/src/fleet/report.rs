//! The status of every object of a fleet, made by `status` from what is remembered.
//!
//! Input: the memory, the pods, the status before. Output: the status now, for whoever writes it.

use std::{collections::BTreeMap, time::Duration};

use hedgerow_crds::{
    Kind,
    condition::Reason,
    v1alpha1::{
        GatewayFleetStatus, HedgePolicyStatus, PriorityLaneStatus, ProviderRouteStatus,
        hedge_policy::{Cohort, Recommendation},
    },
};
use hedgerow_policy::{guardrail::State, latency::Curve, time::Moment};

use super::{
    Memory,
    worth::{self, Lengths, Signs, Tail, Terms},
};
use crate::{
    domain::{
        Acceptance, CohortKey, Lane, Policy, Route, Verdict, compile::reference, decision, guardrail::Outcome,
    },
    status::{self, CohortFacts, LaneFigures, Pods, RouteFigures},
};

/// Outcomes of attempts that count as failures of the route.
const FAILURES: [&str; 4] = ["failed", "invalid", "timed_out", "truncated"];
/// Outcome of an attempt that the provider asked to slow down.
const THROTTLED: &str = "throttled";
/// How long a change of state keeps its recommendation in the status.
const LATELY: Duration = Duration::from_hours(1);
/// Outcome of an attempt that was never sent.
const WITHDRAWN: &str = "withdrawn";

impl Memory {
    /// What the compiler made of an object; `None` before it was compiled for the first time.
    pub fn verdict(&self, kind: Kind, name: &str) -> Option<&Verdict> {
        self.verdicts.iter().find(|verdict| verdict.kind == kind && verdict.name == name)
    }

    /// The status of a policy; `None` where it was not judged yet.
    pub fn policy_status(
        &self,
        policy: &Policy,
        pods: &Pods<'_>,
        old: &HedgePolicyStatus,
    ) -> Option<HedgePolicyStatus> {
        let verdict = self.verdict(Kind::HedgePolicy, &policy.name)?;
        let object = reference(Kind::HedgePolicy, policy);
        let delays: Vec<Vec<(String, Duration)>> =
            policy.spec.cohorts.iter().map(|cohort| self.delays(&cohort.name)).collect();
        let no_reasons = BTreeMap::new();
        let fleet_spec = Some(self.snapshot.spec());
        let cohorts = policy.spec.cohorts.iter().zip(&delays).filter_map(|(cohort, delays)| {
            let key = CohortKey { policy: policy.name.clone(), cohort: cohort.name.to_string() };
            let outcome = self.outcomes.get(&key)?;
            let counted = self.store.counted().cohorts.get(&key.cohort);
            let routes = self.recent.routes(&key.cohort);
            let signs = self.signs(&routes, outcome, delays);
            let tail = Tail::new(routes);
            Some(CohortFacts {
                name: &cohort.name,
                mode: decision::mode(fleet_spec, &policy.spec, cohort),
                standing: self.standings.get(&key)?,
                windows: &outcome.windows,
                evaluation: &outcome.evaluation,
                first_token: self.recent.first_token(Some(&key.cohort)),
                without: self.recent.without_hedging(Some(&key.cohort)),
                not_hedged: counted.map_or(&no_reasons, |counted| &counted.suppressed),
                delays,
                today: self.history.today(&key.cohort),
                recommendation: recommendation(&tail, policy, cohort, outcome, pods.now),
                diagnosis: worth::diagnose(&tail, &signs),
            })
        });
        let facts = status::PolicyFacts {
            spec: &policy.spec,
            verdict,
            object: &object,
            pods,
            currency: self.config.as_ref().map_or("USD", |config| &config.settings.currency),
            cohorts: cohorts.collect(),
        };
        Some(status::policy(old, &facts))
    }

    /// The status of a route; `None` where it was not judged yet.
    pub fn route_status(
        &self,
        route: &Route,
        pods: &Pods<'_>,
        old: &ProviderRouteStatus,
    ) -> Option<ProviderRouteStatus> {
        let object = reference(Kind::ProviderRoute, route);
        let facts = status::RouteFacts {
            spec: &route.spec,
            verdict: self.verdict(Kind::ProviderRoute, &route.name)?,
            object: &object,
            pods,
            figures: self.route_figures(&route.name),
        };
        Some(status::route(old, &facts))
    }

    /// The status of a lane; `None` where it was not judged yet.
    pub fn lane_status(
        &self,
        lane: &Lane,
        pods: &Pods<'_>,
        old: &PriorityLaneStatus,
    ) -> Option<PriorityLaneStatus> {
        let object = reference(Kind::PriorityLane, lane);
        let figures = LaneFigures {
            admitted: self.trail.admitted(&lane.name),
            shed: self.trail.shed(&lane.name),
            wait_p95: self.recent.wait(&lane.name).p95,
        };
        let verdict = self.verdict(Kind::PriorityLane, &lane.name)?;
        Some(status::lane(old, &status::LaneFacts { verdict, object: &object, pods, figures }))
    }

    /// The status of the fleet itself, at `address`; `failure` is the reason of the first failing pod.
    pub fn fleet_status(
        &self,
        pods: &Pods<'_>,
        address: &str,
        failure: Option<String>,
        old: &GatewayFleetStatus,
    ) -> GatewayFleetStatus {
        let exists_by_itself = Verdict {
            kind: Kind::GatewayFleet,
            name: self.name.clone(),
            generation: 0,
            acceptance: Acceptance::Whole,
            reason: Reason::Accepted,
            message: "exists because objects name it; write a GatewayFleet to differ from the defaults"
                .to_owned(),
            field: String::new(),
            not_programmed: None,
            conflicts: Vec::new(),
        };
        let verdict = self.verdict(Kind::GatewayFleet, &self.name).unwrap_or(&exists_by_itself);
        let object = self.snapshot.settings.as_ref().map(|object| reference(Kind::GatewayFleet, object));
        let facts = status::FleetFacts {
            spec: self.snapshot.spec(),
            verdict,
            object: object.as_ref(),
            pods,
            address,
            failure,
        };
        status::fleet(old, &facts)
    }

    fn signs(&self, routes: &[(String, Curve)], outcome: &Outcome, delays: &[(String, Duration)]) -> Signs {
        let mut signs = Signs {
            hedges: outcome.windows.hedges_long.hedges,
            wins: outcome.windows.hedges_long.hedge_wins,
            delay: delays.iter().map(|(_, delay)| *delay).min(),
            lengths: Lengths::of(&outcome.windows.long),
            ..Signs::default()
        };
        for (route, _) in routes {
            let outcomes = self.trail.outcomes(route);
            signs.attempts += outcomes.values().sum::<u64>();
            signs.throttled += outcomes.get(THROTTLED).copied().unwrap_or(0);
        }
        signs
    }

    fn route_figures(&self, route: &str) -> RouteFigures {
        let outcomes = self.trail.outcomes(route);
        let count = |wanted: &dyn Fn(&str) -> bool| -> u64 {
            outcomes.iter().filter(|(outcome, _)| wanted(outcome)).map(|(_, count)| count).sum()
        };
        RouteFigures {
            first_token: self.recent.route(route),
            requests: count(&|outcome| outcome != WITHDRAWN),
            failed: count(&|outcome| FAILURES.contains(&outcome)),
        }
    }
}

/// What other delays would do, for cohorts that are not Active or changed lately: statuses are small.
fn recommendation(
    tail: &Tail,
    policy: &Policy,
    cohort: &Cohort,
    outcome: &Outcome,
    now: Moment,
) -> Vec<Recommendation> {
    let latch = &outcome.standing.latch;
    if latch.state == State::Active && now.since(latch.since) >= LATELY {
        return Vec::new();
    }
    let streaming = cohort.match_.as_ref().and_then(|matches| matches.stream).unwrap_or(true);
    let terms = Terms::of(&policy.spec, streaming, &outcome.windows.long);
    worth::recommend(tail, &terms)
}
