//! S7: one tenant floods a hundredfold; batch floods to 140 %.
//!
//! *Tenant.* Nine tenants ask once a second each; from minute 3 on a tenth asks 100 times a second, without heeding
//! Retry-After. Lane of 120 per pod. The others' p99 is compared with a run without the flood.
//!
//! *Batch.* Interactive work at 30 % of what both pods can run, batch at 140 %, clients come back when told to. Interactive
//! must not be shed, batch must get at least the twentieth that a strict order would not give it.

use hedgerow_policy::{lane, limiter};

use super::{Acceptance, Case, Scenario, s01_straggler_tail::one_mode};
use crate::replay::{
    Figures, Results,
    engine::Run,
    model::{
        Arm, Model, Provider, Span, Traffic,
        sdk::Sdk,
        terms::policy,
        traffic::{Arrivals, constant},
    },
};

const SECONDS: f64 = 900.0;
const FROM: f64 = 180.0;
const ALONE: &str = "nine tenants alone";
const TENANT: &str = "a tenth floods";
const BATCH: &str = "batch at 140 %";
/// Most at once per pod.
const POD: u32 = 120;
/// Mean seconds that a user action holds its place: 1.08 to the first token, 4.53 from there.
const HOLD: f64 = 5.6;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "s07-floods",
    about: "a tenant floods, batch floods: the others and the interactive do not notice, batch is not starved",
    cases,
    run: super::simulate,
    figures,
    accept,
    table: None,
};

fn fixed(limit: u32) -> limiter::Rule {
    let algorithm = limiter::Algorithm::Fixed;
    limiter::Rule { algorithm, initial: limit, max: limit, ..limiter::Rule::default() }
}

fn world(traffic: Vec<Traffic>, lanes: Vec<lane::Rule>) -> Model {
    let providers = ["east", "west"].map(|name| Provider::steady(name, one_mode()));
    Model {
        lanes,
        max_in_flight: POD,
        spans: vec![Span { name: "flood", from: FROM, to: SECONDS }],
        ..Model::new(SECONDS, providers.into(), traffic)
    }
}

fn open(name: &'static str, rate: f64) -> Traffic {
    let arrivals = Arrivals::Open { rate: constant(rate), most: rate };
    Traffic { name, arrivals, ..Traffic::chat(rate, SECONDS) }
}

fn cases() -> Vec<Case> {
    let tenants = || Traffic { tenants: 9, first_tenant: 1, ..open("tenants", 9.0) };
    let flood = Traffic {
        first_tenant: 100,
        span: (FROM, SECONDS),
        sdk: Sdk { compliant: false, ..Sdk::OPENAI },
        measured: false,
        ..open("flood", 100.0)
    };
    let one_lane = || vec![lane::Rule { limiter: fixed(POD), ..lane::Rule::default() }];
    let capacity = f64::from(2 * POD) / HOLD;
    let batch = Traffic {
        lane: 1,
        cohort: None,
        sdk: Sdk::PATIENT,
        span: (FROM, SECONDS),
        measured: false,
        ..open("batch", 1.4 * capacity)
    };
    let two_lanes = vec![
        lane::Rule {
            priority: 100,
            guaranteed_percent: 60,
            ceiling_percent: 90,
            limiter: fixed(POD),
            ..lane::Rule::default()
        },
        lane::Rule {
            priority: 10,
            guaranteed_percent: 10,
            ceiling_percent: 70,
            limiter: fixed(POD),
            ..lane::Rule::default()
        },
    ];
    let arms = || vec![Arm::policy("hedgerow", policy(&serde_json::json!({})))];
    vec![
        Case { name: ALONE, model: world(vec![tenants()], one_lane()), arms: arms() },
        Case { name: TENANT, model: world(vec![tenants(), flood], one_lane()), arms: arms() },
        Case {
            name: BATCH,
            model: world(vec![open("chat", 0.3 * capacity), batch], two_lanes),
            arms: arms(),
        },
    ]
}

fn figures(_: &Case, _: &Arm, run: &Run, figures: &mut Figures) {
    let Some([first, second]) = run.sums[0].get(..2) else { return };
    figures.set("first refused", 1_000.0 * first.refusals as f64 / first.tries.max(1) as f64);
    figures.set("first given up", (first.shed + first.failed) as f64);
    figures.set("second served", 100.0 * second.answered as f64 / second.calls.max(1) as f64);
    let answered = (first.answered + second.answered).max(1);
    figures.set("second share", 100.0 * second.answered as f64 / answered as f64);
}

fn accept(results: &Results) -> Vec<Acceptance> {
    let of = |case, figure| results.median(case, "hedgerow", figure);
    vec![
        Acceptance::at_most(
            "p99 of the nine beside a flood over alone",
            of(TENANT, "p99") / of(ALONE, "p99"),
            1.2,
        ),
        Acceptance::at_most(
            "interactive calls given up beside a batch flood",
            of(BATCH, "first given up"),
            0.0,
        ),
        Acceptance::at_most(
            "interactive tries refused beside a batch flood, per 1,000",
            of(BATCH, "first refused"),
            1.0,
        ),
        Acceptance::at_least("share of answers that go to batch, percent", of(BATCH, "second share"), 5.0),
    ]
}
