//! S8: a burst of twenty times the places, and what the refused are told.
//!
//! One pod, 20 places of 1 s each, a queue of 5 for half a second; 400 jobs at once beside a steady 12 or 16 a second, all of
//! which come back exactly when they are told to, until they are served. Rules for `Retry-After`:
//! - a constant second (what most gateways send);
//! - one second plus up to one more;
//! - the reservation of `hedgerow_policy::lane`.

use hedgerow_policy::{lane, limiter};

use super::{Acceptance, Case, Scenario};
use crate::replay::{
    Figures, Results,
    engine::Run,
    model::{Arm, Model, Provider, Span, Traffic, chance::Shape, sdk::Sdk, traffic::Arrivals},
};

const SECONDS: f64 = 300.0;
const BURST: f64 = 30.0;
const PLACES: u32 = 20;
const LOADS: [(&str, f64); 2] = [("12 a second", 12.0), ("16 a second", 16.0)];

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "s08-retry-after",
    about: "a burst of twenty times the places: Retry-After as a constant and as a reservation",
    cases,
    run: super::simulate,
    figures,
    accept,
    table: None,
};

fn cases() -> Vec<Case> {
    LOADS
        .iter()
        .map(|(name, rate)| {
            let second =
                Provider { generation: Shape::Fixed(0.6), ..Provider::steady("east", Shape::Fixed(0.4)) };
            let steady = Traffic { sdk: Sdk::PATIENT, cohort: None, ..Traffic::chat(*rate, SECONDS) };
            let arrivals = Arrivals::Burst { at: BURST, count: 20 * PLACES };
            let burst = Traffic { name: "burst", arrivals, ..steady.clone() };
            let rule = limiter::Rule {
                algorithm: limiter::Algorithm::Fixed,
                initial: PLACES,
                max: PLACES,
                ..limiter::Rule::default()
            };
            let model = Model {
                pods: vec![(0.0, f64::INFINITY)],
                lanes: vec![lane::Rule { limiter: rule, ..lane::Rule::default() }],
                max_in_flight: PLACES,
                spans: vec![Span { name: "burst and after", from: BURST, to: SECONDS }],
                ..Model::new(SECONDS, vec![second], vec![steady, burst])
            };
            let told = |name, rule: fn(f64, u32) -> f64| Arm { name, retry_after: Some(rule), ..Arm::none() };
            let arms = vec![
                Arm { name: "hedgerow", ..Arm::none() },
                told("constant 1 s", |_, _| 1.0),
                // The spread is drawn from the count, evenly by the golden ratio.
                told("1 to 2 s", |_, count| {
                    1.0 + f64::from(count.wrapping_mul(2_654_435_769)) / 4_294_967_296.0
                }),
            ];
            Case { name, model, arms }
        })
        .collect()
}

/// Peak arrivals a second after the burst, tries per job of the burst.
fn figures(_: &Case, _: &Arm, run: &Run, figures: &mut Figures) {
    figures.set("peak", Run::busiest(&run.tries, BURST + 1.0, SECONDS, 1));
    let burst = run.sums[0][1];
    figures.set("tries per job", burst.tries as f64 / burst.calls.max(1) as f64);
    figures.set("refusals", run.sum(0).refusals as f64);
}

fn accept(results: &Results) -> Vec<Acceptance> {
    let drain = f64::from(PLACES);
    let mut all = Vec::new();
    for (case, _) in LOADS {
        let of = |figure| results.median(case, "hedgerow", figure);
        all.push(Acceptance::at_most(
            format!("peak arrivals over the drain rate, {case}"),
            of("peak") / drain,
            2.0,
        ));
        all.push(Acceptance::at_most(
            format!("tries per job of the burst, {case}"),
            of("tries per job"),
            3.0,
        ));
        all.push(Acceptance::at_least(
            format!("refusals under a constant second over those of the reservation, {case}"),
            results.median(case, "constant 1 s", "refusals") / of("refusals"),
            5.0,
        ));
    }
    all
}
