//! S12: the incident of a Go gateway's report, and its table.
//!
//! "200 concurrent chat sessions, 40 minutes, provider error rate ramping to 85 %, plus a second phase where one region
//! stays healthy but slows to a 9-second floor while batch traffic floods the gateway to 140 % of pod capacity."
//!
//! What the text leaves open, and what is assumed here:
//! - share of the traffic in the slow region: 10, 25 and 50 %, each a world of its own. (With 10 % of requests allowed to be
//!   hedged, a slow region of half the traffic cannot be hedged away: the published p99 of 3.1 s needs about a tenth.)
//! - sessions think 8 s (lognormal); first tokens around 1.2 s with 3 % stragglers; 4 s of generation; the SDK's default
//!   retries, Retry-After obeyed;
//! - both regions fail alike, from minute 3 to 13 with a probability that grows to 85 %; the slow phase is minute 20 to 40;
//! - a pod runs 100 at once (two pods); batch arrives at 1.4 times what both can run, and comes again up to five times;
//! - "before" is breaker and budget: one ceiling for all, refusals without Retry-After, no ejection of slow routes.
//!
//! The open-loop version sends the same number of questions a second whatever happens, which closed sessions hide.

use hedgerow_policy::{lane, limiter};

use super::{Acceptance, Case, Scenario};
use crate::replay::{
    Figures, Results,
    baseline::{GoGateway, GoLane},
    engine::Run,
    model::{
        Arm, Model, Provider, Span, Traffic, Weather,
        chance::Shape,
        sdk::Sdk,
        terms::policy,
        traffic::{Arrivals, constant},
    },
};

const SECONDS: f64 = 2_400.0;
const SLOW: f64 = 1_200.0;
const POD: u32 = 100;
const WORLDS: [(&str, u32); 3] =
    [("slow region 10 %", 10), ("slow region 25 %", 25), ("slow region 50 %", 50)];
const OPEN: &str = "slow region 10 %, open loop";
const BEFORE: &str = "breaker and budget";

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "s12-incident",
    about: "a Go gateway's published incident: errors to 85 %, then a slow region under a batch flood; beside its published table",
    cases,
    run: super::simulate,
    figures,
    accept,
};

fn first_token() -> Shape {
    Shape::lognormal(1.2, 0.35).with_rare(0.03, Shape::lognormal(6.0, 0.3))
}

fn errors(at: f64) -> f64 {
    if (180.0..780.0).contains(&at) { 0.85 * (at - 180.0) / 600.0 } else { 0.0 }
}

fn model(share: u32, chat: Arrivals) -> Model {
    let east = move |at: f64| Weather { failing: errors(at), ..Weather::FINE };
    let west = move |at: f64| {
        let floor = if at >= SLOW { 9.0 } else { 0.0 };
        Weather { failing: errors(at), floor, ..Weather::FINE }
    };
    let providers = vec![
        Provider { weight: 100 - share, ..Provider::steady("east", first_token()) }.under(east),
        Provider { weight: share, ..Provider::steady("west", first_token()) }.under(west),
    ];
    let flood = 1.4 * f64::from(2 * POD) / 6.0;
    let batch = Traffic {
        name: "batch",
        arrivals: Arrivals::Open { rate: constant(flood), most: flood },
        span: (SLOW, SECONDS),
        cohort: None,
        lane: 1,
        first_tenant: 9,
        sdk: Sdk { retries: 5, ..Sdk::OPENAI },
        measured: false,
        ..Traffic::chat(1.0, SECONDS)
    };
    let chat = Traffic { arrivals: chat, first_tenant: 1, ..Traffic::chat(1.0, SECONDS) };
    Model {
        max_in_flight: POD,
        lanes: vec![lane(100, 60, 90, 60), lane(10, 10, 70, 30)],
        spans: vec![
            Span { name: "slow", from: SLOW, to: SECONDS },
            Span { name: "slow after a minute", from: SLOW + 60.0, to: SECONDS },
            Span { name: "errors", from: 180.0, to: 780.0 },
        ],
        ..Model::new(SECONDS, providers, vec![chat, batch])
    }
}

