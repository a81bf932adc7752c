//! S9: pods come and go.
//!
//! The world of S6 at 90 % of the capacity, with pods that are replaced one after the other, or 2 that become 6 and 2 again. A new
//! pod starts from the fleet's mean lane limit (`fleet.json`, read every 5 s); without it, cold, from 20. Goodput is the
//! share of tries that get a first token in the ten seconds after each change, the worst of them.

use super::{Acceptance, Case, Scenario, s06_capacity::world};
use crate::replay::{
    Figures, Results,
    engine::Run,
    model::{Arm, Model},
};

const ROLLING: &str = "rolling restart";
const SCALING: &str = "2, then 6, then 2";
const COLD: &str = "rolling restart, cold";
/// When pods change.
const CHANGES: [f64; 2] = [600.0, 900.0];

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "s09-restart",
    about: "a rolling restart and scaling: goodput in the first ten seconds, warm and cold",
    cases,
    run: super::simulate,
    figures,
    accept,
    table: None,
};

fn cases() -> Vec<Case> {
    let never = f64::INFINITY;
    let rolling = || vec![(0.0, CHANGES[0]), (0.0, CHANGES[1]), (CHANGES[0], never), (CHANGES[1], never)];
    let scaling = || {
        let mut pods = vec![(0.0, never); 2];
        pods.extend([(CHANGES[0], CHANGES[1]); 4]);
        pods
    };
    let case = |name, pods, warm_start| {
        let model = Model { warm_start, ..world(0.9, pods, |_| 300.0) };
        Case { name, model, arms: vec![Arm { name: "hedgerow", ..Arm::none().without_ejection() }] }
    };
    vec![case(ROLLING, rolling(), true), case(SCALING, scaling(), true), case(COLD, rolling(), false)]
}

fn figures(_: &Case, _: &Arm, run: &Run, figures: &mut Figures) {
    let good = |from: f64| {
        // First tokens come 0.6 s after their tries.
        100.0 * Run::total(&run.answers, from + 1.0, from + 11.0)
            / Run::total(&run.tries, from, from + 10.0).max(1.0)
    };
    figures.set("goodput", CHANGES.into_iter().map(good).fold(f64::INFINITY, f64::min));
}

fn accept(results: &Results) -> Vec<Acceptance> {
    let of = |case| results.median(case, "hedgerow", "goodput");
    vec![
        Acceptance::at_least("goodput in the 10 s after a restart, percent", of(ROLLING), 90.0),
        Acceptance::at_least("goodput in the 10 s after scaling, percent", of(SCALING), 90.0),
        Acceptance::at_most(
            "the same after a cold restart, percent: what warm start is for",
            of(COLD),
            of(ROLLING),
        ),
    ]
}
