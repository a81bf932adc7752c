//! S15: is the estimate without hedging true?
//!
//! The operator tells p99 as it would be without hedges, from primaries of which the hedged ones were cancelled (Kaplan-Meier,
//! the control group included), with an interval. Here the truth is known: it is the distribution. Four distributions, hedged
//! by the default policy. From the guardrails issue: within 10 % of the truth at each, and the interval covers it in at
//! least 90 % of 200 seeds (`hedgerow replay s15 --seeds 200`; fewer give a coarser share). The same without the closed loop
//! of delay and budget is a test of the policy crate, `tests/coverage.rs`.

use super::{Acceptance, Case, Scenario, s02_optimum::shape};
use crate::replay::{
    Figures, Results,
    engine::Run,
    model::{Arm, Model, Provider, Traffic, terms::policy},
};

const SECONDS: f64 = 600.0;
const WORLDS: [&str; 4] = ["lognormal", "5 % stragglers", "3 % stragglers", "pareto"];

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "s15-counterfactual",
    about: "the estimate of p99 without hedging against the truth, and how often its interval covers it",
    cases,
    run: super::simulate,
    figures,
    accept,
    table: None,
};

fn cases() -> Vec<Case> {
    WORLDS
        .iter()
        .map(|name| {
            let providers = ["east", "west"].map(|route| Provider::steady(route, shape(name)));
            let model = Model::new(SECONDS, providers.into(), vec![Traffic::chat(20.0, SECONDS)]);
            Case { name, model, arms: vec![Arm::policy("hedgerow", policy(&serde_json::json!({})))] }
        })
        .collect()
}

fn figures(case: &Case, _: &Arm, run: &Run, figures: &mut Figures) {
    let truth = shape(case.name).quantile(0.99);
    let (low, at, high) = run.alone_p99;
    figures.set("over truth", at / truth);
    figures.set("covers", f64::from(u8::from((low..=high).contains(&truth))));
}

fn accept(results: &Results) -> Vec<Acceptance> {
    let mut all = Vec::new();
    for case in WORLDS {
        let ratio = results.median(case, "hedgerow", "over truth");
        all.push(Acceptance::between(format!("estimate over truth, median, {case}"), ratio, 0.9, 1.1));
        let covers = results.mean(case, "hedgerow", "covers");
        all.push(Acceptance::at_least(
            format!("share of intervals that cover the truth, {case}"),
            covers,
            0.9,
        ));
    }
    all
}
