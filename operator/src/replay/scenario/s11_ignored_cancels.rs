//! S11: a provider that bills on after a cancel.
//!
//! 30 % of cancels are ignored: the answer is generated and billed to its end. A closed connection cannot tell, so by default
//! a loser is booked at its lower bound (input in full, output seen), and what is booked falls short of the bill. Two
//! remedies, both declared: `onCancel.billing: Continues` books losers at the expected output, never below the bill; the
//! audited share shows what cancelling saves, and its guardrail ends hedging where that is nothing.
//!
//! *How soon.* 60 requests a second send 2.8 hedges; 2 % of their losers are audited, 0.056 a second, so the twenty that a verdict
//! needs take 355 s. Of twenty with a true 30 % one sample in nine lies below the 20 % of the trip, and the short window, of four
//! and more, holds none that completed in every fourth: then the next audits decide, a few a minute. The rule over such a stream
//! (independent arrivals, 12,000 runs) trips half of them by 370 s, 95 % by 590 s, all but one in two thousand by 1,200 s: the
//! worst of twenty is later than that once in a hundred. A faster verdict needs more audits, which are duplicates paid in full.

use super::{Acceptance, Case, Scenario, s01_straggler_tail::stragglers};
use crate::replay::{
    Figures, Results,
    engine::Run,
    model::{Arm, Model, Provider, Span, Traffic, terms::policy},
};

const SECONDS: f64 = 1_800.0;
/// Seconds by which the guardrail has tripped in half of the runs: 370, and three standard errors of twenty (26 s each).
const HALF_BY: f64 = 450.0;
/// Seconds by which it has tripped in the slowest of twenty, but for once in a hundred.
const ALL_BY: f64 = 1_200.0;
const STOPS: &str = "declared to stop";
const CONTINUES: &str = "declared to continue";

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "s11-ignored-cancels",
    about: "30 % of cancels are ignored: what is booked against what is billed, and the guardrail on late completions",
    cases,
    run: super::simulate,
    figures,
    accept,
    table: None,
};

fn cases() -> Vec<Case> {
    let world = |name, continues| {
        let providers = ["east", "west"].map(|name| Provider {
            ignores_cancel: 0.3,
            continues,
            ..Provider::steady(name, stragglers())
        });
        let mut model = Model::new(SECONDS, providers.into(), vec![Traffic::chat(60.0, SECONDS)]);
        model.spans = vec![Span { name: "steady", from: 120.0, to: SECONDS }];
        let late = policy(&serde_json::json!({ "guardrails": { "lateCompletions": { "tripPercent": 20 } } }));
        let arms = vec![
            Arm::none(),
            Arm::policy("hedgerow", policy(&serde_json::json!({}))),
            Arm::policy("lateCompletions 20 %", late),
        ];
        Case { name, model, arms }
    };
    vec![world(STOPS, false), world(CONTINUES, true)]
}

fn figures(_: &Case, _: &Arm, run: &Run, figures: &mut Figures) {
    let sums = run.sum(0);
    figures.set("booked over billed", sums.lost as f64 / (sums.billed_lost as f64).max(1.0));
    let trip = run.turns.iter().find(|turn| turn.reason == "LateCompletions");
    figures.set("trip", trip.map_or(f64::NAN, |turn| turn.at));
}

fn accept(results: &Results) -> Vec<Acceptance> {
    vec![
        Acceptance::at_least(
            "booked cost of losers over the bill, declared to continue",
            results.least(CONTINUES, "hedgerow", "booked over billed"),
            1.0,
        ),
        Acceptance::at_most(
            "booked cost of losers over the bill, declared to stop: a lower bound is never above",
            results.worst(STOPS, "hedgerow", "booked over billed"),
            1.0,
        ),
        Acceptance::at_most(
            "seconds until the guardrail on late completions trips, half of the runs",
            results.median(STOPS, "lateCompletions 20 %", "trip"),
            HALF_BY,
        ),
        Acceptance::at_most(
            "seconds until the guardrail on late completions trips, the slowest run",
            results.worst(STOPS, "lateCompletions 20 %", "trip"),
            ALL_BY,
        ),
    ]
}
