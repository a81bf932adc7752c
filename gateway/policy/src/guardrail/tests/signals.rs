//! Rings, windows, and each signal at its limits.

use super::*;

#[test]
fn a_ring_forgets_after_ten_minutes_and_adds_pods_by_bucket() {
    let mut ring = ring(at(600), 60, &tally(10, 1));
    assert_eq!(ring.sum(at(600), Duration::from_mins(10)).originals, 600);
    assert_eq!(ring.sum(at(600), Duration::from_mins(1)).originals, 70, "the bucket of now and six more");
    ring.at(at(610)).originals += 5;
    assert_eq!(ring.sum(at(610), Duration::from_mins(10)).originals, 595);
    assert_eq!(ring.sum(at(5_000), Duration::from_mins(10)).originals, 0);
    let mut all = Ring::new();
    for (index, tally) in ring.iter() {
        all.merge(index, tally);
        all.merge(index, tally);
    }
    assert_eq!(all.sum(at(610), Duration::from_mins(10)).originals, 2 * 595);
    let old = Ring::index(at(0));
    all.merge(old, &tally(1_000, 0));
    assert_eq!(all.get(old), None, "a bucket of the last lap is left out");
    ring.at(at(609)).originals += 1;
    assert_eq!(ring.get(Ring::index(at(609))).map(|tally| tally.originals), Some(11));
}

#[test]
fn windows_widen_until_there_are_enough_requests() {
    let rules = Rules::default();
    for (per_bucket, short, long) in [(100, 60, 300), (7, 60, 300), (4, 90, 490), (1, 390, 590)] {
        let windows = windows(&ring(at(1_000), 60, &tally(per_bucket, 0)), at(1_000), &rules);
        assert_eq!(
            (windows.short_span.as_secs(), windows.long_span.as_secs()),
            (short, long),
            "{per_bucket} requests in 10 s"
        );
    }
    let brief = Rules { window: Duration::from_secs(30), ..Rules::default() };
    let windows = windows(&ring(at(1_000), 60, &tally(100, 0)), at(1_000), &brief);
    assert_eq!((windows.short_span.as_secs(), windows.long_span.as_secs()), (10, 30));
}

#[test]
fn a_quiet_cohort_is_judged_over_hours_but_never_over_more_than_a_day() {
    let (now, rules) = (at(200_000), Rules::default());
    let quarters = |originals: u64, hedges: u64| -> Vec<Past> {
        (0..200).map(|age| (now - Duration::from_mins(15 * age + 7), tally(originals, hedges))).collect()
    };
    let widened = |past: &[Past]| {
        let mut windows = windows(&ring(now, 60, &tally(0, 0)), now, &rules);
        widen(&mut windows, past, now, &rules);
        (windows.clone(), evaluate(&rules, &windows, &Context::default()))
    };
    let (windows_now, judged) = widened(&quarters(10, 3));
    assert_eq!((windows_now.long.originals, windows_now.short.originals), (200, 40));
    assert_eq!(windows_now.long_span, Duration::from_mins(15 * 19 + 7));
    assert_eq!(windows_now.hedges_long.hedges, 51, "as many as the win rate needs");
    assert_eq!(judged.tripped().map(|reading| reading.signal), Some(Signal::DuplicateRate));
    let (windows_now, judged) = widened(&quarters(1, 1));
    assert!(windows_now.long_span <= Duration::from_hours(24) && windows_now.long.originals == 96);
    assert!(!judged.sufficient(), "a day of a request each quarter says nothing");
    let mut busy = windows(&ring(now, 60, &tally(100, 4)), now, &rules);
    let before = busy.clone();
    widen(&mut busy, &quarters(1_000, 900), now, &rules);
    assert_eq!((busy.long, busy.short), (before.long, before.short), "what has enough is left alone");
}

#[test]
fn a_maximum_trips_on_both_windows() {
    let rules = Rules::default();
    let rates = |short: u64, long: u64| Windows {
        short: tally(10_000, short * 10),
        long: tally(50_000, long * 50),
        ..Windows::default()
    };
    for (short, long, expected) in [
        (79, 79, Standing::Elevated),
        (80, 59, Standing::Clear),
        (80, 60, Standing::Trips),
        (60, 80, Standing::Trips),
        (59, 80, Standing::Elevated),
        (200, 59, Standing::Clear),
        (0, 60, Standing::Elevated),
        (0, 59, Standing::Clear),
    ] {
        let evaluation = evaluate(&rules, &rates(short, long), &Context::default());
        assert_eq!(
            standing(&evaluation, Signal::DuplicateRate),
            Some(expected),
            "{short} and {long} per mille"
        );
    }
}

