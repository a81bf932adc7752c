//! Textbook values, bucket error, and agreement with a directly computed estimate.

use std::time::Duration;

use proptest::prelude::*;

use super::*;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn counts(events: &[u64], censored: &[u64]) -> Counts {
    let mut counts = Counts::new();
    for t in events {
        counts.event(ms(*t));
    }
    for t in censored {
        counts.censor(ms(*t));
    }
    counts
}

fn curve(events: &[u64], censored: &[u64]) -> Curve {
    Curve::new(&Decayed::from(&counts(events, censored)), &[])
}

fn after(curve: &Curve, t: u64) -> f64 {
    curve.survival(upper_bound(bucket_of(ms(t))))
}

/// Remission times of the 6-MP arm of Freireich et al. (1963), the standard worked example, in "weeks" that
/// are seconds here. Published product-limit estimates: 6: 0.857, 7: 0.807, 10: 0.753, 13: 0.690, 16: 0.627,
/// 22: 0.538, 23: 0.448. The two censored in the week of an event are put into the bucket after it, as the book means it.
fn remissions() -> Curve {
    let events = [6, 6, 6, 7, 10, 13, 16, 22, 23].map(|w| w * 1_000);
    let censored =
        [6_500, 9_000, 10_700, 11_000, 17_000, 19_000, 20_000, 25_000, 32_000, 32_000, 34_000, 35_000];
    curve(&events, &censored)
}

#[test]
fn kaplan_meier_equals_the_textbook() {
    let curve = remissions();
    for (week, published) in
        [(6, 0.857), (7, 0.807), (10, 0.753), (13, 0.690), (16, 0.627), (22, 0.538), (23, 0.448)]
    {
        let got = after(&curve, week * 1_000);
        assert!((got - published).abs() < 0.0006, "S({week}) = {got}, published {published}");
    }
}

/// Greenwood's standard errors of the same example are published: week 6 0.0764, 16 0.1141, 22 0.1282, 23 0.1346.
#[test]
fn the_interval_uses_greenwoods_error_on_the_arcsine_scale() {
    let interval = remissions().interval(0.25).expect("has samples");
    // Lower bound at week 6: sin^2(asin(sqrt 0.857) - 0.98 x 0.0764 / sqrt(0.857 x 0.143)) = 0.68, already below 0.75.
    // Upper bounds: week 16 0.83, week 22 0.77, week 23 0.71.
    assert_eq!(bucket_of(interval.low.bound()), bucket_of(ms(6_000)));
    assert_eq!(bucket_of(interval.high.bound()), bucket_of(ms(23_000)));
    assert!(interval.low.bound() <= interval.at.bound() && interval.at.bound() <= interval.high.bound());
}

#[test]
fn the_end_of_a_curve_does_not_end_its_interval() {
    // Of 1,000 the last 20 are three events and 17 losers: nothing says that nobody waits longer than 9 s.
    let interval = curve(&[[600; 980].as_slice(), &[7_000, 8_000, 9_000]].concat(), &[2_500; 17])
        .interval(0.99)
        .expect("has samples");
    assert_eq!(interval.high, Quantile::Beyond(upper_bound(bucket_of(ms(9_000)))));
    assert!(matches!(interval.at, Quantile::At(_)), "{interval:?}");
}

#[test]
fn the_mean_of_events_is_exact_to_half_a_bucket() {
    let lengths: Vec<u64> = (100..1_100).collect();
    let mean = counts(&lengths, &[50_000; 9]).mean().expect("has events").as_secs_f64();
    assert!((mean / 0.599_5 - 1.0).abs() < 0.01, "{mean}");
    assert_eq!(counts(&[], &[7]).mean(), None);
}

#[test]
fn losers_of_a_bucket_were_at_risk_for_half_of_it() {
    // In the bucket of 2 s 40 of 100 are cancelled and 40 answer: those 40 are out of 80, not out of 100.
    let curve = curve(&[[2_000; 40].as_slice(), &[5_000; 20]].concat(), &[2_000; 40]);
    assert!((after(&curve, 2_000) - 0.5).abs() < 1e-9, "{}", after(&curve, 2_000));
}

#[test]
fn quantiles_of_uncensored_samples_are_within_a_bucket() {
    let samples: Vec<u64> = (1..=10_000).collect();
    let curve = curve(&samples, &[]);
    for p in [0.5_f64, 0.9, 0.95, 0.99] {
        let exact = p * 10_000.0;
        let got = curve.quantile(p).expect("has samples").bound().as_secs_f64() * 1_000.0;
        assert!((got - exact).abs() / exact < 0.02, "p{p}: {got} against {exact}");
    }
}

#[test]
fn a_quantile_that_was_never_reached_is_beyond_the_last_sample() {
    let curve = curve(&[100; 90], &[5_000; 10]);
    assert_eq!(curve.quantile(0.95), Some(Quantile::Beyond(upper_bound(bucket_of(ms(5_000))))));
    assert!(matches!(curve.quantile(0.5), Some(Quantile::At(_))));
    assert_eq!(Curve::new(&Decayed::new(), &[]).quantile(0.5), None);
}

#[test]
fn attempts_in_flight_count_as_slower_than_their_age() {
    let cell = Decayed::from(&counts(&[100; 90], &[]));
    let stalled = [ms(4_000); 10];
    let curve = Curve::new(&cell, &stalled);
    assert!((curve.survival(ms(2_000)) - 0.1).abs() < 1e-9);
    assert!((curve.effective_samples() - 100.0).abs() < 1e-9);
}

