//! Statuses of a fleet's objects, made by `status` and written beside the files when that is due.

use std::{collections::BTreeMap, io, time::Duration};

use hedgerow_config::gateway::ObjectRef;
use hedgerow_crds::{
    Kind,
    condition::Reason,
    v1alpha1::{GatewayFleetStatus, HedgePolicyStatus, PriorityLaneStatus, ProviderRouteStatus},
};
use hedgerow_policy::time::Moment;
use serde::{Serialize, de::DeserializeOwned};

use super::{
    fleet::Fleet,
    generation::Generations,
    status_file::{Document, StatusFiles},
};
use crate::{
    domain::{Acceptance, CohortKey, LOCAL, Object, Policy, Verdict, decision},
    status::{self, CohortFacts, Decisive, LaneFigures, Pods, RouteFigures, due},
};

/// Figures are written this often. A file costs less than an API server's write, so more often than in a cluster.
const FIGURES_EVERY: Duration = Duration::from_secs(5);
/// Outcomes of attempts that count as failures of the route.
const FAILURES: [&str; 4] = ["failed", "invalid", "timed_out", "truncated"];
/// Outcome of an attempt that was never sent.
const WITHDRAWN: &str = "withdrawn";

/// The last statuses and when they were written.
#[derive(Debug)]
pub(super) struct Reporter {
    files: StatusFiles,
    policies: Kept<HedgePolicyStatus>,
    routes: Kept<ProviderRouteStatus>,
    lanes: Kept<PriorityLaneStatus>,
    fleets: Kept<GatewayFleetStatus>,
}

type Kept<S> = BTreeMap<String, (S, Moment)>;

impl Reporter {
    pub(super) fn new(files: StatusFiles) -> Self {
        Self { files, policies: Kept::new(), routes: Kept::new(), lanes: Kept::new(), fleets: Kept::new() }
    }

    pub(super) fn files(&self) -> &StatusFiles {
        &self.files
    }

    /// Removes the files of objects that are gone.
    pub(super) fn keep_only(&mut self, fleets: &BTreeMap<String, Fleet>) -> io::Result<()> {
        let mut objects = Vec::new();
        for fleet in fleets.values() {
            objects.push((Kind::GatewayFleet, fleet.name.clone()));
            objects.extend(fleet.verdicts.iter().map(|verdict| (verdict.kind, verdict.name.clone())));
        }
        self.files.keep_only(&objects)
    }

    /// Writes what is due of one fleet.
    pub(super) fn report(&mut self, fleet: &Fleet, generations: &Generations, now: Moment) -> io::Result<()> {
        let pods = fleet.pods(now);
        for policy in &fleet.snapshot.policies {
            if let Some(verdict) = verdict(fleet, Kind::HedgePolicy, &policy.name) {
                let old = previous(&self.files, &self.policies, Kind::HedgePolicy, &policy.name);
                let new = policy_status(fleet, policy, verdict, &pods, &old);
                self.keep(Kind::HedgePolicy, policy, generations, new, now, |kept| &mut kept.policies)?;
            }
        }
        for route in &fleet.snapshot.routes {
            if let Some(verdict) = verdict(fleet, Kind::ProviderRoute, &route.name) {
                let old = previous(&self.files, &self.routes, Kind::ProviderRoute, &route.name);
                let object = reference(Kind::ProviderRoute, route);
                let facts = status::RouteFacts {
                    spec: &route.spec,
                    verdict,
                    object: &object,
                    pods: &pods,
                    figures: route_figures(fleet, &route.name),
                };
                let new = status::route(&old, &facts);
                self.keep(Kind::ProviderRoute, route, generations, new, now, |kept| &mut kept.routes)?;
            }
        }
        for lane in &fleet.snapshot.lanes {
            if let Some(verdict) = verdict(fleet, Kind::PriorityLane, &lane.name) {
                let old = previous(&self.files, &self.lanes, Kind::PriorityLane, &lane.name);
                let object = reference(Kind::PriorityLane, lane);
                let figures = LaneFigures {
                    admitted: fleet.trail.admitted(&lane.name),
                    shed: fleet.trail.shed(&lane.name),
                    wait_p95: fleet.recent.wait(&lane.name).p95,
                };
                let facts = status::LaneFacts { verdict, object: &object, pods: &pods, figures };
                let new = status::lane(&old, &facts);
                self.keep(Kind::PriorityLane, lane, generations, new, now, |kept| &mut kept.lanes)?;
            }
        }
        self.report_fleet(fleet, generations, &pods, now)
    }