#[test]
fn too_little_data_neither_trips_nor_clears() {
    let rules = Rules::default();
    let evaluation = look(&ring(at(1_000), 60, &tally(3, 3)), at(1_000), &rules);
    assert_eq!(standing(&evaluation, Signal::DuplicateRate), Some(Standing::Insufficient));
    assert_eq!((evaluation.tripped(), evaluation.sufficient()), (None, false));
    let nothing = look(&Ring::new(), at(1_000), &rules);
    assert!(!nothing.within() && nothing.tripped().is_none());
}

#[test]
fn extra_spend_counts_a_dearer_winner_and_not_retries() {
    let mut spent = tally(100, 5);
    spent.retries_cost = 1 << 60;
    // Five hedges that won on a route ten times as dear: 105,000 -> 150,000 units, losers were nearly free.
    spent.hedges_cost = 50_000;
    let evaluation = look(&ring(at(1_000), 60, &spent), at(1_000), &Rules::default());
    let reading = evaluation.tripped().expect("50 % extra");
    assert_eq!(
        (reading.signal, reading.long.per_mille(), reading.in_tokens),
        (Signal::ExtraSpend, 500, false)
    );
}

#[test]
fn unpriced_routes_are_compared_in_tokens_and_say_so() {
    let tokens = Tally {
        originals: 100,
        hedges: 7,
        unpriced: 107,
        tokens_total: 10_700,
        tokens_alone: 10_000,
        ..Tally::default()
    };
    let evaluation = look(&ring(at(1_000), 60, &tokens), at(1_000), &Rules::default());
    let reading = evaluation.tripped().expect("7 % extra");
    assert_eq!((reading.signal, reading.long.per_mille(), reading.in_tokens), (Signal::ExtraSpend, 70, true));
}

#[test]
fn a_low_win_rate_trips_with_fifty_hedges_in_wider_windows() {
    let losing = Tally { hedge_wins: 0, hedges_cost: 0, ..tally(20, 1) };
    let rules = Rules::default();
    // 30 hedges in 5 min are too few, 50 in 500 s are enough.
    let evaluation = look(&ring(at(1_000), 31, &losing), at(1_000), &rules);
    assert_eq!(standing(&evaluation, Signal::WinRate), Some(Standing::Insufficient));
    let evaluation = look(&ring(at(1_000), 60, &losing), at(1_000), &rules);
    assert_eq!(evaluation.tripped().map(|reading| reading.signal), Some(Signal::WinRate));
    let off = Rules { win_rate: WinRate { min_percent: 0, min_hedges: 50 }, ..rules };
    assert_eq!(standing(&look(&ring(at(1_000), 60, &losing), at(1_000), &off), Signal::WinRate), None);
}

#[test]
fn errors_are_judged_against_their_baseline() {
    let rules = Rules::default();
    let errors = |per_mille: u64| Windows {
        short: Tally { originals: 1_000, originals_errors: per_mille, ..Tally::default() },
        long: Tally { originals: 5_000, originals_errors: per_mille * 5, ..Tally::default() },
        ..Windows::default()
    };
    let base = |per_mille: u32| Context {
        error_baseline: Some(Ratio::of(per_mille, 1_000_u32)),
        ..Context::default()
    };
    for (baseline, rate, expected) in [
        (5, 24, Standing::Elevated),
        (5, 25, Standing::Trips),
        (50, 99, Standing::Elevated),
        (50, 100, Standing::Trips),
        (50, 59, Standing::Clear),
        (0, 20, Standing::Trips),
        (0, 3, Standing::Insufficient),
    ] {
        let evaluation = evaluate(&rules, &errors(rate), &base(baseline));
        assert_eq!(
            standing(&evaluation, Signal::ErrorRate),
            Some(expected),
            "{rate} against {baseline} per mille"
        );
    }
    let unknown = evaluate(&rules, &errors(500), &Context::default());
    assert_eq!(standing(&unknown, Signal::ErrorRate), Some(Standing::Insufficient));
}

#[test]
fn a_missing_tail_gain_trips_only_when_even_its_upper_bound_is_too_low() {
    let rules = Rules::default();
    let calm = Windows { short: tally(1_000, 0), long: tally(5_000, 0), ..Windows::default() };
    for (requests, upper, expected) in
        [(2_999, 10, Standing::Insufficient), (3_000, 49, Standing::Trips), (3_000, 50, Standing::Clear)]
    {
        let tail_gain = Some(TailGain { per_mille: 0, upper_per_mille: upper, requests });
        let evaluation = evaluate(&rules, &calm, &Context { tail_gain, ..Context::default() });
        assert_eq!(standing(&evaluation, Signal::TailGain), Some(expected));
    }
}

