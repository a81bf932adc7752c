//! The pods of a fleet: which there are, and since when each has been read in its present life.

use std::collections::BTreeMap;

use hedgerow_config::State;
use hedgerow_policy::time::Moment;
use k8s_openapi::api::core::v1::Pod;

use crate::{
    cluster::{Presence, presence},
    fleet::Member,
};

/// The pods.
#[derive(Debug, Default)]
pub(super) struct Roster {
    pods: Vec<Presence>,
    lives: BTreeMap<String, Life>,
}

/// One process in a pod.
#[derive(Clone, Copy, Debug)]
struct Life {
    started_unix_ms: u64,
    since: Moment,
}

impl Roster {
    /// Takes in what the API server knows of them; true where that is something new.
    pub(super) fn update<'a>(&mut self, pods: impl IntoIterator<Item = &'a Pod>) -> bool {
        let pods: Vec<Presence> = pods.into_iter().filter_map(presence).collect();
        let changed = pods != self.pods;
        self.pods = pods;
        self.lives.retain(|uid, _| self.pods.iter().any(|pod| pod.uid == *uid));
        changed
    }

    /// Takes in a reading.
    pub(super) fn read(&mut self, state: &State, now: Moment) {
        let started_unix_ms = state.pod.started_unix_ms;
        let life = self.lives.entry(state.pod.uid.clone()).or_insert(Life { started_unix_ms, since: now });
        if life.started_unix_ms != started_unix_ms {
            *life = Life { started_unix_ms, since: now };
        }
    }

    /// Pods whose process runs, ending ones included: they still count.
    pub(super) fn running(&self) -> impl Iterator<Item = &Presence> {
        self.pods.iter().filter(|pod| pod.running)
    }

    /// Running pods that are to stay.
    pub(super) fn staying(&self) -> impl Iterator<Item = &Presence> {
        self.running().filter(|pod| !pod.terminating)
    }

    /// The pods as statuses see them: those that are to stay.
    pub(super) fn members(&self) -> impl Iterator<Item = Member<'_>> {
        self.pods.iter().filter(|pod| !pod.terminating).map(|pod| Member {
            uid: &pod.uid,
            name: &pod.name,
            gone: !pod.running,
            since: self.lives.get(&pod.uid).map_or(Moment::ZERO, |life| life.since),
            mounts: Some(&pod.mounts),
        })
    }

    /// Why the first pod that does not run does not.
    pub(super) fn trouble(&self) -> Option<String> {
        self.pods
            .iter()
            .filter(|pod| !pod.terminating)
            .find_map(|pod| pod.trouble.as_ref().map(|trouble| format!("{}: {trouble}", pod.name)))
    }
}
