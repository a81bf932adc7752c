//! S5: both providers answer 429 with `Retry-After: 10` for a minute.
//!
//! A 429 is no failure: no breaker opens, nothing is hedged, and nobody asks again before the time is over. Per pod and
//! route that is one round of attempts every ten seconds. How large a round is, is told: clients come back in the second in which
//! the wait ends, and what is on its way until the first 429 comes back (50 ms) goes through.

use super::{Acceptance, Case, Scenario, s01_straggler_tail::stragglers};
use crate::replay::{
    Figures, Results,
    engine::Run,
    model::{Arm, Model, Provider, Span, Traffic, Weather, terms::policy},
};

const FROM: f64 = 180.0;
const TO: f64 = 240.0;
const RETRY_AFTER: f64 = 10.0;
const RATE: f64 = 40.0;
const CASE: &str = "429 for a minute";

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "s05-pushback",
    about: "a storm of 429 with Retry-After: no hedges, no early retries, closed breakers",
    cases,
    run: super::simulate,
    figures,
    accept,
    table: None,
};

fn cases() -> Vec<Case> {
    let storm = |at: f64| {
        let pushback = (FROM..TO).contains(&at).then_some(RETRY_AFTER);
        Weather { pushback, ..Weather::FINE }
    };
    let providers = ["east", "west"].map(|name| Provider::steady(name, stragglers()).under(storm));
    let mut model = Model::new(420.0, providers.into(), vec![Traffic::chat(RATE, 420.0)]);
    model.spans =
        vec![Span { name: "storm", from: FROM, to: TO }, Span { name: "after", from: TO + 30.0, to: 420.0 }];
    let arms = vec![Arm::none(), Arm::policy("hedgerow", policy(&serde_json::json!({})))];
    vec![Case { name: CASE, model, arms }]
}

fn figures(_: &Case, _: &Arm, run: &Run, figures: &mut Figures) {
    // The first second holds hedges of primaries that were sent before the storm.
    figures.set("hedges", Run::total(&run.hedges, FROM + 1.0, TO));
    figures.set("early", run.early as f64);
    figures.set("a round", Run::total(&run.attempts, FROM, TO) / ((TO - FROM) / RETRY_AFTER));
    let opened = run.breakers.iter().filter(|(.., state)| matches!(*state, "Open" | "HalfOpen")).count();
    figures.set("opened", opened as f64);
}

fn accept(results: &Results) -> Vec<Acceptance> {
    let worst = |figure| results.worst(CASE, "hedgerow", figure);
    vec![
        Acceptance::at_most("hedges inside the storm", worst("hedges"), 0.0),
        Acceptance::at_most("attempts to a route that had asked to wait", worst("early"), 0.0),
        Acceptance::at_most("breakers that opened", worst("opened"), 0.0),
        Acceptance::at_least(
            "answered half a minute after it, percent",
            results.median(CASE, "hedgerow", "after/answered"),
            99.0,
        ),
    ]
}
