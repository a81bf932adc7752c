//! A policy whose first cohort lives through some minutes, with everything that a status shows.
//!
//! Traffic comes in buckets of ten seconds, with a look after each; what hours would have taught the operator (usual errors
//! and medians, the gain at the tail, the day's spend) is set by the story.

use std::{collections::BTreeMap, time::Duration};

use hedgerow::{
    domain::{
        CohortKey, Notice, decision, figure,
        guardrail::{self, Facts, Measured, Outcome, Standing},
        spent::Spent,
    },
    fleet::worth::{self, Signs, Tail, Terms},
    scrape::{Estimate, Percentiles},
    status::{CohortFacts, PolicyFacts, policy as policy_status},
};
use hedgerow_config::{
    State,
    money::Picos,
    state::{CohortBucket, CohortCounters, CohortReport},
};
use hedgerow_crds::{
    Kind,
    v1alpha1::{HedgePolicySpec, HedgePolicyStatus},
};
use hedgerow_policy::{
    latency::{Counts, Curve, Decayed},
    time::Moment,
};
use serde_json::{Value, json};

use crate::fleet::{NOW, Stage, reference};

/// Length of a bucket.
const BUCKET: Duration = Duration::from_secs(10);
/// Columns of `kubectl get hp -o wide`, by their place in the status's summary.
const COLUMNS: [(&str, &str); 7] = [
    ("COHORTS", "cohorts"),
    ("GUARDRAIL", "guardrail"),
    ("P99", "p99"),
    ("SAVED", "saved"),
    ("DUP%", "duplicatePercent"),
    ("EXTRA%", "extraPercent"),
    ("REASON", "reason"),
];

/// A story so far.
pub(crate) struct Story {
    stage: Stage,
    now: Moment,
    ring: Vec<CohortBucket>,
    standing: Standing,
    outcome: Option<Outcome>,
    events: Vec<Notice>,
    /// Annotations of the policy.
    pub(crate) annotations: BTreeMap<String, String>,
    /// For how long too few pods could be read.
    pub(crate) unseen: Duration,
    /// What hours have taught.
    pub(crate) measured: Measured,
    /// Hedges have shortened the tail.
    pub(crate) helped: bool,
    /// Why timers sent no hedge.
    pub(crate) not_hedged: BTreeMap<String, u64>,
}

impl Story {
    /// Begins when the operator sees the policy for the first time.
    pub(crate) fn new(text: &str) -> Self {
        let mut story = Self {
            stage: Stage::ready(text),
            now: NOW,
            ring: Vec::new(),
            standing: Standing::default(),
            outcome: None,
            events: Vec::new(),
            annotations: BTreeMap::new(),
            unseen: Duration::ZERO,
            measured: Measured::default(),
            helped: true,
            not_hedged: BTreeMap::from([("Withheld".to_owned(), 61), ("BudgetEmpty".to_owned(), 7)]),
        };
        story.look();
        story
    }

    /// Seconds of traffic: 100 enrolled requests in ten seconds at a cent each, of which `change` says the rest. It ends
    /// with a trip.
    pub(crate) fn traffic(mut self, seconds: u64, change: impl Fn(&mut CohortCounters)) -> Self {
        let trips = self.standing.tripped_at.len();
        for _ in 0..seconds / BUCKET.as_secs() {
            if self.standing.tripped_at.len() > trips {
                break;
            }
            let cent = Picos(10_000_000_000);
            let mut counters = CohortCounters {
                originals: 100,
                cost: Picos(100 * cent.0),
                cost_without: Picos(100 * cent.0),
                ..CohortCounters::default()
            };
            change(&mut counters);
            self.ring.push(CohortBucket { start_unix_s: self.now.as_secs(), counters });
            self.now += BUCKET;
            self.look();
        }
        self
    }

    /// Usual traffic: four hedges in a hundred requests, of which three win, for 0.9 % more.
    pub(crate) fn calm(self, seconds: u64) -> Self {
        self.traffic(seconds, |counters| hedged(counters, 4, 3, 9))
    }

    /// Nothing happens for so long.
    pub(crate) fn wait(mut self, seconds: u64) -> Self {
        self.now += Duration::from_secs(seconds);
        self.look();
        self
    }