/// Priority, guarantee and ceiling in percent, first limit.
fn lane(priority: u16, guaranteed: u8, ceiling: u8, initial: u32) -> lane::Rule {
    let limiter = limiter::Rule { initial, ..limiter::Rule::default() };
    lane::Rule {
        priority,
        guaranteed_percent: guaranteed,
        ceiling_percent: ceiling,
        limiter,
        ..lane::Rule::default()
    }
}

/// One ceiling for all, no queue.
fn ceiling() -> Vec<lane::Rule> {
    let limiter = limiter::Rule {
        algorithm: limiter::Algorithm::Fixed,
        initial: POD,
        max: POD,
        ..limiter::Rule::default()
    };
    vec![lane::Rule { limiter, max_depth_percent: 0, ..lane::Rule::default() }]
}

fn cases() -> Vec<Case> {
    let unnamed: fn(f64, u32) -> f64 = |_, _| 0.0;
    let arms = || {
        let before = Arm { name: BEFORE, lanes: Some(ceiling()), retry_after: Some(unnamed), ..Arm::none() };
        let seed = Arm {
            retry_after: Some(|_, _| 1.0),
            limiter: Some(GoLane::boxed),
            ..Arm::rival("go gateway", GoGateway::boxed)
        };
        vec![
            before.without_ejection(),
            Arm { name: "lanes and ejection", ..Arm::none() },
            seed,
            Arm::policy("hedgerow", policy(&serde_json::json!({}))),
        ]
    };
    let sessions = || Arrivals::Sessions { count: 200, think: Shape::lognormal(8.0, 0.5) };
    let mut cases: Vec<Case> = WORLDS
        .iter()
        .map(|(name, share)| Case { name, model: model(*share, sessions()), arms: arms() })
        .collect();
    let open = Arrivals::Open { rate: constant(14.0), most: 14.0 };
    cases.push(Case { name: OPEN, model: model(10, open), arms: arms() });
    cases
}

/// Errors of chat users per 1,000 questions, batch refusals per 1,000 jobs, tokens that nobody used.
fn figures(_: &Case, _: &Arm, run: &Run, figures: &mut Figures) {
    let chat = run.sums[0][0];
    let batch = run.sums[0][1];
    let per_mille = |part: u64, whole: u64| 1_000.0 * part as f64 / whole.max(1) as f64;
    figures.set("chat errors", per_mille(chat.failed + chat.shed, chat.calls));
    figures.set("chat refusals", per_mille(chat.refusals, chat.calls));
    figures.set("batch refusals", per_mille(batch.refusals, batch.calls));
    figures.set("batch served", 100.0 * batch.answered as f64 / batch.calls.max(1) as f64);
    let errors = run.sums[2][0];
    figures.set("error phase failed", per_mille(errors.failed + errors.shed, errors.calls));
    figures.set("error phase attempts", errors.attempts as f64 / errors.calls.max(1) as f64);
}

fn accept(results: &Results) -> Vec<Acceptance> {
    let of = |case, arm, figure| results.median(case, arm, figure);
    let mut all = Vec::new();
    for (case, _) in WORLDS {
        all.push(Acceptance::at_most(
            format!("chat questions refused or failed per 1,000 in the flood, {case}"),
            of(case, "hedgerow", "chat errors"),
            0.0,
        ));
    }
    let ten = WORLDS[0].0;
    all.push(Acceptance::at_least(
        "p99 before over p99 of hedgerow while the region is slow, 10 % there (published: 12.4 / 3.1 s = 4.0)",
        of(ten, BEFORE, "p99") / of(ten, "hedgerow", "p99"),
        2.0,
    ));
    all.push(Acceptance::between(
        "p50 of hedgerow over that of lanes and ejection alone, 10 % there",
        of(ten, "hedgerow", "p50") / of(ten, "lanes and ejection", "p50"),
        0.95,
        1.05,
    ));
    all.push(Acceptance::at_most(
        "cost of lost races, percent of all (published: 0.9)",
        of(ten, "hedgerow", "lost"),
        2.0,
    ));
    // Batch may have what chat leaves: at 140 % of everything that is about a third of its jobs.
    all.push(Acceptance::at_least(
        "batch jobs served in the flood, percent",
        of(ten, "hedgerow", "batch served"),
        25.0,
    ));
    all
}
