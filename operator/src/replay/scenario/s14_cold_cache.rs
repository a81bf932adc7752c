//! S14: what a hedge costs where prompts are cached.
//!
//! Long conversations: 20,000 input tokens of which 80 % are in the prompt cache of the route where the conversation lives,
//! at a tenth of the price; 300 tokens out. A hedge finds the other route's cache cold: it pays the full prompt and takes 1.5 s longer to
//! read it. Losers alone look cheap; the winners on a cold route are what costs (they are paid in full and the primary's
//! cached prompt as well). The gate refuses such hedges from a cached share of 30 % on; who wants them all the same is held
//! by the guardrail on extra spend.

use hedgerow_policy::ledger::Prices;

use super::{Acceptance, Case, Scenario, s01_straggler_tail::stragglers};
use crate::replay::{
    Figures, Results,
    engine::Run,
    model::{Arm, Model, Provider, Span, Traffic, terms::policy},
};

const SECONDS: f64 = 1_800.0;
const CASE: &str = "80 % cached";

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "s14-cold-cache",
    about: "hedges to a cold prompt cache: their price, the gate that refuses them, the guardrail that ends them",
    cases,
    run: super::simulate,
    figures,
    accept,
    table: None,
};

fn cases() -> Vec<Case> {
    let prices = Prices { input: 2_500_000, cache_read: 250_000, cache_write: 2_500_000, output: 10_000_000 };
    let providers =
        ["east", "west"].map(|name| Provider { prices, cold: 1.5, ..Provider::steady(name, stragglers()) });
    let chat = Traffic { input: 20_000, warm: 0.8, ..Traffic::chat(30.0, SECONDS) };
    let mut model = Model::new(SECONDS, providers.into(), vec![chat]);
    model.spans = vec![Span { name: "steady", from: 120.0, to: SECONDS }];
    let warm = || policy(&serde_json::json!({ "cohorts": [{ "name": "chat", "hedgeWarmCache": true }] }));
    let arms = vec![
        Arm::none(),
        Arm::policy("hedgerow", policy(&serde_json::json!({}))),
        Arm::policy("hedgeWarmCache, no guardrail", warm()).unguarded(),
        Arm::policy("hedgeWarmCache", warm()),
    ];
    vec![Case { name: CASE, model, arms }]
}

fn figures(_: &Case, _: &Arm, run: &Run, figures: &mut Figures) {
    let trip = run.turns.iter().find(|turn| turn.to == "Suspended");
    let by_spend = trip.is_some_and(|turn| turn.reason == "ExtraSpendExceeded");
    figures.set("by spend", f64::from(u8::from(by_spend)));
}

fn accept(results: &Results) -> Vec<Acceptance> {
    let of = |arm, figure| results.median(CASE, arm, figure);
    vec![
        Acceptance::at_most("duplicates of the default, percent", of("hedgerow", "duplicates"), 0.5),
        Acceptance::at_least(
            "extra spend where warm prompts are hedged and nobody watches, percent",
            of("hedgeWarmCache, no guardrail", "extra"),
            6.0,
        ),
        Acceptance::at_least(
            "share of seeds in which the guardrail on extra spend ends it",
            results.mean(CASE, "hedgeWarmCache", "by spend"),
            1.0,
        ),
        Acceptance::at_most("extra spend with the guardrail, percent", of("hedgeWarmCache", "extra"), 3.0),
    ]
}
