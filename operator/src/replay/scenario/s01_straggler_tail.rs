//! S1: a stationary tail, and what each way of estimating the delay makes of it.
//!
//! Two worlds, 60 requests a second over two pods and two routes for 20 minutes, the first two not measured: 5 % of first
//! tokens straggle around 6 s and the rest around 0.6 s (the 95th percentile lies in the gap between the modes, so an
//! estimator is judged by its duplicates); and one lognormal without a second mode (judged by its delay). Legs are
//! independent. Hedges are not limited by anybody's budget but the arm's own.
//!
//! Expected: an estimator that drops cancelled losers believes the route to be faster than it is and sends twice the
//! duplicates (tower::hedge); one that counts them as censored keeps its target.

use super::{Acceptance, Case, Scenario};
use crate::replay::{
    Figures, Results,
    baseline::{Finagle, GoGateway, Tower},
    engine::Run,
    model::{Arm, Model, Provider, Span, Traffic, chance::Shape, terms::policy},
};

const SECONDS: f64 = 1_200.0;
const MIX: &str = "5 % stragglers";
const ONE: &str = "one mode";

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "s01-straggler-tail",
    about: "a stationary tail of independent stragglers: what each estimator of the delay makes of it",
    cases,
    run: super::simulate,
    figures,
    accept,
    table: None,
};

/// 95 % around 0.6 s, 5 % around 6 s.
pub(super) fn stragglers() -> Shape {
    Shape::lognormal(0.6, 0.5).with_rare(0.05, Shape::lognormal(6.0, 0.3))
}

/// One lognormal.
pub(super) fn one_mode() -> Shape {
    Shape::lognormal(0.9, 0.6)
}

fn cases() -> Vec<Case> {
    let world = |name, shape: Shape| {
        let providers = vec![Provider::steady("east", shape.clone()), Provider::steady("west", shape)];
        let mut model = Model::new(SECONDS, providers, vec![Traffic::chat(60.0, SECONDS)]);
        model.spans = vec![Span { name: "steady", from: 120.0, to: SECONDS }];
        let arms = vec![
            Arm::none(),
            Arm::policy("hedgerow", policy(&serde_json::json!({}))),
            Arm::policy("optimal", policy(&serde_json::json!({ "delay": { "strategy": "Optimal" } }))),
            Arm::rival("tower", Tower::boxed),
            Arm::rival("finagle", Finagle::boxed),
            Arm::rival("go gateway", GoGateway::boxed),
        ];
        Case { name, model, arms }
    };
    vec![world(MIX, stragglers()), world(ONE, one_mode())]
}

/// Mean delay in force.
fn figures(_: &Case, _: &Arm, run: &Run, figures: &mut Figures) {
    let delays: Vec<f64> =
        run.frames.iter().filter(|frame| frame.at >= 120.0).map(|frame| frame.delay).collect();
    figures.set("delay", delays.iter().sum::<f64>() / delays.len().max(1) as f64);
}

fn accept(results: &Results) -> Vec<Acceptance> {
    let of = |case, arm, figure| results.median(case, arm, figure);
    let oracle = one_mode().quantile(0.95);
    vec![
        Acceptance::between(
            "duplicates with 5 % stragglers, percent (q = 0.95 of 5 %)",
            of(MIX, "hedgerow", "duplicates"),
            4.25,
            5.25,
        ),
        Acceptance::between(
            "delay over the true 95th percentile, one mode",
            of(ONE, "hedgerow", "delay") / oracle,
            0.9,
            1.1,
        ),
        Acceptance::at_least("duplicates of tower's rule, percent", of(MIX, "tower", "duplicates"), 9.0),
        Acceptance::at_most(
            "p99 over that without hedges, 5 % stragglers",
            of(MIX, "hedgerow", "p99") / of(MIX, "none", "p99"),
            0.6,
        ),
        Acceptance::between(
            "p50 over that without hedges, 5 % stragglers",
            of(MIX, "hedgerow", "p50") / of(MIX, "none", "p50"),
            0.98,
            1.02,
        ),
    ]
}