#[test]
fn dropping_losers_would_halve_the_quantile_that_censoring_keeps() {
    // 5 % take 6 s and are cancelled at 2.5 s by a hedge.
    let honest = curve(&[600; 950], &[2_500; 50]);
    let dropped = curve(&[600; 950], &[]);
    assert!(honest.quantile(0.96).expect("samples").bound() >= ms(2_500));
    assert!(dropped.quantile(0.96).expect("samples").bound() < ms(700));
}

#[test]
fn a_cell_with_few_samples_is_filled_up_from_its_parents() {
    let cell = Decayed::from(&counts(&[100; 20], &[]));
    let parent = Decayed::from(&counts(&[1_000; 60], &[]));
    let grand = Decayed::from(&counts(&vec![10_000; 5_000], &[]));
    let curve = Curve::blended(&[&cell, &parent, &grand], &[]);
    assert!((curve.effective_samples() - PSEUDO_SAMPLES).abs() < 1e-9);
    assert!((after(&curve, 100) - 0.8).abs() < 1e-9);
    assert!((after(&curve, 1_000) - 0.2).abs() < 1e-9);
    let full = Decayed::from(&counts(&[100; 200], &[]));
    assert!((after(&Curve::blended(&[&full, &grand], &[]), 100)).abs() < 1e-9);
}

#[test]
fn a_mixture_weighs_its_parts_and_leaves_empty_ones_out() {
    let (fast, slow) = (curve(&[100; 50], &[]), curve(&[9_000; 400], &[]));
    let empty = Curve::new(&Decayed::new(), &[]);
    let mixed = Curve::mixed(&[(3.0, &fast), (1.0, &slow), (5.0, &empty), (0.0, &slow)]);
    assert!((mixed.survival(ms(1_000)) - 0.25).abs() < 1e-9);
    assert!((mixed.effective_samples() - 450.0).abs() < 1e-9);
    assert_eq!(Curve::mixed(&[(1.0, &slow)]), slow);
    assert_eq!(Curve::mixed(&[]).quantile(0.5), None);
}

#[test]
fn decay_halves_in_58_seconds_and_ends_empty() {
    let mut cell = Decayed::new();
    cell.tick(&counts(&[100; 1_000], &[]));
    for _ in 0..2 {
        cell.tick(&Counts::new());
    }
    assert!((cell.samples() - 490.0).abs() < 1e-9);
    for _ in 0..100 {
        cell.tick(&Counts::new());
    }
    assert!(cell.samples().abs() < f64::EPSILON);
}

#[test]
fn a_counter_that_fell_has_no_delta() {
    let (small, large) = (counts(&[100], &[]), counts(&[100, 100, 7_000], &[50]));
    assert_eq!(large.delta_since(&small), Some(counts(&[100, 7_000], &[50])));
    assert_eq!(small.delta_since(&large), None);
}

#[test]
fn sparse_and_dense_forms_are_the_same() {
    let dense = counts(&[1, 100, 100, 400_000], &[9_000]);
    assert_eq!(Counts::from_sparse(dense.events(), dense.censored()), Ok(dense.clone()));
    assert_eq!(dense.total(), 5);
    let unknown = BUCKETS as u16;
    assert_eq!(Counts::from_sparse([(unknown, 1)], []), Err(UnknownBucket(unknown)));
}

#[test]
fn threads_lose_no_sample() {
    let recorder = Recorder::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for i in 0..5_000 {
                    recorder.event(ms(i));
                    recorder.censor(ms(i * 2));
                }
            });
        }
    });
    assert_eq!(recorder.counts().total(), 40_000);
}

#[test]
fn a_hedge_wins_against_a_straggler_and_not_against_a_narrow_route() {
    let stragglers = curve(&[vec![600; 950], vec![6_000; 50]].concat(), &[]);
    let fast = curve(&[600; 1_000], &[]);
    let w = win_probability(&stragglers, &fast, ms(2_000)).expect("curves");
    assert!(w > 0.99, "a straggler at 2 s has 4 s to go: {w}");
    let narrow = curve(&(900..1_100).collect::<Vec<_>>(), &[]);
    let w = win_probability(&narrow, &narrow, ms(1_050)).expect("curves");
    assert!(w < 0.02, "{w}");
    assert_eq!(win_probability(&fast, &fast, ms(5_000)), None);
    assert_eq!(win_probability(&Curve::new(&Decayed::new(), &[]), &fast, ms(1)), None);
}

#[test]
fn a_stalled_primary_counts_as_later_than_anything() {
    let stalled = Curve::new(&Decayed::new(), &[ms(5_000); 10]);
    let fast = curve(&[600; 1_000], &[]);
    assert!(win_probability(&stalled, &fast, ms(4_000)).expect("curves") > 0.99);
}

proptest! {
    #[test]
    fn survival_falls_from_one_and_quantiles_rise(
        events in prop::collection::vec(0_u64..400_000, 0..200),
        censored in prop::collection::vec(0_u64..400_000, 1..200),
    ) {
        let curve = curve(&events, &censored);
        let mut last = 1.0_f64;
        for bucket in 0..BUCKETS as u16 {
            let s = curve.survival(lower_bound(bucket));
            prop_assert!((0.0..=1.0).contains(&s) && s <= last + 1e-12);
            last = s;
        }
        let mut previous = Duration::ZERO;
        for p in 1..100 {
            let q = curve.quantile(f64::from(p) / 100.0).expect("samples").bound();
            prop_assert!(q >= previous);
            previous = q;
        }
    }

    #[test]
    fn merging_pods_equals_recording_in_one(
        a in prop::collection::vec(0_u64..400_000, 0..100),
        b in prop::collection::vec(0_u64..400_000, 0..100),
    ) {
        let mut merged = counts(&a, &b);
        merged.merge(&counts(&b, &a));
        let all = [a, b].concat();
        prop_assert_eq!(merged, counts(&all, &all));
    }
}
