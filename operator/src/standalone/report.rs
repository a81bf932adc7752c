//! Statuses of a fleet's objects, made by `status` and written beside the files when that is due.

use std::{collections::BTreeMap, io, time::Duration};

use hedgerow_crds::{
    Kind,
    v1alpha1::{GatewayFleetStatus, HedgePolicyStatus, PriorityLaneStatus, ProviderRouteStatus},
};
use hedgerow_policy::time::Moment;
use serde::{Serialize, de::DeserializeOwned};

use super::{
    fleet::Fleet,
    generation::Generations,
    status_file::{Document, REWRITTEN_EVERY, StatusFiles},
};
use crate::{
    domain::{LOCAL, Object},
    status::{Decisive, due},
};

/// Figures are written this often. A file costs less than an API server's write, so more often than in a cluster.
const FIGURES_EVERY: Duration = Duration::from_secs(5);

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
    pub(super) fn keep_only(&self, fleets: &BTreeMap<String, Fleet>) -> io::Result<()> {
        let mut objects = Vec::new();
        for fleet in fleets.values() {
            objects.push((Kind::GatewayFleet, fleet.memory.name.clone()));
            objects.extend(fleet.memory.verdicts.iter().map(|verdict| (verdict.kind, verdict.name.clone())));
        }
        self.files.keep_only(&objects)
    }

    /// Writes what is due of one fleet.
    pub(super) fn report(&mut self, fleet: &Fleet, generations: &Generations, now: Moment) -> io::Result<()> {
        let (pods, memory) = (fleet.pods(now), &fleet.memory);
        for policy in &memory.snapshot.policies {
            let old = previous(&self.files, &self.policies, Kind::HedgePolicy, &policy.name);
            if let Some(new) = memory.policy_status(policy, &pods, &old) {
                self.keep(Kind::HedgePolicy, policy, generations, new, now, |kept| &mut kept.policies)?;
            }
        }
        for route in &memory.snapshot.routes {
            let old = previous(&self.files, &self.routes, Kind::ProviderRoute, &route.name);
            if let Some(new) = memory.route_status(route, &pods, &old) {
                self.keep(Kind::ProviderRoute, route, generations, new, now, |kept| &mut kept.routes)?;
            }
        }
        for lane in &memory.snapshot.lanes {
            let old = previous(&self.files, &self.lanes, Kind::PriorityLane, &lane.name);
            if let Some(new) = memory.lane_status(lane, &pods, &old) {
                self.keep(Kind::PriorityLane, lane, generations, new, now, |kept| &mut kept.lanes)?;
            }
        }
        let failure = fleet
            .members
            .iter()
            .find_map(|member| member.failure.as_ref().map(|failure| format!("{}: {failure}", member.uid)));
        let old = previous(&self.files, &self.fleets, Kind::GatewayFleet, &memory.name);
        let new = memory.fleet_status(&pods, &fleet.address().to_string(), failure, &old);
        let local = Object::local(Kind::GatewayFleet, LOCAL, &memory.name, ());
        match &memory.snapshot.settings {
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
        let again = old.is_some_and(|(_, at)| now.since(*at) >= REWRITTEN_EVERY);
        if !again && !due(old.map(|(status, at)| (status, *at)), &new, FIGURES_EVERY, now) {
            return Ok(());
        }
        let spec = generations.spec(kind, &object.name);
        let document = Document::new(kind, &object.name, &object.uid, object.generation, spec, new.clone());
        self.files.write(kind, &object.name, document, now)?;
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
