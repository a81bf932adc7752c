//! S4: everything fails for a minute, or half of everything fails for five.
//!
//! Two regions, 50 requests a second, clients with the SDK's retries. Bound on attempts, whatever fails: 1.1 per original
//! (SDK tries that are retries deposit nothing), plus what the buckets hold (50 for the model over all pods), plus the
//! retry reserve of one a second. When a region comes back its share grows by the ramp, so it is never asked for more
//! than its normal load and a fifth.

use super::{Acceptance, Case, Scenario, s01_straggler_tail::one_mode};
use crate::replay::{
    Figures, Results,
    engine::Run,
    model::{Arm, Model, Provider, Span, Traffic, Weather, terms::policy},
};

const ONSET: f64 = 180.0;
const TOTAL: &str = "both regions down for 60 s";
const ONE: &str = "one region down for 60 s";
const HALF: &str = "half of everything fails for 300 s";
const CAP: f64 = 50.0;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "s04-outage",
    about: "total outage, an outage of one region, and 50 % errors: attempts stay bounded, recovery is no stampede",
    cases,
    run: super::simulate,
    figures,
    accept,
    table: None,
};

fn cases() -> Vec<Case> {
    let world = |name, seconds: f64, failing: [f64; 2]| {
        let over = ONSET + seconds;
        let weather = move |share: f64| {
            move |at: f64| {
                let failing = if (ONSET..over).contains(&at) { share } else { 0.0 };
                Weather { failing, ..Weather::FINE }
            }
        };
        let providers = vec![
            Provider::steady("east", one_mode()).under(weather(failing[0])),
            Provider::steady("west", one_mode()).under(weather(failing[1])),
        ];
        let length = over + 240.0;
        let mut model = Model::new(length, providers, vec![Traffic::chat(50.0, length)]);
        model.spans = vec![
            Span { name: "fault", from: ONSET, to: over },
            Span { name: "before", from: 60.0, to: ONSET },
            Span { name: "after", from: over + 60.0, to: length },
        ];
        let arms = vec![Arm::none(), Arm::policy("hedgerow", policy(&serde_json::json!({})))];
        Case { name, model, arms }
    };
    vec![world(TOTAL, 60.0, [1.0, 1.0]), world(ONE, 60.0, [0.0, 1.0]), world(HALF, 300.0, [0.5, 0.5])]
}

/// Attempts over their bound while it fails; seconds until the first breaker opens; load of the region that came back
/// over its load before.
fn figures(case: &Case, _: &Arm, run: &Run, figures: &mut Figures) {
    let fault = case.model.spans[0];
    let sums = run.sum(0);
    let tries = sums.tries as f64;
    let bound = tries + 0.1 * sums.calls as f64 + CAP + (fault.to - fault.from);
    figures.set("attempts over bound", sums.attempts as f64 / bound);
    let opened = run.breakers.iter().find(|(at, _, _, state)| *at >= fault.from && *state == "Open");
    figures.set("opens after", opened.map_or(f64::NAN, |(at, ..)| at - fault.from));
    let load = |from: f64, to: f64| {
        let frames = run.frames.iter().filter(|frame| (from..to).contains(&frame.at));
        let loads: Vec<f64> = frames.map(|frame| f64::from(frame.in_service[1])).collect();
        (loads.iter().copied().fold(0.0, f64::max), loads.iter().sum::<f64>() / loads.len().max(1) as f64)
    };
    let (most, _) = load(fault.to, fault.to + 120.0);
    figures.set("recovery", most / load(60.0, fault.from).0);
}

fn accept(results: &Results) -> Vec<Acceptance> {
    let mut all = Vec::new();
    for case in [TOTAL, ONE, HALF] {
        let value = results.worst(case, "hedgerow", "attempts over bound");
        all.push(Acceptance::at_most(format!("attempts over their bound, {case}"), value, 1.0));
    }
    for case in [TOTAL, ONE] {
        let value = results.worst(case, "hedgerow", "opens after");
        all.push(Acceptance::at_most(format!("seconds until a breaker opens, {case}"), value, 5.0));
    }
    let recovery = results.median(ONE, "hedgerow", "recovery");
    all.push(Acceptance::at_most("most load of the region that came back over that before", recovery, 1.2));
    let failed = results.median(ONE, "hedgerow", "failed") / results.median(ONE, "hedgerow", "calls");
    all.push(Acceptance::at_most("share of calls that fail while one region is down", failed, 0.005));
    all
}
