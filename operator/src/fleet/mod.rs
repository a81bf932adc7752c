//! One fleet as it is remembered between two looks: what is asked for, what pods said, what was decided.
//!
//! Why: the cluster and standalone must come to the same decisions from the same readings, so the memory behind them is one
//! piece of code. Inputs: a [`Snapshot`], readings of pods, statuses from before. Outputs: the compiled configuration, one
//! round of decisions ([`Round`]), `fleet.json`, the status of every object ([`report`]).
//!
//! Invariants: a cohort's latch goes on from its status; a fleet of which nothing can be used keeps its last configuration.
//! It refuses to read or write anything: where a configuration goes and where a status comes from is the shells' business.

mod figures;
pub mod history;
mod look;
pub mod report;
pub mod worth;

use std::collections::{BTreeMap, BTreeSet};

use hedgerow_config::{GatewayConfig, State, digest::digest};
use hedgerow_crds::Kind;
use hedgerow_policy::time::Moment;

use history::History;
pub use look::Round;
pub(crate) use look::measured;

use crate::{
    domain::{
        CohortKey, Latches, Snapshot, Verdict, compile,
        guardrail::{Outcome, Standing},
    },
    scrape::{Recent, Store, Trail},
    status::{Pod, Pods},
};

/// What is remembered of one fleet.
#[derive(Debug)]
pub struct Memory {
    /// Name of the fleet.
    pub name: String,
    /// What is asked for.
    pub snapshot: Snapshot,
    /// What there is to say about objects that are accepted beside what the compiler says.
    pub notes: BTreeMap<(Kind, String), String>,
    /// What the compiler made of every object.
    pub verdicts: Vec<Verdict>,
    /// What the pods should run; `None` as long as nothing ever compiled.
    pub config: Option<GatewayConfig>,
    /// Digest of it, once it is in force; empty before.
    pub digest: String,
    /// Readings, added up.
    pub store: Store,
    /// Recent samples.
    pub recent: Recent,
    /// Counters of the last minutes.
    pub trail: Trail,
    /// What was decided, by cohort.
    pub standings: BTreeMap<CohortKey, Standing>,
    /// What was measured at the last look, by cohort.
    pub outcomes: BTreeMap<CohortKey, Outcome>,
    /// When enough pods could last be read.
    seen: Moment,
    /// The day's spend, and what is normal.
    pub history: History,
}

/// A configuration that is not in force yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fresh {
    /// `gateway.json`.
    pub bytes: Vec<u8>,
    /// Its digest.
    pub digest: String,
}

/// One pod that should exist.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// What `/state` calls it.
    pub uid: &'a str,
    /// What people call it.
    pub name: &'a str,
    /// It is known not to run.
    pub gone: bool,
    /// When its present life was first read.
    pub since: Moment,
    /// Names of the Secrets and `ConfigMap`s that it mounts; `None` = all that there are.
    pub mounts: Option<&'a BTreeSet<String>>,
}

impl Memory {
    /// A fleet of which nothing is known yet, at `now` (Unix time).
    pub fn new(name: &str, now: Moment) -> Self {
        Self {
            name: name.to_owned(),
            snapshot: Snapshot::default(),
            notes: BTreeMap::new(),
            verdicts: Vec::new(),
            config: None,
            digest: String::new(),
            store: Store::new(now),
            recent: Recent::default(),
            trail: Trail::default(),
            standings: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            seen: now,
            history: History::default(),
        }
    }

    /// Compiles the snapshot with the decisions in force; `adapt` may change what the place of running needs different.
    /// Gives what is to be put in force, if that differs from what is: whoever did it sets `digest`.
    pub fn compile(&mut self, adapt: impl FnOnce(&mut GatewayConfig)) -> Option<Fresh> {
        let latches: Latches =
            self.standings.iter().map(|(key, standing)| (key.clone(), standing.latch.clone())).collect();
        let mut compiled = compile(&self.snapshot, &latches);
        self.verdicts = compiled.verdicts;
        for verdict in &mut self.verdicts {
            if let Some(note) = self.notes.get(&(verdict.kind, verdict.name.clone())) {
                let said = std::mem::take(&mut verdict.message);
                verdict.message = if said.is_empty() { note.clone() } else { format!("{said}; {note}") };
            }
        }
        if !compiled.usable {
            return None;
        }
        adapt(&mut compiled.config);
        let bytes = compiled.config.write();
        self.config = Some(compiled.config);
        let digest = digest(&bytes);
        (digest != self.digest).then_some(Fresh { bytes, digest })
    }

    /// The pods as statuses see them.
    pub fn pods<'a>(&'a self, members: impl Iterator<Item = Member<'a>>, now: Moment) -> Pods<'a> {
        let present: BTreeMap<&str, &State> =
            self.store.present(now).map(|life| (life.state.pod.uid.as_str(), &life.state)).collect();
        let members = members
            .map(|member| Pod {
                name: member.name,
                state: present.get(member.uid).copied().filter(|_| !member.gone),
                gone: member.gone,
                since: member.since,
                mounts: member.mounts,
            })
            .collect();
        Pods { members, digest: &self.digest, now, ..Pods::default() }
    }
}
