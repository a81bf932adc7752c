//! S16: is the extra spend that is measured the one that is billed?
//!
//! The guardrail and the finance team look at one number: what hedging added to the cost of the primaries alone. It is made
//! from estimates (what a cancelled primary had read from the prompt cache, what it would have cost to its end), because
//! nobody bills them apart. Here both bills are known: the providers', and that of the same primaries alone. Three mixes of
//! requests in one cohort, so that the averages a pod learns are those of no single request: chat, retrieval with long
//! prompts, and conversations of which up to nine tenths are in the prompt cache. The second route is a fifth dearer, a
//! cold prompt is read at full price, and one cancel in twenty is ignored; in a fourth world all are, by providers that are
//! declared to bill on. From the guardrails issue: within 0.5 points.

use hedgerow_policy::ledger::Prices;

use super::{Acceptance, Case, Scenario, s01_straggler_tail::stragglers};
use crate::replay::{
    Figures, Results,
    engine::Run,
    model::{Arm, Model, Provider, Traffic, terms::policy},
};

const SECONDS: f64 = 900.0;

/// Requests a second, input tokens, share of them in the prompt cache, output tokens.
type Class = (f64, u64, f64, u64);

const CHAT: &[Class] = &[(15.0, 600, 0.0, 150), (10.0, 1_500, 0.2, 400), (5.0, 3_000, 0.3, 900)];
const RETRIEVAL: &[Class] = &[(20.0, 8_000, 0.15, 250), (10.0, 16_000, 0.05, 400)];
const WARM: &[Class] = &[(8.0, 3_000, 0.0, 400), (12.0, 12_000, 0.7, 350), (10.0, 30_000, 0.9, 300)];

/// Mixes, and whether providers bill on after a cancel.
const WORLDS: [(&str, &[Class], bool); 4] = [
    ("chat", CHAT, false),
    ("retrieval", RETRIEVAL, false),
    ("warm cache", WARM, false),
    ("chat, billed on", CHAT, true),
];

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "s16-extra-spend",
    about: "extra spend as it is measured against what providers bill, for chat, retrieval and warm caches",
    cases,
    run: super::simulate,
    figures,
    accept,
    table: None,
};

fn cases() -> Vec<Case> {
    let prices = |percent: u64| Prices {
        input: 25_000 * percent,
        cache_read: 2_500 * percent,
        cache_write: 25_000 * percent,
        output: 100_000 * percent,
    };
    let provider = |name, percent, continues| Provider {
        prices: prices(percent),
        ignores_cancel: if continues { 1.0 } else { 0.05 },
        continues,
        ..Provider::steady(name, stragglers())
    };
    WORLDS
        .iter()
        .map(|(name, mix, continues)| {
            let class = |(rate, input, warm, output): &Class| Traffic {
                input: *input,
                warm: *warm,
                output: *output,
                ..Traffic::chat(*rate, SECONDS)
            };
            let providers = vec![provider("east", 100, *continues), provider("west", 120, *continues)];
            let model = Model::new(SECONDS, providers, mix.iter().map(class).collect());
            let spec =
                policy(&serde_json::json!({ "cohorts": [{ "name": "chat", "hedgeWarmCache": true }] }));
            Case { name, model, arms: vec![Arm::policy("hedgerow", spec).unguarded()] }
        })
        .collect()
}

fn figures(_: &Case, _: &Arm, run: &Run, figures: &mut Figures) {
    let sums = run.sum(0);
    let billed = 100.0 * (sums.billed as f64 / sums.billed_alone as f64 - 1.0);
    figures.set("billed extra", billed);
    figures.set("off by", (figures.get("extra") - billed).abs());
}

fn accept(results: &Results) -> Vec<Acceptance> {
    let mut all = Vec::new();
    for (case, ..) in WORLDS {
        let billed = results.median(case, "hedgerow", "billed extra");
        all.push(Acceptance::at_least(format!("extra spend that is billed, percent, {case}"), billed, 1.0));
        let off = results.worst(case, "hedgerow", "off by");
        all.push(Acceptance::at_most(
            format!("points between measured and billed, worst seed, {case}"),
            off,
            0.5,
        ));
    }
    all
}
