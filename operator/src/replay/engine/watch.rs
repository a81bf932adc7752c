//! The operator: reads all pods every 5 s, adds them up and remembers them with its own `scrape` and `fleet::history` (what is
//! normal, the gain at the tail, the day's spend), decides with `domain::guardrail`, and its decision reaches the pods 2 s
//! later (a projected volume is refreshed within 3 s of the annotation; the cluster tests hold it to that).

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use hedgerow_config::{State as Report, cohort::Mode};
use hedgerow_crds::v1alpha1::hedge_policy::HedgePolicySpec;
use hedgerow_policy::{limiter::Warm, time::Moment};

use super::{
    Engine,
    measure::{Turn, secs},
    pod::{EPOCH, POLICY, cohort_name, unix},
    queue::Event,
};
use crate::{
    domain::{
        CohortKey,
        decision::decision,
        guardrail::{Facts, Standing, decide},
    },
    fleet::{history::History, measured},
    replay::model::Hedging,
    scrape::{Recent, Store},
};

/// Between two readings; the operator's default.
pub const INTERVAL: Duration = Duration::from_secs(5);
/// From decision to gateways.
const DELIVERY: Duration = Duration::from_secs(2);

/// What the operator remembers.
pub struct Watch {
    spec: Arc<HedgePolicySpec>,
    keys: Vec<CohortKey>,
    standings: Vec<Standing>,
    annotations: BTreeMap<String, String>,
    p95: BTreeMap<String, Duration>,
    store: Store,
    recent: Recent,
    history: History,
}

impl Watch {
    /// Nothing decided yet.
    pub fn new(spec: Arc<HedgePolicySpec>, cohorts: usize) -> Self {
        let key = |cohort| CohortKey { policy: POLICY.into(), cohort: cohort_name(cohort).into() };
        Self {
            spec,
            keys: (0..cohorts).map(key).collect(),
            standings: vec![Standing::default(); cohorts],
            annotations: BTreeMap::new(),
            p95: BTreeMap::new(),
            store: Store::new(EPOCH),
            recent: Recent::default(),
            history: History::default(),
        }
    }

    /// State of a cohort.
    pub fn state(&self, cohort: usize) -> &'static str {
        self.standings.get(cohort).map_or("", |standing| standing.latch.state.as_str())
    }
}

impl Watch {
    /// Takes in what pods say, for what their rings do not hold.
    pub fn read(&mut self, now: Moment, states: impl IntoIterator<Item = Report>) {
        let now = unix(now);
        for state in states {
            self.store.observe(state, now);
        }
        self.recent.observe(self.store.counted(), self.store.in_flight(now), now);
        let states = self.store.lives().map(|life| &life.state);
        self.history.observe(states, self.store.counted(), now);
    }

    /// Looks once at what the pods say.
    pub fn look(&mut self, now: Moment, mode: Mode, states: &[&Report]) -> Vec<Turn> {
        let mut turns = Vec::new();
        for (cohort, (key, standing)) in self.keys.iter().zip(self.standings.iter_mut()).enumerate() {
            let measured = measured(self.store.counted(), &self.recent, &self.history, &key.cohort, standing);
            let facts = Facts {
                fleet: "replay",
                key,
                mode,
                spec: &self.spec,
                annotations: &self.annotations,
                states,
                unseen: Duration::ZERO,
                measured: &measured,
                p95: &self.p95,
                command: "",
                now: unix(now),
            };
            let outcome = decide(standing, &facts);
            *standing = outcome.standing;
            turns.extend(outcome.decision.map(|decision| Turn {
                at: secs(now),
                cohort,
                to: decision.to.as_str(),
                reason: decision.reason.as_str(),
                line: decision.line,
            }));
        }
        turns
    }

    /// Share of enrolled requests that may be hedged now, percent.
    pub fn share_percent(&self, cohort: usize) -> u8 {
        self.standings.get(cohort).map_or(0, |standing| standing.latch.share_percent())
    }
}

impl Engine<'_> {
    /// One reading of all pods, ended ones included as long as their buckets count.
    pub(super) fn scrape(&mut self) {
        self.queue.at(self.now + INTERVAL, Event::Scrape);
        self.note_lanes();
        if !self.arm.guarded || !matches!(self.arm.hedging, Hedging::Policy(_)) {
            return;
        }
        let (now, model) = (self.now, self.model);
        self.watch.read(now, self.pods.iter().filter(|pod| pod.speaks()).map(|pod| pod.state(model, now)));
        if secs(now) < model.watched_from {
            return;
        }
        let states: Vec<&Report> = self.pods.iter().map(|pod| &pod.report).collect();
        let turns = self.watch.look(self.now, self.terms.mode, &states);
        let changed = !turns.is_empty();
        self.run.turns.extend(turns);
        // A ramp's step is no transition, and reaches the pods with the next configuration all the same.
        if changed || self.now.as_secs().is_multiple_of(60) {
            self.queue.at(self.now + DELIVERY, Event::Apply);
        }
    }

    /// A decision reaches the pods.
    pub(super) fn apply(&mut self) {
        for pod in &mut self.pods {
            for (cohort, standing) in pod.cohorts.iter_mut().zip(&self.watch.standings) {
                cohort.decision = decision(self.terms.mode, Some(&standing.latch), self.terms.start_percent);
            }
        }
    }

    /// Means of lane limits over live pods, for `fleet.json`.
    fn note_lanes(&mut self) {
        let live: Vec<_> = self.pods.iter().filter(|pod| pod.live).collect();
        let count = live.len() as u32;
        if count == 0 {
            return;
        }
        self.means = (0..self.arm.lanes(self.model).len())
            .map(|lane| {
                let views: Vec<Warm> =
                    live.iter().map(|pod| pod.lanes.view(self.now, pod.lane_ids[lane]).warm).collect();
                Warm {
                    limit: views.iter().map(|warm| warm.limit).sum::<u32>() / count,
                    baseline_per_mille: views.iter().map(|warm| warm.baseline_per_mille).sum::<u32>() / count,
                    age: Duration::ZERO,
                }
            })
            .collect();
    }
}
