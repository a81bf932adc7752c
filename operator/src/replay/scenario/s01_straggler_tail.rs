//! S1: a stationary tail, and what each way of estimating the delay makes of it.
//!
//! Two worlds, 60 requests a second over two pods and two routes for 20 minutes, the first two not measured: 5 % of first
//! tokens straggle around 6 s and the rest around 0.6 s (the 95th percentile lies in the gap between the modes, so an
//! estimator is judged by its duplicates); and one lognormal without a second mode (judged by its delay). Legs are
//! independent. Hedges are not limited by anybody's budget but the arm's own.
//!
//! Expected: an estimator that drops cancelled losers believes the route to be faster than it is and sends twice the
//! duplicates (tower::hedge); one that counts them as censored keeps its target.
//!
//! *What can be reached at p99.* Without hedges it is 7.72 s. Whoever knows the distribution waits 3.02 s, sends 95 % of the
//! firings and gets 4.06 s, 0.53 of that. A cell has 15 samples a second and remembers them with weights that fall by 0.7 every
//! 30 s, which scatters like 15 x 30 x 1.7 / 0.3 = 2,550 samples: the share beyond a time is known to
//! sqrt(0.05 x 0.95 / 2,550) = 0.43 %. In the gap the share falls from 5.8 % at 2 s to 4.6 % at 4 s, so the delay scatters
//! between these, and p99 of the mixture is 4.54 s, 0.59 of that without hedges (`sampled`, which counts with the shipped rule).
//! In the replay steps of at most 25 % keep a delay that chance has moved for longer.

use super::{
    Acceptance, Case, Scenario,
    sampled::{self, Sampled},
};
use crate::replay::{
    Figures, Results,
    baseline::{Finagle, GoGateway, Tower},
    engine::Run,
    model::{
        Arm, Model, Provider, Span, Traffic,
        chance::Shape,
        terms::{delay_rule, policy},
    },
};

const SECONDS: f64 = 1_200.0;
/// How far p99 may lie above what samples allow: three standard errors of a median over twenty seeds are 2.4 %, and as much for
/// the bound on steps.
const SPREAD: f64 = 1.05;
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
        let mut model = Model::new(SECONDS, providers, vec![Traffic::chat(sampled::RATE, SECONDS)]);
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

/// p99 over that without hedges, with 5 % stragglers, of the default rule that has as many samples as a cell.
fn sampled() -> f64 {
    let (shape, rule) = (stragglers(), delay_rule(&policy(&serde_json::json!({})), true));
    Sampled { shape: &shape, rule: &rule, alike: 0.0, rate: sampled::CELL }.quantile(0.99)
        / shape.quantile(0.99)
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
            "p99 over that without hedges, 5 % stragglers (with as many samples as a cell has: 0.59)",
            of(MIX, "hedgerow", "p99") / of(MIX, "none", "p99"),
            (1_000.0 * SPREAD * sampled()).round() / 1_000.0,
        ),
        Acceptance::between(
            "p50 over that without hedges, 5 % stragglers",
            of(MIX, "hedgerow", "p50") / of(MIX, "none", "p50"),
            0.98,
            1.02,
        ),
    ]
}
