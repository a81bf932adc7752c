//! A policy whose only cohort lives through some minutes of traffic.

use std::{collections::BTreeMap, time::Duration};

use hedgerow::{
    domain::{
        CohortKey, decision, figure,
        guardrail::{self, Facts, Measured, Standing},
        spent::Spent,
    },
    scrape::{Estimate, Percentiles},
    status::{CohortFacts, PolicyFacts, policy as policy_status},
};
use hedgerow_config::{
    State,
    cohort::Mode,
    money::Picos,
    state::{CohortBucket, CohortCounters, CohortReport},
};
use hedgerow_crds::{
    Kind,
    v1alpha1::{HedgePolicySpec, HedgePolicyStatus},
};
use hedgerow_policy::{
    guardrail::{Evaluation, Windows},
    time::Moment,
};
use serde_json::{Value, json};

use crate::fleet::{NOW, Stage, reference, shown};

/// A step of the story, each some minutes long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Traffic {
    /// 4 hedges per 100 requests.
    Calm,
    /// 20 hedges per 100 requests: every limit is exceeded.
    Dear,
    /// Nothing, until the cooldown is over.
    Wait,
}

impl Traffic {
    fn hedges(self) -> u64 {
        if self == Self::Dear { 20 } else { 4 }
    }

    fn seconds(self) -> u64 {
        if self == Self::Wait { 90 } else { 400 }
    }
}

/// Length of a bucket.
const TEN_SECONDS: Duration = Duration::from_secs(10);

/// Where a story has led.
struct Played {
    now: Moment,
    state: State,
    standing: Standing,
    windows: Windows,
    evaluation: Evaluation,
}

/// Plays a story to its end, with a look every ten seconds; traffic that trips ends with the trip.
fn play(
    stage: &Stage,
    spec: &HedgePolicySpec,
    mode: Mode,
    story: &[Traffic],
    annotation: Option<&str>,
) -> Played {
    let until = figure::timestamp(NOW + Duration::from_hours(2)).to_string();
    let annotations: BTreeMap<String, String> =
        annotation.map(|key| (key.to_owned(), until)).into_iter().collect();
    let key = CohortKey { policy: "chat".into(), cohort: "stream".into() };
    let look = |now, state: &State, standing: &mut Standing| {
        let facts = Facts {
            fleet: "default",
            key: &key,
            mode,
            spec,
            annotations: &annotations,
            states: &[state],
            unseen: std::time::Duration::ZERO,
            measured: &Measured::default(),
            p95: &BTreeMap::new(),
            command: " -n team-a",
            now,
        };
        let outcome = guardrail::decide(standing, &facts);
        *standing = outcome.standing;
        (outcome.windows, outcome.evaluation)
    };
    let length: u64 = story.iter().map(|step| step.seconds()).sum();
    let mut now = NOW - Duration::from_secs(length);
    let (mut ring, mut standing, mut state) = (Vec::new(), Standing::default(), stage.state.clone());
    let (mut windows, mut evaluation) = look(now, &state, &mut standing);
    for step in story {
        for _ in 0..step.seconds() / TEN_SECONDS.as_secs() {
            if *step != Traffic::Wait {
                ring.push(bucket(now.as_secs(), step.hedges()));
            }
            now += TEN_SECONDS;
            state.cohorts = vec![report(&ring)];
            (windows, evaluation) = look(now, &state, &mut standing);
            if *step == Traffic::Dear && !standing.tripped_at.is_empty() {
                break;
            }
        }
    }
    Played { now, state, standing, windows, evaluation }
}

/// The policy `chat` at the end of the story.
pub(crate) fn policy(stage: &Stage, story: &[Traffic], annotation: Option<&str>) -> Value {
    let object = stage.snapshot.policies.iter().find(|policy| policy.name == "chat").unwrap();
    let mode = decision::mode(None, &object.spec, &object.spec.cohorts[0]);
    let played = play(stage, &object.spec, mode, story, annotation);
    let reference = reference(Kind::HedgePolicy, "chat", &object.uid);
    let mut pods = stage.pods(&played.state);
    pods.now = played.now;
    let verdict = stage.verdict(Kind::HedgePolicy, "chat");
    let cohort = CohortFacts {
        name: "stream",
        mode,
        standing: &played.standing,
        windows: &played.windows,
        evaluation: &played.evaluation,
        first_token: Percentiles::default(),
        without: Estimate::default(),
        not_hedged: &BTreeMap::new(),
        delays: &[],
        today: Spent::default(),
        recommendation: Vec::new(),
        diagnosis: None,
    };
    let cohorts = if verdict.conflicts.is_empty() { vec![cohort] } else { Vec::new() };
    let facts = PolicyFacts {
        spec: &object.spec,
        verdict,
        object: &reference,
        pods: &pods,
        currency: "USD",
        cohorts,
    };
    shown(&reference, &object.spec, &policy_status(&HedgePolicyStatus::default(), &facts))
}

/// Ten seconds of 100 requests.
fn bucket(start_unix_s: u64, hedges: u64) -> CohortBucket {
    let cost = |attempts: u64| Picos(u128::from(attempts) * 1_000);
    let counters = CohortCounters {
        originals: 100,
        hedges,
        wins: hedges / 2,
        cost: cost(100 + hedges / 2),
        cost_without: cost(100),
        cost_lost: cost(hedges / 2),
        ..CohortCounters::default()
    };
    CohortBucket { start_unix_s, counters }
}

/// What the pod says of the cohort.
fn report(ring: &[CohortBucket]) -> CohortReport {
    let report =
        json!({ "policy": "chat", "cohort": "stream", "transition": 1, "state": "Active", "ring": ring });
    serde_json::from_value(report).unwrap()
}
