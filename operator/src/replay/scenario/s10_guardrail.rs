//! S10: the guardrail at its limits: how soon a breach trips, how often noise does, how many bad pods it takes.
//!
//! A world of its own: pods whose counters follow a given rate with Poisson noise, read every 5 s, judged by
//! `domain::guardrail` at the default windows (5 min and 1 min) and the default ramp. What a pod counts follows the share
//! that the latch allows, so a suspended cohort has no hedges.
//!
//! - Breach: a steady state at the target (5 % duplicates; 3 % extra spend), then twice the limit at once (16 %; 12 %).
//! - Noise: the value sits at its limit and moves by +-10 % from bucket to bucket, for 2 h.
//! - Pods: ten, of which one or three are at 14 %, the others at 4 %; the sum stays below the limit, so only votes can trip.

use fastrand::Rng;
use hedgerow_config::{cohort::Mode, money::Picos};
use hedgerow_policy::time::Moment;

use super::{Acceptance, Case, Scenario, s01_straggler_tail::stragglers};
use crate::replay::{
    Figures, Results,
    engine::{INTERVAL, Run, Watch, count, report},
    model::{
        Arm, Hedging, Model, Provider,
        chance::{self, Stream, exponential},
        terms::policy,
    },
};

/// A breach begins here, at any point of a bucket, when the ramp (25 to 100 % in 60 min) is over; so does what is judged.
const ONSET: f64 = 4_200.0;
const SECONDS: f64 = ONSET + 7_200.0;
/// Requests a second over all pods.
const RATE: f64 = 20.0;
const BREACH: &str = "breach at twice the limit";
const NOISE: &str = "noise of 10 % at the limit, 2 h";
const PODS: &str = "bad pods of ten";

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "s10-guardrail",
    about: "the guardrail at default windows: time to trip, transitions under noise, votes of bad pods",
    cases,
    run,
    figures,
    accept,
    table: None,
};

fn cases() -> Vec<Case> {
    let arm = |name| Arm::policy(name, policy(&serde_json::json!({ "ramp": { "startPercent": 25 } })));
    let world = |name, pods: usize, arms: &[&'static str]| {
        let mut model = Model::new(SECONDS, vec![Provider::steady("east", stragglers())], Vec::new());
        model.pods = vec![(0.0, f64::INFINITY); pods];
        Case { name, model, arms: arms.iter().map(|name| arm(name)).collect() }
    };
    vec![
        world(BREACH, 2, &["duplicates", "spend"]),
        world(NOISE, 2, &["duplicates at limit", "spend at limit"]),
        world(PODS, 10, &["one", "three"]),
    ]
}

/// Duplicates and extra spend of a pod at a moment, as shares.
fn rates(arm: &str, pod: usize, at: f64, onset: f64, noise: f64) -> (f64, f64) {
    let quiet = (0.05, 0.03);
    match arm {
        "duplicates" if at >= onset => (0.16, 0.03),
        "spend" if at >= onset => (0.05, 0.12),
        "duplicates at limit" => (0.08 * noise, 0.03),
        "spend at limit" => (0.05, 0.06 * noise),
        "one" if pod == 0 => (0.14, 0.03),
        "three" if pod < 3 => (0.14, 0.03),
        "one" | "three" => (0.04, 0.03),
        _ => quiet,
    }
}

fn run(model: &Model, arm: &Arm, seed: u64) -> Run {
    let mut run = Run::new(model);
    let Hedging::Policy(spec) = &arm.hedging else { return run };
    let mut watch = Watch::new(spec.clone(), 1);
    let pods = model.pods.len();
    let mut reports: Vec<_> = (0..pods).map(|index| report(index, 1, Moment::ZERO)).collect();
    let mut rng = chance::stream(seed, Stream::Pod, 0);
    let onset = ONSET + rng.f64() * 10.0;
    let mut noise = 1.0;
    for second in 0..SECONDS as u64 {
        let now = Moment::from_secs(second);
        if second.is_multiple_of(10) {
            noise = 0.9 + 0.2 * rng.f64();
        }
        let share = f64::from(watch.share_percent(0)) / 100.0;
        for (pod, report) in reports.iter_mut().enumerate() {
            let (duplicates, spend) = rates(arm.name, pod, second as f64, onset, noise);
            let originals = poisson(&mut rng, RATE / pods as f64);
            let hedges = poisson(&mut rng, originals as f64 * duplicates * share);
            // Every original costs 10,000; the extra is what hedging adds on average.
            let extra = (originals as f64 * 10_000.0 * spend * share) as u128;
            let wins = hedges * 6 / 10 + u64::from(rng.f64() < 0.5);
            count(report, 0, now, |counters| {
                counters.originals += originals;
                counters.hedges += hedges;
                counters.wins += wins;
                counters.cost += Picos(u128::from(originals) * 10_000 + extra);
                counters.cost_without += Picos(u128::from(originals) * 10_000);
            });
        }
        if second.is_multiple_of(INTERVAL.as_secs()) {
            let states: Vec<_> = reports.iter().collect();
            run.turns.extend(watch.look(now, Mode::Enforce, &states));
        }
    }
    run.mark = onset;
    run
}

/// One Poisson draw: arrivals in a unit of time.
fn poisson(rng: &mut Rng, mean: f64) -> u64 {
    let (mut at, mut count) = (exponential(rng, mean), 0);
    while at < 1.0 {
        at += exponential(rng, mean);
        count += 1;
    }
    count
}

fn figures(_: &Case, _: &Arm, run: &Run, figures: &mut Figures) {
    let trips: Vec<f64> =
        run.turns.iter().filter(|turn| turn.to == "Suspended").map(|turn| turn.at).collect();
    // The first ramp of a new cohort is no reaction to anything.
    let settled: Vec<f64> = run.turns.iter().map(|turn| turn.at).filter(|at| *at >= ONSET).collect();
    figures.set("trips", trips.len() as f64);
    let after = trips.iter().find(|at| **at >= run.mark).map_or(f64::NAN, |at| at - run.mark);
    figures.set("trip after", after);
    figures.set("transitions per 10 min", settled.len() as f64 / ((SECONDS - ONSET) / 600.0));
}

fn accept(results: &Results) -> Vec<Acceptance> {
    let worst = |case, arm, figure| results.worst(case, arm, figure);
    vec![
        Acceptance::at_most(
            "seconds from doubled duplicates to the trip",
            worst(BREACH, "duplicates", "trip after"),
            90.0,
        ),
        Acceptance::at_most(
            "seconds from doubled spend to the trip",
            worst(BREACH, "spend", "trip after"),
            90.0,
        ),
        Acceptance::at_most(
            "transitions per 10 min, duplicates at their limit",
            worst(NOISE, "duplicates at limit", "transitions per 10 min"),
            1.0,
        ),
        Acceptance::at_most(
            "transitions per 10 min, spend at its limit",
            worst(NOISE, "spend at limit", "transitions per 10 min"),
            1.0,
        ),
        Acceptance::at_most("trips by one bad pod of ten", worst(PODS, "one", "trips"), 0.0),
        Acceptance::at_least("trips by three bad pods of ten", results.least(PODS, "three", "trips"), 1.0),
    ]
}