    /// Something about it changes.
    pub(crate) fn then(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// A time of day from now, as authors write it.
    pub(crate) fn later(&self, by: Duration) -> String {
        figure::timestamp(self.now + by).to_string()
    }

    fn spec(&self) -> HedgePolicySpec {
        self.stage.snapshot.policies.iter().find(|policy| policy.name == "chat").unwrap().spec.clone()
    }

    fn look(&mut self) {
        let (spec, key) = (self.spec(), CohortKey { policy: "chat".into(), cohort: "stream".into() });
        let p95 = BTreeMap::from([
            ("azure-sweden".to_owned(), Duration::from_millis(8_400)),
            ("east".to_owned(), Duration::from_millis(2_100)),
        ]);
        let state = self.state();
        let facts = Facts {
            fleet: "default",
            key: &key,
            mode: decision::mode(None, &spec, &spec.cohorts[0]),
            spec: &spec,
            annotations: &self.annotations,
            states: &[&state],
            unseen: self.unseen,
            measured: &self.measured,
            p95: &p95,
            command: " -n team-a",
            now: self.now,
        };
        let outcome = guardrail::decide(&self.standing, &facts);
        self.standing = outcome.standing.clone();
        self.events.extend(outcome.decision.as_ref().map(Notice::of));
        self.outcome = Some(outcome);
    }

    fn state(&self) -> State {
        let report = json!({
            "policy": "chat", "cohort": "stream", "transition": 1, "state": "Active", "ring": self.ring,
        });
        let report: CohortReport = serde_json::from_value(report).unwrap();
        State { cohorts: vec![report], ..self.stage.state.clone() }
    }

    /// What `kubectl get` and `kubectl describe` show of the policy now; `read` = its pods can be read.
    pub(crate) fn told(&self, read: bool) -> Value {
        let (spec, outcome, state) = (self.spec(), self.outcome.as_ref().unwrap(), self.state());
        let uid = &self.stage.snapshot.policies.iter().find(|policy| policy.name == "chat").unwrap().uid;
        let object = reference(Kind::HedgePolicy, "chat", uid);
        let mut pods = self.stage.pods(&state);
        pods.now = self.now;
        if !read {
            pods.members[0].state = None;
        }
        let seen = self.ring.iter().any(|bucket| bucket.counters.originals > 0);
        let tail = tail();
        let cohort = CohortFacts {
            name: "stream",
            mode: decision::mode(None, &spec, &spec.cohorts[0]),
            standing: &self.standing,
            windows: &outcome.windows,
            evaluation: &outcome.evaluation,
            first_token: if seen { first_token(self.helped) } else { Percentiles::default() },
            without: if seen { without() } else { Estimate::default() },
            not_hedged: &self.not_hedged,
            delays: &[("east".to_owned(), Duration::from_millis(1_900))],
            today: today(),
            recommendation: worth::recommend(&tail, &Terms::of(&spec, true, &outcome.windows.long)),
            diagnosis: worth::diagnose(&tail, &Signs::default()),
        };
        let verdict = self.stage.verdict(Kind::HedgePolicy, "chat");
        let cohorts = if verdict.conflicts.is_empty() { vec![cohort] } else { Vec::new() };
        let facts =
            PolicyFacts { spec: &spec, verdict, object: &object, pods: &pods, currency: "USD", cohorts };
        let status = json!(policy_status(&HedgePolicyStatus::default(), &facts));
        self.shown(&status)
    }

    fn shown(&self, status: &Value) -> Value {
        let condition = |of: &str| {
            let conditions = status["conditions"].as_array().unwrap();
            let found = conditions.iter().find(|condition| condition["type"] == of).unwrap();
            json!({ "status": found["status"], "reason": found["reason"], "message": found["message"] })
        };
        let columns: serde_json::Map<String, Value> = COLUMNS
            .iter()
            .map(|(column, field)| ((*column).to_owned(), status["summary"][*field].clone()))
            .filter(|(_, value)| !value.is_null())
            .collect();
        let last = self.events.len().saturating_sub(3);
        json!({
            "get": columns,
            "ready": condition("Ready")["status"],
            "guardrailBreached": condition("GuardrailBreached"),
            "cohort": status["cohorts"][0],
            "events": self.events[last..],
        })
    }
}

/// Hedges, those that won, and what they added, in 1/1000 of the cost without them; 83 % of it on one route.
pub(crate) fn hedged(counters: &mut CohortCounters, hedges: u64, wins: u64, extra_per_mille: u128) {
    let extra = counters.cost_without.0 * extra_per_mille / 1_000;
    (counters.hedges, counters.wins) = (hedges, wins);
    counters.cost = Picos(counters.cost_without.0 + extra);
    counters.cost_lost = Picos(extra / 2);
    counters.extra_by_route = BTreeMap::from([
        ("azure-sweden".to_owned(), Picos(extra * 83 / 100)),
        ("east".to_owned(), Picos(extra * 17 / 100)),
    ]);
}

fn first_token(helped: bool) -> Percentiles {
    let at = |millis| Some(Duration::from_millis(millis));
    let alone = without();
    let (p99, p99_low) = if helped { (at(3_100), at(2_900)) } else { (alone.p99, alone.p99_low) };
    Percentiles { p50: at(610), p95: at(2_400), p99, p99_low, samples: 3_000.0 }
}

fn without() -> Estimate {
    let at = |millis| Some(Duration::from_millis(millis));
    Estimate {
        p50: at(610),
        p95: at(2_500),
        p99: at(9_800),
        p99_low: at(8_900),
        p99_high: at(10_900),
        samples: 3_000.0,
    }
}

/// 1.84 USD of 203.10 USD.
fn today() -> Spent {
    let cents = |cents: u128| Picos(cents * 10_000_000_000);
    Spent { cost: cents(20_310), without: cents(20_126), lost: cents(150), ..Spent::default() }
}

/// A route whose answers are slow at times, and one whose answers are slow more often.
fn tail() -> Tail {
    let curve = |slow: u64| {
        let mut counts = Counts::new();
        (0..1_000 - slow).for_each(|place| counts.event(Duration::from_millis(400 + place)));
        (0..slow).for_each(|place| counts.event(Duration::from_millis(8_000 + 20 * place)));
        Curve::new(&Decayed::from(&counts), &[])
    };
    Tail::new([("azure-sweden".to_owned(), curve(90)), ("east".to_owned(), curve(20))])
}
