//! Small cohorts: steady ones do not trip by chance, breaches are found. `cargo test -p hedgerow-policy chance -- --nocapture`
//! prints the table of docs/guardrails.md.

use super::*;
use crate::draw::{Key, Purpose, unit};

/// Time between two looks, in seconds.
const LOOK: u64 = 5;

/// A cohort of so many requests in 10 s, looked at by default rules until it trips. Which requests are hedged, chance says;
/// how often, `per_mille` of the second. Returns seconds until the first trip at or after `from`, if there is one before `end`.
fn trip(
    in_ten_seconds: u64,
    seed: u8,
    (from, end): (u64, u64),
    per_mille: impl Fn(u64) -> f64,
) -> Option<u64> {
    let rules = Rules { win_rate: WinRate { min_percent: 0, min_hedges: 50 }, ..Rules::default() };
    let (key, mut ring, mut request) = (Key::new([seed; 16]), Ring::new(), 0);
    (0..end).step_by(LOOK as usize).find(|second| {
        let until = in_ten_seconds * (second + LOOK) / 10;
        for action in request..until {
            let hedged = unit(key.draw(u128::from(action), Purpose::Sample)) * 1_000.0 < per_mille(*second);
            *ring.at(at(*second)) += &tally(1, u64::from(hedged));
        }
        request = until;
        look(&ring, at(*second), &rules).tripped().is_some() && *second >= from
    })
}

#[test]
fn a_steady_cohort_at_the_target_does_not_trip_by_chance() {
    let mut trips = 0;
    for in_ten_seconds in [7, 13, 30, 60, 250] {
        let (days, mut here) = (if in_ten_seconds > 30 { 1 } else { 4 }, 0);
        for seed in 0..days {
            // A run of one day; after a trip the rest of the day is not looked at.
            here += u32::from(trip(in_ten_seconds, seed, (0, 86_400), |_| 50.0).is_some());
        }
        println!("{:4.1} requests/s at 5 %: tripped on {here} of {days} days", in_ten_seconds as f64 / 10.0);
        trips += here;
    }
    assert!(trips <= 1, "{trips} false trips");
}

#[test]
fn a_breach_is_found_sooner_the_more_traffic_there_is() {
    const STEADY: u64 = 900;
    let mut slowest = Vec::new();
    for in_ten_seconds in [7, 13, 30, 60, 250, 1_000] {
        print!("{:5.1} requests/s:", in_ten_seconds as f64 / 10.0);
        for breach in [100.0, 120.0, 160.0] {
            let level = |second| if second < STEADY { 50.0 } else { breach };
            let runs = if in_ten_seconds > 60 { 11 } else { 41 };
            let mut took: Vec<u64> = (0..runs)
                .map(|seed| {
                    trip(in_ten_seconds, seed, (STEADY, STEADY + 14_400), level)
                        .map_or(14_400, |at| at - STEADY)
                })
                .collect();
            took.sort_unstable();
            let (half, most) = (took[took.len() / 2], took[took.len() * 19 / 20]);
            print!("  {:2.0} % after {half:4} s, 19 of 20 within {most:5} s;", breach / 10.0);
            slowest.push((in_ten_seconds, breach, most));
        }
        println!();
    }
    for (in_ten_seconds, breach, most) in slowest {
        assert!(most < 14_400, "{in_ten_seconds} requests in 10 s at {breach} per mille: not found in 4 h");
        let bar = if in_ten_seconds >= 60 && breach >= 160.0 { 90 } else { u64::MAX };
        assert!(most <= bar, "{in_ten_seconds} requests in 10 s at {breach} per mille: {most} s");
    }
}

#[test]
fn counts_so_far_from_the_value_of_a_healthy_cohort_trip_and_no_others() {
    let rules = Rules::default();
    let judged = |short: Tally, long: Tally| {
        let windows = Windows { short, long, hedges_short: short, hedges_long: long, ..Windows::default() };
        let evaluation = evaluate(&rules, &windows, &Context::default());
        evaluation.tripped().map(|reading| (reading.signal, reading.sustained))
    };
    let duplicates = Some((Signal::DuplicateRate, false));
    // 15.2 hedges of 78 are five standard deviations above the 4.7 of the re-arm value; 46.9 of 390 above 23.4.
    assert_eq!(judged(tally(78, 15), tally(390, 30)), None);
    assert_eq!(judged(tally(78, 16), tally(390, 30)), duplicates);
    assert_eq!(judged(tally(78, 5), tally(390, 46)), None);
    assert_eq!(judged(tally(78, 5), tally(390, 47)), Some((Signal::DuplicateRate, true)));
    assert_eq!(
        judged(tally(78, 4), tally(390, 60)),
        None,
        "it is over: the short window is below the re-arm value"
    );
    // As much extra spend of few hedges as of many.
    let dear = |originals, hedges, each| Tally {
        hedges_cost: u128::from(hedges * each),
        ..tally(originals, hedges)
    };
    let spend = Some((Signal::ExtraSpend, false));
    assert_eq!(judged(dear(2_000, 20, 12_000), dear(10_000, 100, 5_000)), None, "12 % by 20 hedges");
    assert_eq!(judged(dear(2_000, 40, 6_000), dear(10_000, 200, 2_500)), spend, "12 % by 40 hedges");
    // One win of 50 is three standard deviations below the 10 of a rate of 20 %.
    let wins = |wins| Tally { hedge_wins: wins, hedges_cost: 0, ..tally(1_000, 50) };
    let few = Tally { hedge_wins: 0, hedges_cost: 0, ..tally(200, 10) };
    assert_eq!(judged(few, wins(2)), None);
    assert_eq!(judged(few, wins(1)), Some((Signal::WinRate, false)));
}
