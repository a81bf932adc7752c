//! Scenarios as such: named, well-formed, repeatable; and those whose numbers are cheap enough to be held to here.

use super::*;
use crate::replay::{conduct, report};

fn scenario(name: &str) -> &'static Scenario {
    find(name).first().copied().unwrap()
}

#[test]
fn every_number_has_its_scenario_and_every_scenario_its_worlds() {
    for number in 1..=12 {
        assert_eq!(find(&format!("s{number:02}-")).len(), 1, "s{number:02}");
    }
    assert_eq!(find("all").len(), ALL.len());
    for scenario in ALL {
        let cases = (scenario.cases)();
        assert!(!cases.is_empty() && cases.iter().all(|case| !case.arms.is_empty()), "{}", scenario.name);
        assert!(cases.iter().all(|case| case.model.providers.len() <= 8), "{}", scenario.name);
    }
}

#[test]
fn threads_and_repetitions_change_not_a_byte() {
    let told = |threads| {
        let results = conduct(scenario("s05"), 2, threads);
        format!("{}{}", report::json(scenario("s05"), &results), report::text(scenario("s05"), &results, 2))
    };
    let alone = told(1);
    assert_eq!(alone, told(2));
    assert_eq!(alone, told(1));
}

#[test]
fn a_pushback_is_heeded_by_everybody() {
    let results = conduct(scenario("s05"), 1, 2);
    assert!(results.good(), "{:#?}", results.accept);
}

#[test]
fn the_guardrail_trips_in_time_and_bears_noise_and_one_bad_pod() {
    let results = conduct(scenario("s10"), 1, 2);
    assert!(results.good(), "{:#?}", results.accept);
}
