//! One table per rule of the order, and the duplicates that thinning keeps.

use proptest::prelude::*;

use super::{Strategy, *};
use crate::latency::{Counts, Decayed};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn curve(modes: &[(u64, usize)]) -> Curve {
    let mut counts = Counts::new();
    for (millis, n) in modes {
        (0..*n).for_each(|_| counts.event(ms(*millis)));
    }
    Curve::new(&Decayed::from(&counts), &[])
}

fn names(plan: &Plan) -> Vec<&'static str> {
    plan.trail.names().collect()
}

fn close(got: Duration, expected: u64) {
    let ratio = got.as_secs_f64() * 1_000.0 / expected as f64;
    assert!((0.93..1.07).contains(&ratio), "{got:?} against {expected} ms");
}

#[test]
fn without_any_sample_the_delay_is_the_cold_start() {
    let plan = plan(&Rule::default(), &Inputs::default());
    assert_eq!(plan.delay, ms(4_000));
    assert_eq!(names(&plan), ["ColdStart"]);
    assert_eq!(plan.send_per_mille, 950);
}

#[test]
fn a_quantile_inside_the_bounds_is_used_as_it_is() {
    let primary = curve(&[(600, 940), (3_000, 60)]);
    let plan = plan(&Rule::default(), &Inputs { primary: Some(&primary), ..Inputs::default() });
    close(plan.delay, 3_000);
    assert!(names(&plan).is_empty());
    assert!(!plan.not_in_tail);
}

#[test]
fn min_and_max_bound_a_stream_and_only_min_bounds_a_complete_answer() {
    let slow = curve(&[(20_000, 1_000)]);
    let fast = curve(&[(200, 1_000)]);
    let complete = Rule { streaming: false, ..Rule::default() };
    for (rule, primary, delay, steps) in [
        (Rule::default(), &fast, 1_000, vec!["ClampedToMin"]),
        (Rule::default(), &slow, 8_000, vec!["ClampedToMax"]),
        (complete, &slow, 20_000, vec![]),
        (complete, &fast, 1_000, vec!["ClampedToMin"]),
    ] {
        let plan = plan(&rule, &Inputs { primary: Some(primary), ..Inputs::default() });
        close(plan.delay, delay);
        assert_eq!(names(&plan), steps);
    }
}

#[test]
fn the_best_alternate_caps_the_delay_but_never_below_min() {
    let slow = curve(&[(7_000, 1_000)]);
    for (alternate, delay) in [(2_000, 3_000), (100, 1_000)] {
        let alternate = curve(&[(alternate, 1_000)]);
        let inputs = Inputs { primary: Some(&slow), alternate: Some(&alternate), ..Inputs::default() };
        let plan = plan(&Rule::default(), &inputs);
        close(plan.delay, delay);
        assert_eq!(names(&plan), ["CappedByAlternate"]);
    }
}

#[test]
fn the_delay_moves_at_most_a_quarter_and_stays_near_its_baseline() {
    let primary = curve(&[(4_000, 1_000)]);
    for (previous, baseline, delay, steps) in [
        (Some(2_000), None, 2_500, vec!["SlewedUp"]),
        (Some(8_000), None, 6_000, vec!["SlewedDown"]),
        (None, Some(1_500), 3_000, vec!["HeldByBaseline"]),
        (None, Some(12_000), 6_000, vec!["HeldByBaseline"]),
        (Some(2_000), Some(6_000), 3_000, vec!["SlewedUp", "HeldByBaseline"]),
    ] {
        let inputs = Inputs {
            primary: Some(&primary),
            previous: previous.map(ms),
            baseline: baseline.map(ms),
            ..Inputs::default()
        };
        let plan = plan(&Rule::default(), &inputs);
        close(plan.delay, delay);
        assert_eq!(names(&plan), steps);
    }
}

#[test]
fn min_wins_over_slew_and_baseline() {
    let primary = curve(&[(200, 1_000)]);
    let inputs = Inputs {
        primary: Some(&primary),
        previous: Some(ms(300)),
        baseline: Some(ms(100)),
        ..Inputs::default()
    };
    assert_eq!(plan(&Rule::default(), &inputs).delay, ms(1_000));
}

#[test]
fn thinning_keeps_the_duplicate_target_whatever_reaches_the_delay() {
    for (slow, q) in [(40, 950), (50, 950), (100, 500), (500, 100)] {
        let primary = curve(&[(600, 1_000 - slow), (60_000, slow)]);
        let rule = Rule { strategy: Strategy::Fixed(ms(3_000)), ..Rule::default() };
        let plan = plan(&rule, &Inputs { primary: Some(&primary), ..Inputs::default() });
        assert_eq!((plan.send_per_mille, plan.reach_per_mille), (q, slow as u16));
    }
}

#[test]
fn not_in_tail_needs_all_three_conditions() {
    let slow = curve(&[(12_000, 1_000)]);
    let mixed = curve(&[(600, 920), (12_000, 80)]);
    let fast = curve(&[(600, 1_000)]);
    for (primary, alternate, expected) in [
        (&slow, None, true),
        (&slow, Some(&slow), true),
        (&slow, Some(&fast), false),
        (&mixed, None, false),
        (&fast, None, false),
    ] {
        let inputs = Inputs { primary: Some(primary), alternate, ..Inputs::default() };
        assert_eq!(plan(&Rule::default(), &inputs).not_in_tail, expected);
    }
    let inputs = Inputs { primary: Some(&slow), ..Inputs::default() };
    assert!(!plan(&Rule { streaming: false, ..Rule::default() }, &inputs).not_in_tail);
    assert!(plan(&Rule { strategy: Strategy::Optimal, ..Rule::default() }, &inputs).not_in_tail);
}

