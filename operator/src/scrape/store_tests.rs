//! Lives, generations and missing pods, with hand-made readings.

use hedgerow_config::state::{CohortCounters, InFlight, Pod, SCHEMA};

use super::*;

const BORN: Moment = Moment::from_secs(1_000);

fn after(seconds: u64) -> Moment {
    BORN + Duration::from_secs(seconds)
}

fn key() -> CellKey {
    CellKey { cohort: "chat".into(), route: "east".into(), model: "m".into(), stream: true, band: 0 }
}

fn cell(generation: u64, events: u64) -> CellState {
    CellState {
        key: key(),
        generation,
        events: vec![(80, events)],
        censored: Sparse::new(),
        hedge_events: Sparse::new(),
        hedge_censored: Sparse::new(),
        in_flight: vec![(100, 2)],
        delay_ms: None,
    }
}

fn reading(uid: &str, started: u64, originals: u64, cell: CellState) -> State {
    let total = CohortCounters { originals, ..CohortCounters::default() };
    let report = CohortReport {
        policy: "chat".into(),
        cohort: "chat".into(),
        transition: 0,
        state: hedgerow_config::cohort::DecisionState::Active,
        ring: Vec::new(),
        suppressed: BTreeMap::new(),
        user_latency: vec![(80, originals)],
        control_latency: Sparse::new(),
        total,
    };
    State {
        schema: SCHEMA.into(),
        pod: Pod { uid: uid.into(), started_unix_ms: started, version: String::new() },
        now_unix_ms: 0,
        digest: String::new(),
        rejected: None,
        ready: true,
        draining: false,
        objects: Vec::new(),
        cells: vec![cell],
        cohorts: vec![report],
        lanes: Vec::new(),
        routes: Vec::new(),
        credentials: Vec::new(),
        certificate: None,
        spend: SpendState::default(),
        in_flight: InFlight::default(),
    }
}

use hedgerow_config::state::SpendState;

fn originals(store: &Store) -> u64 {
    store.counted().cohorts.get("chat").map_or(0, |cohort| cohort.total.originals)
}

fn samples(store: &Store) -> u64 {
    store.counted().cohorts["chat"].cells.get(&key()).map_or(0, Counts::total)
}

#[test]
fn readings_of_two_pods_add_up_and_a_repeated_one_adds_nothing() {
    let mut store = Store::new(BORN);
    store.observe(reading("a", 1_000_500, 10, cell(1, 10)), after(1));
    store.observe(reading("b", 1_000_500, 5, cell(1, 5)), after(1));
    store.observe(reading("a", 1_000_500, 10, cell(1, 10)), after(2));
    store.observe(reading("a", 1_000_500, 12, cell(1, 11)), after(3));
    assert_eq!((originals(&store), samples(&store), store.discarded()), (17, 16, 0));
}

#[test]
fn a_restarted_pod_counts_from_zero_and_what_it_counted_before_stays() {
    let mut store = Store::new(BORN);
    store.observe(reading("a", 1_000_500, 10, cell(1, 10)), after(1));
    store.observe(reading("a", 1_009_000, 3, cell(1, 3)), after(10));
    assert_eq!((originals(&store), samples(&store), store.discarded()), (13, 13, 0));
    assert_eq!(store.present(after(11)).count(), 1, "one pod, whatever the number of its lives");
    assert_eq!(store.lives().count(), 2, "the ring of the ended life still counts");
}

#[test]
fn a_counter_that_fell_is_discarded_once_and_is_the_new_base() {
    let mut store = Store::new(BORN);
    store.observe(reading("a", 1_000_500, 10, cell(1, 10)), after(1));
    store.observe(reading("a", 1_000_500, 4, cell(1, 4)), after(2));
    assert_eq!((originals(&store), samples(&store), store.discarded()), (10, 10, 2));
    store.observe(reading("a", 1_000_500, 6, cell(1, 7)), after(3));
    assert_eq!((originals(&store), samples(&store), store.discarded()), (12, 13, 2));
}

#[test]
fn a_new_generation_of_a_cell_starts_from_zero() {
    let mut store = Store::new(BORN);
    store.observe(reading("a", 1_000_500, 10, cell(1, 10)), after(1));
    store.observe(reading("a", 1_000_500, 10, cell(2, 3)), after(2));
    assert_eq!((samples(&store), store.discarded()), (13, 0));
}

#[test]
fn a_pod_that_cannot_be_read_is_missing_and_not_zero() {
    let mut store = Store::new(BORN);
    store.observe(reading("a", 1_000_500, 10, cell(1, 10)), after(1));
    assert_eq!(store.present(after(10)).count(), 1, "a missed read or two change nothing");
    assert_eq!(store.present(after(20)).count(), 0);
    assert_eq!((originals(&store), samples(&store)), (10, 10));
    assert!(store.in_flight(after(20)).is_empty(), "old ages are no ages");
    assert_eq!(store.in_flight(after(2))[&key()].len(), 2);
}

#[test]
fn the_history_of_a_process_older_than_the_store_enters_with_little_weight() {
    let mut store = Store::new(BORN);
    store.observe(reading("a", 500_000, 10_000, cell(1, 10_000)), after(1));
    assert_eq!(samples(&store), HISTORY);
    store.observe(reading("a", 500_000, 10_050, cell(1, 10_050)), after(2));
    assert_eq!(samples(&store), HISTORY + 50);
}

#[test]
fn an_unknown_bucket_spoils_one_cell_and_nothing_else() {
    let mut store = Store::new(BORN);
    let odd = CellState { events: vec![(60_000, 1)], ..cell(1, 1) };
    store.observe(reading("a", 1_000_500, 10, odd), after(1));
    assert_eq!((originals(&store), store.discarded()), (10, 1));
}
