//! A cohort's day, told in counters.

use std::collections::BTreeMap;

use hedgerow_config::state::CellKey;

use super::*;

const START: u64 = 20_000 * 86_400;
const COHORT: &str = "chat";

fn at(seconds: u64) -> Moment {
    Moment::from_secs(START + seconds)
}

/// Counters that grow by a quarter's traffic at a time.
#[derive(Default)]
struct Counters(Cumulative);

impl Counters {
    fn grow(&mut self, originals: u64, errors: u64, first_token: Duration) -> &Cumulative {
        let cohort = self.0.cohorts.entry(COHORT.to_owned()).or_default();
        cohort.total.originals += originals;
        cohort.total.errors += errors;
        let key = CellKey {
            cohort: COHORT.to_owned(),
            route: "east".to_owned(),
            model: "m".to_owned(),
            stream: true,
            band: 0,
        };
        let cell = cohort.cells.entry(key).or_default();
        for _ in 0..originals {
            cell.event(first_token);
            cohort.users.event(first_token / 2);
        }
        &self.0
    }
}

#[test]
fn what_is_normal_is_known_after_the_first_whole_quarter() {
    let (mut counters, mut quarters) = (Counters::default(), Quarters::default());
    quarters.observe(counters.grow(0, 0, Duration::ZERO), at(500));
    quarters.observe(counters.grow(300, 150, Duration::from_secs(9)), at(901));
    assert_eq!(
        (quarters.error_rate(COHORT), quarters.median(COHORT)),
        (None, None),
        "it began in the middle"
    );
    quarters.observe(counters.grow(300, 6, Duration::from_secs(1)), at(1_801));
    assert_eq!(quarters.error_rate(COHORT).map(Ratio::per_mille), Some(20));
    let median = quarters.median(COHORT).unwrap();
    assert!(median.abs_diff(Duration::from_secs(1)) < Duration::from_millis(100), "{median:?}");
    quarters.observe(counters.grow(300, 0, Duration::from_secs(2)), at(9_001));
    assert_eq!(quarters.error_rate(COHORT).map(Ratio::per_mille), Some(20), "a pause is of no quarter");
}

#[test]
fn the_past_is_a_day_told_newest_first() {
    let (mut counters, mut quarters) = (Counters::default(), Quarters::default());
    quarters.observe(counters.grow(0, 0, Duration::ZERO), at(0));
    for quarter in 1..=200 {
        quarters.observe(counters.grow(quarter, 0, Duration::from_secs(1)), at(900 * quarter));
    }
    counters.grow(7, 0, Duration::from_secs(1));
    let past = quarters.past(COHORT, &counters.0);
    let originals: Vec<u64> = past.iter().map(|(_, tally)| tally.originals).collect();
    assert_eq!(originals[..3], [7, 200, 199]);
    assert_eq!(originals.len(), KEPT + 1, "a day and what is not over");
}

#[test]
fn a_gain_is_that_of_users_over_primaries_since_a_boundary() {
    let (mut counters, mut quarters) = (Counters::default(), Quarters::default());
    quarters.observe(counters.grow(10, 0, Duration::from_mins(1)), at(0));
    quarters.observe(counters.grow(10, 0, Duration::from_mins(1)), at(900));
    quarters.observe(counters.grow(4_000, 0, Duration::from_secs(8)), at(1_800));
    let gain = quarters.tail_gain(COHORT, &counters.0, Moment::ZERO).unwrap();
    assert_eq!(gain.requests, 4_000);
    assert!((450..=550).contains(&gain.per_mille) && gain.upper_per_mille >= gain.per_mille, "{gain:?}");
    assert_eq!(
        quarters.tail_gain(COHORT, &counters.0, at(2_000)),
        None,
        "hedging began after the last boundary"
    );
}

#[test]
fn another_process_goes_on_from_what_was_saved() {
    let (mut counters, mut quarters) = (Counters::default(), Quarters::default());
    quarters.observe(counters.grow(0, 0, Duration::ZERO), at(0));
    quarters.observe(counters.grow(9, 0, Duration::from_secs(1)), at(900));
    quarters.observe(counters.grow(400, 8, Duration::from_secs(1)), at(1_800));
    let mut next = Quarters::default();
    next.restore(quarters.save(), at(1_900));
    assert_eq!(next.error_rate(COHORT), quarters.error_rate(COHORT));
    next.restore(quarters.save(), at(200_000));
    assert_eq!(next.save(), BTreeMap::new(), "what is older than a day is gone");
}
