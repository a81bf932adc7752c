//! The engine itself: repeatable, conserving, and no more attempts than allowed.

use super::*;
use crate::replay::model::{Arm, Provider, Traffic, chance::Shape, terms::policy};

fn stragglers() -> Shape {
    Shape::lognormal(0.6, 0.5).with_rare(0.05, Shape::lognormal(6.0, 0.3))
}

fn small() -> Model {
    let providers = vec![Provider::steady("a", stragglers()), Provider::steady("b", stragglers())];
    Model::new(300.0, providers, vec![Traffic::chat(20.0, 300.0)])
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let arm = Arm::policy("hedgerow", policy(&serde_json::json!({})));
    let (first, second) = (run(&small(), &arm, 7), run(&small(), &arm, 7));
    assert_eq!(first, second);
    assert_ne!(first.samples, run(&small(), &arm, 8).samples);
}

#[test]
fn hedges_shorten_the_tail_and_keep_their_target() {
    let arm = Arm::policy("hedgerow", policy(&serde_json::json!({})));
    let (with, without) = (run(&small(), &arm, 1), run(&small(), &Arm::none(), 1));
    let p99 = |run: &Run| {
        let mut waited: Vec<f32> = run.samples.iter().map(|sample| sample.waited).collect();
        waited.sort_by(f32::total_cmp);
        waited[waited.len() * 99 / 100]
    };
    assert!(p99(&with) < 0.8 * p99(&without), "{} against {}", p99(&with), p99(&without));
    let sums = with.sums[1][0];
    assert_eq!(sums.attempts, sums.calls + sums.hedges, "{sums:?}");
    assert!(sums.hedges * 100 < sums.calls * 8, "{sums:?}");
    assert_eq!((with.leaks, without.leaks), (0, 0));
    assert_eq!(without.sums[1][0].hedges, 0);
    assert_eq!(with.sums[1][0].calls, without.sums[1][0].calls, "both arms meet the same arrivals");
}
