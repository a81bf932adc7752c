//! Each rule as a small table; then one provider with a known capacity, our law beside two that fail.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::time::Moment;

const STREAM: Duration = Duration::from_secs(3);

fn at(millis: u64) -> Moment {
    Moment::from_millis(1_000_000 + millis)
}

fn token(per_mille: u64) -> Sample {
    Sample::FirstToken { elapsed: Duration::from_millis(per_mille), expected: Some(Duration::from_secs(1)) }
}

/// One window of `n` equal samples that ends at `end`.
fn window(limiter: &mut Limiter, end: u64, n: usize, sample: Sample, in_flight: u32) -> Option<Step> {
    limiter.in_flight(in_flight);
    (0..n).for_each(|_| limiter.record(at(end - 500), sample));
    limiter.tick(at(end), in_flight, STREAM)
}

#[test]
fn a_lane_near_its_limit_starts_fast_and_then_grows_by_one_percent() {
    let mut limiter = Limiter::new(Rule::default(), at(0), None);
    let step = window(&mut limiter, 1_000, 10, token(1_000), 18);
    assert_eq!(step, Some(Step { from: 20, to: 30, cause: Cause::SlowStart }));
    assert_eq!(window(&mut limiter, 3_000, 10, token(1_000), 26), None, "26 of 30 is not near");
    let step = window(&mut limiter, 5_000, 10, token(2_000), 30);
    assert_eq!(step, Some(Step { from: 30, to: 22, cause: Cause::Latency }));
    let step = window(&mut limiter, 8_000, 10, token(1_000), 22);
    assert_eq!(step, Some(Step { from: 22, to: 32, cause: Cause::Growth }));
}

#[test]
fn a_window_needs_its_time_and_ten_samples() {
    let mut limiter = Limiter::new(Rule::default(), at(0), None);
    assert_eq!(window(&mut limiter, 999, 100, token(1_000), 20), None);
    let mut limiter = Limiter::new(Rule::default(), at(0), None);
    assert_eq!(window(&mut limiter, 60_000, 9, token(1_000), 20), None);
    assert!(window(&mut limiter, 60_001, 1, token(1_000), 20).is_some());
}

#[test]
fn one_slow_request_in_a_hundred_cuts_nothing() {
    let mut limiter = Limiter::new(Rule::default(), at(0), None);
    (0..4).for_each(|_| limiter.record(at(0), token(30_000)));
    assert_eq!(window(&mut limiter, 1_000, 6, token(1_000), 1), None);
    assert_eq!(limiter.limit(), 20);
}

#[test]
fn a_burst_of_overloads_cuts_once() {
    let mut limiter = Limiter::new(Rule { initial: 100, ..Rule::default() }, at(0), None);
    for _ in 0..10 {
        limiter.record(at(100), Sample::Overloaded);
    }
    let step = limiter.tick(at(1_000), 100, STREAM);
    assert_eq!(step, Some(Step { from: 100, to: 75, cause: Cause::Overload }));
    // The rest of the burst was admitted before the cut.
    (0..50).for_each(|_| limiter.record(at(900), Sample::Overloaded));
    assert_eq!(limiter.tick(at(2_000), 80, STREAM), None);
    // New overloads cut again, even while more is in flight than the limit.
    (0..10).for_each(|_| limiter.record(at(1_500), Sample::Overloaded));
    assert_eq!(limiter.tick(at(3_000), 80, STREAM).map(|step| step.to), Some(56));
}

#[test]
fn a_single_overload_among_many_is_noise() {
    let mut limiter = Limiter::new(Rule::default(), at(0), None);
    limiter.record(at(0), Sample::Overloaded);
    assert_eq!(window(&mut limiter, 1_000, 99, token(1_000), 0), None);
    assert_eq!(limiter.limit(), 20);
}

#[test]
fn a_second_latency_cut_waits_for_streams_to_leave() {
    let mut limiter = Limiter::new(Rule { initial: 100, ..Rule::default() }, at(0), None);
    assert_eq!(window(&mut limiter, 1_000, 10, token(2_000), 100).map(|step| step.to), Some(75));
    let slow = |limiter: &mut Limiter, end: u64, in_flight| window(limiter, end, 10, token(2_000), in_flight);
    assert_eq!(slow(&mut limiter, 3_000, 90), None, "90 in flight, 2 of 3 s passed");
    assert_eq!(slow(&mut limiter, 5_500, 90).map(|step| step.to), Some(56), "a stream has passed");
    assert_eq!(slow(&mut limiter, 8_000, 50).map(|step| step.to), Some(42), "in flight fits");
}

