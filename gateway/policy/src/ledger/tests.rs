//! Money to the last unit, roles as a table.

use proptest::prelude::*;

use super::*;

const PRICES: Prices =
    Prices { input: 2_500_000, cache_read: 1_250_000, cache_write: 3_125_000, output: 10_000_000 };

fn booked(kind: Kind, role: Role, usage: Usage) -> Booked {
    Booked { kind, role, usage, basis: Basis::Exact, cost: Some(cost(&usage, &PRICES)) }
}

#[test]
fn cost_is_tokens_times_price_and_rounds_half_up_only_when_shown() {
    let usage = Usage { input_uncached: 1_000, cache_read: 200, cache_write: 40, output: 300 };
    let units = 1_000 * 2_500_000 + 200 * 1_250_000 + 40 * 3_125_000 + 300 * 10_000_000;
    assert_eq!(cost(&usage, &PRICES), Cost(units));
    assert_eq!(cost(&usage, &PRICES).micros(), 5_875);
    for (units, micros) in [(0, 0), (499_999, 0), (500_000, 1), (1_499_999, 1), (1_500_000, 2)] {
        assert_eq!(Cost(units).micros(), micros);
    }
    assert_eq!(Cost::from_micros(7).micros(), 7);
}

#[test]
fn roles_follow_what_became_of_the_attempt() {
    for (kind, committed, replaced, expected) in [
        (Kind::Primary, true, false, Role::Winner),
        (Kind::Hedge, true, false, Role::Winner),
        (Kind::Retry, true, false, Role::Winner),
        (Kind::Primary, false, false, Role::Loser),
        (Kind::Hedge, false, false, Role::Loser),
        (Kind::Primary, false, true, Role::Retry),
        (Kind::Retry, false, false, Role::Retry),
    ] {
        assert_eq!(role(kind, committed, replaced), expected);
    }
}

#[test]
fn the_ceiling_refuses_what_could_exceed_it_and_what_has_no_price() {
    let (two, five) = (Cost(2), Cost(5));
    assert!(within_ceiling(five, None, None));
    assert!(!within_ceiling(Cost::ZERO, None, Some(five)));
    assert!(within_ceiling(Cost(3), Some(two), Some(five)));
    assert!(!within_ceiling(Cost(4), Some(two), Some(five)));
}

#[test]
fn extra_spend_sees_a_dearer_winner_and_leaves_retries_out() {
    let warm = Usage { cache_read: 10_000, output: 100, ..Usage::default() };
    let cold = Usage { input_uncached: 10_000, output: 100, ..Usage::default() };
    let attempts = [
        booked(Kind::Primary, Role::Loser, warm),
        booked(Kind::Hedge, Role::Winner, cold),
        booked(Kind::Retry, Role::Retry, cold),
    ];
    let sums = extra_spend(&attempts, &warm, Some(cost(&warm, &PRICES)));
    assert_eq!(sums.actual, cost(&warm, &PRICES) + cost(&cold, &PRICES));
    assert_eq!(sums.alone, cost(&warm, &PRICES));
    assert_eq!((sums.tokens, sums.unpriced), ((20_200, 10_100), 0));
    let unhedged = extra_spend(&attempts[..1], &warm, Some(cost(&warm, &PRICES)));
    assert_eq!(unhedged.actual, unhedged.alone);
}

#[test]
fn unpriced_attempts_are_counted_and_compared_in_tokens() {
    let usage = Usage { input_uncached: 10, output: 5, ..Usage::default() };
    let attempt = Booked { cost: None, ..booked(Kind::Primary, Role::Winner, usage) };
    let sums = extra_spend(&[attempt], &usage, None);
    assert_eq!((sums.actual, sums.alone, sums.unpriced, sums.tokens), (Cost::ZERO, Cost::ZERO, 2, (15, 15)));
}

#[test]
fn estimates_use_what_is_known() {
    assert_eq!(estimate_input(4_001, START_BYTES_PER_TOKEN_MILLI), 1_001);
    assert_eq!(estimate_input(0, START_BYTES_PER_TOKEN_MILLI), 0);
    assert_eq!(least_input(4_003, START_BYTES_PER_TOKEN_MILLI), 1_000);
    assert_eq!(least_input(u64::MAX, 0), u64::MAX);
    for (limit, p95, expected) in [
        (Some(100), Some(500), Some(100)),
        (Some(900), Some(500), Some(500)),
        (Some(9), None, Some(9)),
        (None, Some(5), Some(5)),
        (None, None, None),
    ] {
        assert_eq!(estimate_output(limit, p95), expected);
    }
}

#[test]
fn the_ratio_follows_exact_usage_and_stays_in_range() {
    let ratio = InputRatio::new();
    (0..500).for_each(|_| ratio.learn(3_000, 1_000));
    assert!((2_968..=3_032).contains(&ratio.bytes_per_token_milli()), "{}", ratio.bytes_per_token_milli());
    (0..2_000).for_each(|_| ratio.learn(u64::MAX, 1));
    assert!(ratio.bytes_per_token_milli() <= 16_000);
    ratio.learn(5, 0);
    (0..2_000).for_each(|_| ratio.learn(0, 7));
    assert!(ratio.bytes_per_token_milli() >= 1_000);
}

proptest! {
    #[test]
    fn cost_is_additive_so_sums_need_no_rounding(
        a in prop::array::uniform4(0_u64..1_000_000_000), b in prop::array::uniform4(0_u64..1_000_000_000),
    ) {
        let usage = |t: [u64; 4]| Usage { input_uncached: t[0], cache_read: t[1], cache_write: t[2], output: t[3] };
        let mut both = usage(a);
        both += usage(b);
        prop_assert_eq!(cost(&both, &PRICES), cost(&usage(a), &PRICES) + cost(&usage(b), &PRICES));
    }
}