#[test]
fn a_stalled_route_without_first_tokens_uses_what_is_known() {
    let stalled = Curve::new(&Decayed::new(), &[ms(5_000); 50]);
    let plan = plan(&Rule::default(), &Inputs { primary: Some(&stalled), ..Inputs::default() });
    close(plan.delay, 5_000);
    assert_eq!(names(&plan), ["BeyondSamples"]);
}

/// A curve of a continuous distribution from its quantile function.
fn drawn(quantile: impl Fn(f64) -> f64) -> Curve {
    let mut counts = Counts::new();
    for i in 0..20_000 {
        counts.event(Duration::from_secs_f64(quantile((f64::from(i) + 0.5) / 20_000.0)));
    }
    Curve::new(&Decayed::from(&counts), &[])
}

/// Pareto with exponent 1.8 and median 0.6 s.
fn pareto() -> Curve {
    drawn(|p| 0.6 * (0.5 / (1.0 - p)).powf(1.0 / 1.8))
}

#[test]
fn a_prediction_without_hedges_is_the_primarys_own_curve() {
    let x = pareto();
    for p in [0.5, 0.9, 0.99] {
        let own = x.quantile(p).expect("samples").bound().as_secs_f64();
        let predicted = predict::quantile(&x, &x, ms(2_000), 0.0, p).bound().as_secs_f64();
        assert!((predicted / own - 1.0).abs() < 0.01, "p{p}: {predicted} against {own}");
    }
}

#[test]
fn hedging_at_p95_is_predicted_as_it_was_simulated() {
    // Simulated request by request, 5 % duplicates: p99 4.56 s without, 2.48 s with a p95 delay.
    let x = pareto();
    let p95 = x.quantile(0.95).expect("samples").bound();
    let alone = x.quantile(0.99).expect("samples").bound().as_secs_f64();
    let hedged = predict::quantile(&x, &x, p95, 1.0, 0.99).bound().as_secs_f64();
    assert!(
        (alone / 4.56 - 1.0).abs() < 0.25 && (hedged / alone - 2.48 / 4.56).abs() < 0.1,
        "{alone} -> {hedged}"
    );
}

#[test]
fn the_optimal_delay_is_never_worse_than_the_quantile_and_better_at_a_small_target() {
    let modes = drawn(|p| if p < 0.97 { 0.3 + 0.9 * p } else { 4.0 + 160.0 * (p - 0.97) });
    for (x, target, gain) in [(pareto(), 5, 0.0), (pareto(), 2, 0.01), (modes, 2, 0.2)] {
        let rule = |strategy, quantile_percent| Rule {
            strategy,
            quantile_percent,
            duplicate_target_percent: target,
            min: ms(10),
            holdout_percent: 0,
            ..Rule::default()
        };
        let inputs = Inputs { primary: Some(&x), ..Inputs::default() };
        let p99 = |rule: &Rule| {
            let plan = plan(rule, &inputs);
            let send = f64::from(plan.send_per_mille) / 1_000.0;
            assert!(send * x.survival(plan.delay) <= f64::from(target) / 100.0 + 0.001);
            predict::quantile(&x, &x, plan.delay, send, 0.99).bound().as_secs_f64()
        };
        let quantile = p99(&rule(Strategy::Quantile, 100 - target));
        let optimal = p99(&rule(Strategy::Optimal, 95));
        assert!(optimal <= quantile * (1.011 - gain), "{optimal} against {quantile} at {target} %");
    }
}

proptest! {
    /// Whatever is measured, configured or remembered: min wins, max bounds streams unless slew or baseline hold it, and the
    /// hold-out is never spent.
    #[test]
    fn any_input_gives_a_delay_within_its_bounds(
        samples in prop::collection::vec(0_u64..400_000, 0..50),
        (previous, baseline) in (prop::option::of(any::<u64>()), prop::option::of(any::<u64>())),
        (min, span, quantile_percent) in (1_u64..5_000, 0_u64..20_000, 1_u8..=99),
        (target, holdout, optimal, streaming) in (0_u8..=100, 0_u8..=100, any::<bool>(), any::<bool>()),
    ) {
        let mut counts = Counts::new();
        for millis in &samples {
            counts.event(ms(*millis));
        }
        let curve = Curve::new(&Decayed::from(&counts), &[]);
        let rule = Rule {
            strategy: if optimal { Strategy::Optimal } else { Strategy::Quantile },
            quantile_percent,
            min: ms(min),
            max: ms(min + span),
            streaming,
            duplicate_target_percent: target,
            holdout_percent: holdout,
            ..Rule::default()
        };
        let inputs = Inputs {
            primary: Some(&curve),
            alternate: Some(&curve),
            previous: previous.map(Duration::from_nanos),
            baseline: baseline.map(Duration::from_secs),
        };
        let plan = plan(&rule, &inputs);
        prop_assert!(plan.delay >= rule.min);
        prop_assert!(plan.send_per_mille <= 1_000 - 10 * u16::from(holdout));
        prop_assert!(plan.reach_per_mille <= 1_000);
        if streaming && previous.is_none() && baseline.is_none() {
            prop_assert!(plan.delay <= rule.max);
        }
    }
}