#[test]
fn an_absolute_ceiling_cuts_whatever_is_normal() {
    let rule = Rule { target_first_token: Some(Duration::from_secs(2)), ..Rule::default() };
    let mut limiter = Limiter::new(rule, at(0), None);
    let slow = Sample::FirstToken { elapsed: Duration::from_secs(3), expected: Some(Duration::from_secs(3)) };
    assert_eq!(window(&mut limiter, 3_000, 10, slow, 20).map(|step| step.cause), Some(Cause::Ceiling));
}

#[test]
fn a_long_incident_does_not_become_normal() {
    let mut limiter = Limiter::new(Rule { initial: 500, ..Rule::default() }, at(0), None);
    for i in 1..200 {
        window(&mut limiter, i * 10_000, 10, token(2_000), 4);
    }
    assert_eq!(limiter.limit(), 4);
    assert_eq!(limiter.warm().baseline_per_mille, 1_000);
}

#[test]
fn fixed_never_moves_and_silence_is_no_sample() {
    let rule = Rule { algorithm: Algorithm::Fixed, initial: 2, ..Rule::default() };
    let mut limiter = Limiter::new(rule, at(0), None);
    (0..50).for_each(|_| limiter.record(at(0), Sample::Overloaded));
    assert_eq!((limiter.tick(at(1_000), 2, STREAM), limiter.limit()), (None, 2));
    let mut limiter = Limiter::new(Rule::default(), at(0), None);
    assert_eq!(window(&mut limiter, 1_000, 1_000, Sample::default(), 20), None);
}

#[test]
fn what_a_predecessor_left_fades_and_expires() {
    let rule = Rule::default();
    let start = |minutes, limit| {
        let warm = Warm { limit, baseline_per_mille: 900, age: Duration::from_mins(minutes) };
        let limiter = Limiter::new(rule, at(0), Some(warm));
        (limiter.limit(), limiter.warm().baseline_per_mille)
    };
    assert_eq!([start(0, 200), start(10, 200), start(15, 200)], [(140, 900), (51, 900), (31, 900)]);
    assert_eq!(start(16, 200), (rule.initial, 1_000), "as if there were none");
    assert_eq!(start(0, 10), (rule.initial, 900), "never below where a new lane starts");
    let unknown = Warm { limit: 200, baseline_per_mille: 0, age: Duration::ZERO };
    assert_eq!(Limiter::new(rule, at(0), Some(unknown)).warm().baseline_per_mille, 1_000);
}

#[test]
fn a_successor_starts_at_70_percent_and_slow_starts_to_the_stored_limit() {
    let warm = Warm { limit: 200, baseline_per_mille: 900, age: Duration::ZERO };
    let mut limiter = Limiter::new(Rule::default(), at(0), Some(warm));
    assert_eq!(limiter.limit(), 140);
    let step = window(&mut limiter, 1_000, 10, token(900), 140);
    assert_eq!(step, Some(Step { from: 140, to: 200, cause: Cause::SlowStart }));
    assert_eq!(window(&mut limiter, 2_000, 10, token(900), 200).map(|step| step.cause), Some(Cause::Growth));
}

#[test]
fn an_edited_rule_moves_the_limit_into_its_bounds() {
    let mut limiter = Limiter::new(Rule { initial: 100, ..Rule::default() }, at(0), None);
    limiter.set_rule(Rule { max: 50, ..Rule::default() });
    assert_eq!(limiter.limit(), 50);
    limiter.set_rule(Rule { algorithm: Algorithm::Fixed, initial: 7, ..Rule::default() });
    assert_eq!(limiter.limit(), 7);
}

/// A provider that serves `CAPACITY` at once in 1 s each, stretches above, and refuses above 4/3 of it.
const CAPACITY: u32 = 120;

/// Mean share of the capacity used in the second half of 300 windows at endless demand, and refusals.
fn hold_capacity(mut limit: impl FnMut(u32, u64, bool) -> u32) -> (f64, f64) {
    let (mut in_flight, mut used, mut refused, mut sent) = (20, 0.0, 0_u64, 0_u64);
    for second in 0..300_u64 {
        let overloaded = in_flight > CAPACITY * 4 / 3;
        let stretch = u64::from(in_flight.max(CAPACITY)) * 1_000 / u64::from(CAPACITY);
        sent += u64::from(in_flight);
        refused += if overloaded { u64::from(in_flight - CAPACITY * 4 / 3) } else { 0 };
        if second >= 150 {
            used += f64::from(in_flight.min(CAPACITY)) / f64::from(CAPACITY) / 150.0;
        }
        in_flight = limit(in_flight, stretch, overloaded);
    }
    (used, refused as f64 / sent as f64)
}