    fn report_fleet(
        &mut self,
        fleet: &Fleet,
        generations: &Generations,
        pods: &Pods<'_>,
        now: Moment,
    ) -> io::Result<()> {
        let written = fleet.snapshot.settings.as_ref();
        let generated = Verdict {
            kind: Kind::GatewayFleet,
            name: fleet.name.clone(),
            generation: 0,
            acceptance: Acceptance::Whole,
            reason: Reason::Accepted,
            message: "exists because objects name it; write a GatewayFleet to differ from the defaults"
                .to_owned(),
            field: String::new(),
            not_programmed: None,
            conflicts: Vec::new(),
        };
        let verdict = verdict(fleet, Kind::GatewayFleet, &fleet.name).unwrap_or(&generated);
        let object = written.map(|object| reference(Kind::GatewayFleet, object));
        let address = fleet.address().to_string();
        let failure = fleet
            .members
            .iter()
            .find_map(|member| member.failure.as_ref().map(|failure| format!("{}: {failure}", member.uid)));
        let facts = status::FleetFacts { verdict, object: object.as_ref(), pods, address: &address, failure };
        let old = previous(&self.files, &self.fleets, Kind::GatewayFleet, &fleet.name);
        let new = status::fleet(&old, &facts);
        let local = Object::local(Kind::GatewayFleet, LOCAL, &fleet.name, ());
        match written {
            Some(object) => {
                self.keep(Kind::GatewayFleet, object, generations, new, now, |kept| &mut kept.fleets)
            }
            None => self.keep(Kind::GatewayFleet, &local, generations, new, now, |kept| &mut kept.fleets),
        }
    }

    /// Writes a status if that is due.
    fn keep<K, S: Decisive + Serialize>(
        &mut self,
        kind: Kind,
        object: &Object<K>,
        generations: &Generations,
        new: S,
        now: Moment,
        kept: impl Fn(&mut Self) -> &mut Kept<S>,
    ) -> io::Result<()> {
        let old = kept(self).get(&object.name);
        if !due(old.map(|(status, at)| (status, *at)), &new, FIGURES_EVERY, now) {
            return Ok(());
        }
        let spec = generations.spec(kind, &object.name);
        let document = Document::new(kind, &object.name, &object.uid, object.generation, spec, new.clone());
        self.files.write(kind, &object.name, &document)?;
        kept(self).insert(object.name.clone(), (new, now));
        Ok(())
    }
}

/// The status before: as written by this process, else by an earlier one.
fn previous<S: Clone + Default + DeserializeOwned>(
    files: &StatusFiles,
    kept: &Kept<S>,
    kind: Kind,
    name: &str,
) -> S {
    match kept.get(name) {
        Some((status, _)) => status.clone(),
        None => files.read::<S>(kind, name).map(|document| document.status).unwrap_or_default(),
    }
}

fn verdict<'a>(fleet: &'a Fleet, kind: Kind, name: &str) -> Option<&'a Verdict> {
    fleet.verdicts.iter().find(|verdict| verdict.kind == kind && verdict.name == name)
}

fn reference<S>(kind: Kind, object: &Object<S>) -> ObjectRef {
    ObjectRef {
        kind: kind.as_str().to_owned(),
        name: object.name.clone(),
        uid: object.uid.clone(),
        generation: object.generation,
    }
}

fn route_figures(fleet: &Fleet, route: &str) -> RouteFigures {
    let outcomes = fleet.trail.outcomes(route);
    let count = |wanted: &dyn Fn(&str) -> bool| -> u64 {
        outcomes.iter().filter(|(outcome, _)| wanted(outcome)).map(|(_, count)| count).sum()
    };
    RouteFigures {
        first_token: fleet.recent.route(route),
        requests: count(&|outcome| outcome != WITHDRAWN),
        failed: count(&|outcome| FAILURES.contains(&outcome)),
    }
}

fn policy_status(
    fleet: &Fleet,
    policy: &Policy,
    verdict: &Verdict,
    pods: &Pods<'_>,
    old: &HedgePolicyStatus,
) -> HedgePolicyStatus {
    let object = reference(Kind::HedgePolicy, policy);
    let delays: Vec<Vec<(String, Duration)>> =
        policy.spec.cohorts.iter().map(|cohort| fleet.delays(&cohort.name)).collect();
    let no_reasons = BTreeMap::new();
    let fleet_spec = fleet.snapshot.settings.as_ref().map(|fleet| &fleet.spec);
    let cohorts = policy.spec.cohorts.iter().zip(&delays).filter_map(|(cohort, delays)| {
        let key = CohortKey { policy: policy.name.clone(), cohort: cohort.name.to_string() };
        let outcome = fleet.outcomes.get(&key)?;
        let counted = fleet.store.counted().cohorts.get(&key.cohort);
        Some(CohortFacts {
            name: &cohort.name,
            mode: decision::mode(fleet_spec, &policy.spec, cohort),
            standing: fleet.standings.get(&key)?,
            windows: &outcome.windows,
            evaluation: &outcome.evaluation,
            first_token: fleet.recent.first_token(Some(&key.cohort)),
            without: fleet.recent.without_hedging(Some(&key.cohort)),
            not_hedged: counted.map_or(&no_reasons, |counted| &counted.suppressed),
            delays,
            today: fleet.today(&key.cohort),
        })
    });
    let facts = status::PolicyFacts {
        spec: &policy.spec,
        verdict,
        object: &object,
        pods,
        currency: fleet.config.as_ref().map_or("USD", |config| &config.settings.currency),
        cohorts: cohorts.collect(),
    };
    status::policy(old, &facts)
}