#[test]
fn a_shifted_median_needs_duplicates_to_be_hedgings_doing() {
    let rules = Rules::default();
    let context = |millis| Context {
        median: Some((Duration::from_millis(millis), Duration::from_millis(600))),
        ..Context::default()
    };
    let at = |duplicates| Windows {
        short: tally(1_000, duplicates),
        long: tally(5_000, duplicates * 5),
        ..Windows::default()
    };
    for (millis, duplicates, expected) in [
        (899, 40, Standing::Elevated),
        (900, 40, Standing::Trips),
        (900, 29, Standing::Insufficient),
        (719, 40, Standing::Clear),
    ] {
        let evaluation = evaluate(&rules, &at(duplicates), &context(millis));
        assert_eq!(standing(&evaluation, Signal::MedianShift), Some(expected));
    }
}

#[test]
fn late_completions_are_off_by_default_and_trip_where_they_are_on() {
    let late = Windows {
        short: tally(1_000, 0),
        long: tally(5_000, 0),
        hedges_short: Tally { audited: 5, late: 3, ..Tally::default() },
        hedges_long: Tally { audited: 20, late: 11, ..Tally::default() },
        ..Windows::default()
    };
    let on = Rules { late_completions: 50, ..Rules::default() };
    assert_eq!(
        standing(&evaluate(&Rules::default(), &late, &Context::default()), Signal::LateCompletions),
        None
    );
    let evaluation = evaluate(&on, &late, &Context::default());
    assert_eq!(evaluation.tripped().map(|reading| reading.signal), Some(Signal::LateCompletions));
}

#[test]
fn late_completions_wait_for_as_many_audited_losers_as_they_need_and_for_no_more() {
    let rules = Rules { late_completions: 20, ..Rules::default() };
    let (now, bucket) = (at(200_000), |audited| Tally { audited, late: audited, ..tally(100, 20) });
    let audited = |ring: &Ring, past: &[Past], rules: &Rules| {
        let mut windows = windows(ring, now, rules);
        widen(&mut windows, past, now, rules);
        let standing = standing(&evaluate(rules, &windows, &Context::default()), Signal::LateCompletions);
        assert_eq!(windows.hedges_long.hedges, 20 * 31, "windows of hedges stay as they are");
        (windows.hedges_short.audited, windows.hedges_long.audited, standing)
    };
    // One in every bucket of ten: five minutes hold 31, one minute holds seven.
    let ring_of = |every: u64| {
        let mut ring = Ring::new();
        for age in 0..60 {
            *ring.at(now - BUCKET * age as u32) = bucket(u64::from(age % every == 0));
        }
        ring
    };
    assert_eq!(audited(&ring_of(1), &[], &rules), (7, 31, Some(Standing::Trips)));
    // One in two: five minutes hold 16, so the long window goes on to the twentieth.
    assert_eq!(audited(&ring_of(2), &[], &rules), (4, 20, Some(Standing::Trips)));
    // One in six: ten minutes hold ten, and the past fills up.
    assert_eq!(audited(&ring_of(6), &[], &rules), (4, 10, Some(Standing::Insufficient)));
    let quarter = Tally { audited: 6, late: 6, ..tally(9_000, 1_800) };
    let past: Vec<Past> = (0..8).map(|age| (now - Duration::from_mins(15 * age + 7), quarter)).collect();
    assert_eq!(audited(&ring_of(6), &past, &rules), (4, 24, Some(Standing::Trips)));
    assert_eq!(audited(&ring_of(6), &past, &Rules::default()), (2, 6, None), "nobody asks");
}

#[test]
fn the_days_ceiling_needs_no_minimum_of_requests() {
    let rules = Rules { daily_spend_micros: Some(1_000), ..Rules::default() };
    for (spent, trips) in [(999_999_999, false), (1_000_000_000, true)] {
        let context = Context { spent_today: spent, ..Context::default() };
        let evaluation = evaluate(&rules, &Windows::default(), &context);
        assert_eq!(evaluation.tripped().is_some_and(|reading| reading.signal == Signal::DailySpend), trips);
    }
}

#[test]
fn ratios_compare_exactly_and_round_only_for_display() {
    let just_below = Ratio::of(79_999_u64, 1_000_000_u64);
    assert_eq!(just_below.per_mille(), 80);
    assert!(just_below.below(80) && !just_below.at_least(80));
    let nothing = Ratio::default();
    assert!(!nothing.below(80) && !nothing.at_least(0) && nothing.per_mille() == 0);
    assert_eq!(Ratio::of(u128::MAX, 1_u64).per_mille(), u32::MAX);
}

#[test]
fn a_pod_is_blind_when_its_operator_has_been_silent() {
    let after = Duration::from_mins(30);
    assert!(!blind(at(1_799), at(0), after));
    assert!(blind(at(1_800), at(0), after));
    assert!(!blind(at(0), at(10), after), "a heartbeat from the future is a heartbeat");
}