/// Cheap deterministic noise: one request in 140 is slow although the provider is healthy.
fn outlier(i: u64) -> bool {
    i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40 < (1 << 24) / 140
}

#[test]
fn one_decision_per_window_holds_capacity_where_per_sample_rules_do_not() {
    let mut ours = Limiter::new(Rule { max: 400, ..Rule::default() }, at(0), None);
    let (mut second, mut serial) = (0, 0);
    let (used, refused) = hold_capacity(|in_flight, stretch, overloaded| {
        second += 1;
        for _ in 0..in_flight {
            serial += 1;
            ours.record(at(second * 1_000 - 1), token(if outlier(serial) { 9_000 } else { stretch }));
        }
        if overloaded {
            (0..5).for_each(|_| ours.record(at(second * 1_000 - 1), Sample::Overloaded));
        }
        ours.in_flight(in_flight);
        ours.tick(at(second * 1_000), in_flight, Duration::from_secs(1));
        ours.limit()
    });
    assert!(used > 0.97 && refused < 0.02, "ours: {used} of capacity, {refused} refused");

    // Textbook AIMD per sample: +1/L per good one, x0.75 for any slow one, one cut per round.
    let (mut limit, mut serial) = (20.0_f64, 0);
    let (used, _) = hold_capacity(|in_flight, stretch, _| {
        let slow = (0..in_flight)
            .filter(|_| {
                serial += 1;
                outlier(serial) || stretch > 1_500
            })
            .count();
        limit = if slow > 0 { (limit * 0.75).max(4.0) } else { limit + 1.0 };
        limit as u32
    });
    assert!(used < 0.35, "per-sample AIMD should starve on healthy outliers, used {used}");

    // +1 per good sample without a near-limit gate runs away while the lane is idle.
    let mut limit = 20.0_f64;
    for _ in 0..1_000 {
        limit = (limit + 1.0).min(400.0);
    }
    let mut idle = Limiter::new(Rule { max: 400, ..Rule::default() }, at(0), None);
    (1..100).for_each(|i| {
        window(&mut idle, i * 1_000, 10, token(1_000), 10);
    });
    assert_eq!((limit as u32, idle.limit()), (400, 20));
}

#[test]
fn the_gradient_holds_capacity_too() {
    let rule = Rule { algorithm: Algorithm::Gradient, max: 400, ..Rule::default() };
    let mut limiter = Limiter::new(rule, at(0), None);
    let mut second = 0;
    let (used, _) = hold_capacity(|in_flight, stretch, overloaded| {
        second += 1;
        (0..in_flight).for_each(|_| limiter.record(at(second * 1_000 - 1), token(stretch)));
        if overloaded {
            (0..5).for_each(|_| limiter.record(at(second * 1_000 - 1), Sample::Overloaded));
        }
        limiter.in_flight(in_flight);
        limiter.tick(at(second * 1_000), in_flight, Duration::from_secs(1));
        limiter.limit()
    });
    assert!(used > 0.97, "{used}");
}

proptest! {
    #[test]
    fn no_rule_and_no_sample_leaves_the_bounds(
        (initial, min, max) in (any::<u32>(), any::<u32>(), any::<u32>()),
        (decrease_percent, increase_percent, gradient) in (any::<u8>(), any::<u8>(), any::<bool>()),
        warm in prop::option::of(any::<u32>()),
        samples in prop::collection::vec((any::<u64>(), 0_u64..3, 0_u32..2_000), 1..100),
    ) {
        let algorithm = if gradient { Algorithm::Gradient } else { Algorithm::Aimd };
        let rule = Rule { algorithm, initial, min, max, decrease_percent, increase_percent, target_first_token: None };
        let warm = warm.map(|limit| Warm { limit, baseline_per_mille: limit, age: Duration::ZERO });
        let mut limiter = Limiter::new(rule, at(0), warm);
        for (i, (nanos, kind, in_flight)) in samples.into_iter().enumerate() {
            let now = at(i as u64 * 5_000);
            let sample = match kind {
                0 => Sample::Overloaded,
                1 => Sample::FirstToken { elapsed: Duration::from_nanos(nanos), expected: Some(Duration::from_nanos(1)) },
                _ => Sample::FirstToken { elapsed: Duration::from_nanos(nanos), expected: None },
            };
            (0..10).for_each(|_| limiter.record(now, sample));
            limiter.in_flight(in_flight);
            limiter.tick(now, in_flight, STREAM);
            let least = min.clamp(1, 1_000_000);
            prop_assert!((least..=max.clamp(least, 1_000_000)).contains(&limiter.limit()));
        }
    }
}
