//! S13: where hedging loses.
//!
//! *Load.* Both regions are near their capacity and ignore cancels, so every duplicate takes a whole service from everybody's
//! primaries. (Where cancels are heeded a winning hedge *frees* the place of a straggler, and hedging pays up to full load.)
//! Utilisation goes up from case to case; an unbudgeted rule (tower) makes p99 worse from some utilisation on. Which one is
//! found and told. The shipped policy runs with its default lane, which sheds before the provider drowns, and does not hedge
//! while it sheds.
//!
//! *How far p99 can hold.* Providers here name no limit (`limits.maxConcurrent`), so nobody is told their load. Of 100 requests
//! 4.75 are hedged (5 % less the hold-out), and each duplicate is served to its end: below a utilisation of 1 / 1.0475 = 0.955
//! the providers carry it, above it the queue grows until the lane sheds. At full load there is no p99 to hold: with arrivals as
//! many as can be served the queue has no steady state, and without any hedge p99 is 9 to 24 s by the seed. What must hold there
//! is that hedging gives way: lanes shed, and while they shed nothing is hedged.
//!
//! *Correlation.* What is slow is the prompt, not the route: a hedge is exactly as slow as its primary, wins never, and is
//! paid for. Prediction from the curves of independent routes cannot see that; experience scales it down, but not below a
//! quarter, so it is the guardrail on the win rate that ends it. Legs are alike with probability 1.

use hedgerow_policy::lane;

use super::{Acceptance, Case, Scenario, Table, s01_straggler_tail::stragglers, table::digits};
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
    table: Some(table),
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
        Acceptance::at_most(
            "duplicates at full load over those at half of it: lanes shed, and nothing is hedged meanwhile",
            results.median(full, "hedgerow", "duplicates")
                / results.median(LOADS[0].0, "hedgerow", "duplicates"),
            0.6,
        ),
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

/// Utilisation with and without duplicates, and what came of it.
fn table(results: &Results) -> Table {
    let mut table = Table::new(
        "Every duplicate is served to its end: utilisation is what primaries ask for, and with the duplicates on top.",
        ["load: arm", "utilisation", "with duplicates", "p99 s", "95 % interval", "over none", "sheds"],
    );
    for (case, load) in LOADS {
        for arm in ["none", "hedgerow", "tower"] {
            let of = |figure| results.median(case, arm, figure);
            let p99 = results.spread(case, arm, "p99");
            let values = [
                digits(load, 2),
                digits(load * (1.0 + of("duplicates") / 100.0), 3),
                digits(p99.at, 2),
                format!("{:.2} to {:.2}", p99.low, p99.high),
                digits(p99.at / results.median(case, "none", "p99"), 2),
                digits(of("shed"), 0),
            ];
            table.row(format!("{case}: {arm}"), values);
        }
    }
    table
}
