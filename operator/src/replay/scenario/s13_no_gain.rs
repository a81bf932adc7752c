//! S13: where hedging loses.
//!
//! *Load.* Both regions are near their capacity and ignore cancels, so every duplicate takes a whole service from everybody's
//! primaries. (Where cancels are heeded a winning hedge *frees* the place of a straggler, and hedging pays up to full load.)
//! Utilisation goes up from case to case; an unbudgeted rule (tower) makes p99 worse from some utilisation on. Which one is
//! found and told. The shipped policy runs with its default lane, which sheds before the provider drowns, and does not hedge
//! while it sheds.
//!
//! *Correlation.* What is slow is the prompt, not the route: a hedge is exactly as slow as its primary, wins never, and is
//! paid for. Prediction from the curves of independent routes cannot see that; experience scales it down, but not below a
//! quarter, so it is the guardrail on the win rate that ends it. Legs are alike with probability 1.

use hedgerow_policy::lane;

use super::{Acceptance, Case, Scenario, s01_straggler_tail::stragglers};
use crate::replay::{
    Figures, Results,
    baseline::Tower,
    engine::Run,
    model::{Arm, Model, Provider, Span, Traffic, Weather, chance::Shape, terms::policy},
};

const SECONDS: f64 = 1_500.0;
const ALIKE: &str = "legs alike";
/// Utilisation in percent of what both regions carry without anybody noticing.
const LOADS: [(&str, f64); 5] =
    [("load 50 %", 0.5), ("load 80 %", 0.8), ("load 90 %", 0.9), ("load 95 %", 0.95), ("load 100 %", 1.0)];
/// Attempts in service that a region carries.
const CAPACITY: f64 = 100.0;
/// Mean seconds in service: 0.95 x 0.68 + 0.05 x 6.28 to the first token, 4.53 from there.
const SERVICE: f64 = 5.5;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "s13-no-gain",
    about: "where hedging loses: under load that duplicates add to, and where legs are slow together",
    cases,
    run: super::simulate,
    figures,
    accept,
};

fn model(rate: f64, capacity: f64) -> Model {
    let busy = move |_: f64| Weather { capacity, ..Weather::FINE };
    let providers = ["east", "west"].map(|name| {
        let generation = Shape::lognormal(4.0, 0.5);
        Provider { generation, ignores_cancel: 1.0, ..Provider::steady(name, stragglers()).under(busy) }
    });
    let mut model = Model::new(SECONDS, providers.into(), vec![Traffic::chat(rate, SECONDS)]);
    model.lanes = vec![lane::Rule::default()];
    model.spans =
        vec![Span { name: "late", from: 600.0, to: SECONDS }, Span { name: "early", from: 60.0, to: 360.0 }];
    model
}

fn cases() -> Vec<Case> {
    let ours = || Arm::policy("hedgerow", policy(&serde_json::json!({})));
    let mut cases: Vec<Case> = LOADS
        .iter()
        .map(|(name, load)| Case {
            name,
            model: model(2.0 * CAPACITY * load / SERVICE, CAPACITY),
            arms: vec![
                Arm::none().without_ejection(),
                ours().without_ejection(),
                Arm::rival("tower", Tower::boxed),
            ],
        })
        .collect();
    let alike = Model { correlation: 1.0, ..model(20.0, f64::INFINITY) };
    let unguarded = Arm { name: "no guardrail", ..ours().unguarded() };
    cases.push(Case { name: ALIKE, model: alike, arms: vec![Arm::none(), unguarded, ours()] });
    cases
}

/// Seconds until the first trip; hedges per 1,000 calls in the late span.
fn figures(_: &Case, _: &Arm, run: &Run, figures: &mut Figures) {
    let trip = run.turns.iter().find(|turn| turn.to == "Suspended");
    figures.set("trip", trip.map_or(f64::NAN, |turn| turn.at));
    let by_win_rate = trip.is_some_and(|turn| turn.reason == "WinRateTooLow");
    figures.set("by win rate", f64::from(u8::from(by_win_rate)));
}

fn accept(results: &Results) -> Vec<Acceptance> {
    let p99 = |case, arm| results.median(case, arm, "p99");
    let loses = |arm: &'static str| {
        LOADS
            .iter()
            .find(|(case, _)| p99(case, arm) > p99(case, "none"))
            .map_or(f64::INFINITY, |(_, load)| *load)
    };
    let over = |case| p99(case, "hedgerow") / p99(case, "none");
    let (full, below) = (LOADS[LOADS.len() - 1].0, &LOADS[..LOADS.len() - 1]);
    let worst = below.iter().map(|(case, _)| over(case)).fold(f64::NEG_INFINITY, f64::max);
    vec![
        Acceptance::at_most(
            "load from which tower's hedges make p99 worse, share of capacity",
            loses("tower"),
            1.0,
        ),
        Acceptance::at_most("worst p99 of the shipped policy over none, loads up to 95 %", worst, 1.05),
        Acceptance::at_most("p99 of the shipped policy over none at full load", over(full), 1.05),
        Acceptance::at_most(
            "seconds until the guardrail trips where legs are alike",
            results.worst(ALIKE, "hedgerow", "trip"),
            600.0,
        ),
        Acceptance::at_least(
            "share of seeds in which it is the win rate that trips",
            results.mean(ALIKE, "hedgerow", "by win rate"),
            1.0,
        ),
        Acceptance::at_most(
            "duplicates after that over those without a guardrail",
            results.median(ALIKE, "hedgerow", "duplicates")
                / results.median(ALIKE, "no guardrail", "duplicates"),
            0.35,
        ),
    ]
}
