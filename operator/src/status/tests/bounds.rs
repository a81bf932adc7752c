//! The API server refuses a status that breaks a bound of the CRD, whole: what people look at is then old. So whatever the
//! pods count, in whatever order, what is said of it has to stay within the bounds.

use super::*;

/// What the API server would say of a status of this kind.
fn faults(kind: Kind, status: &impl serde::Serialize) -> Vec<String> {
    let validator = jsonschema::validator_for(&kind.schema()["properties"]["status"]).unwrap();
    let status = serde_json::to_value(status).unwrap();
    validator.iter_errors(&status).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// A window in which everything ends and nothing begins: two of hedges that were sent before it won, and so on.
fn late_in_the_day() -> guardrail::Tally {
    guardrail::Tally {
        originals: 1,
        hedges: 2,
        hedge_wins: 5,
        audited: 1,
        late: 3,
        deadline_misses: 4,
        primaries_cost: 1,
        losers_cost: 9,
        primaries_alone_cost: 1,
        ..guardrail::Tally::default()
    }
}

fn endless() -> guardrail::Tally {
    guardrail::Tally {
        originals: 1,
        hedges: u64::MAX,
        hedge_wins: u64::MAX,
        audited: 1,
        late: u64::MAX,
        deadline_misses: u64::MAX,
        primaries_cost: 1 << 100,
        losers_cost: 1 << 120,
        primaries_alone_cost: 1,
        ..guardrail::Tally::default()
    }
}

#[test]
fn more_wins_than_hedges_are_all_of_them() {
    let active = standing(guardrail::State::Active, false);
    let seen = policy_status_of(Mode::Enforce, [&active, &active], true, late_in_the_day(), &spent());
    assert_eq!(faults(Kind::HedgePolicy, &seen), Vec::<String>::new());
    let cohort = &seen.cohorts[0];
    assert_eq!((cohort.win_per_mille, cohort.late_per_mille), (Some(1_000), Some(1_000)));
    assert_eq!((cohort.lost_race_per_mille, cohort.deadline_miss_per_mille), (Some(1_000), Some(1_000)));
    assert_eq!(cohort.duplicate_per_mille, Some(2_000), "a rate, not a share: it may be above one");
}

#[test]
fn no_count_makes_a_policy_invalid() {
    let mut busy = standing(guardrail::State::Active, true);
    (busy.trips, busy.latch.transition) = (u32::MAX, u64::MAX);
    let much = Picos(1 << 100);
    let dear = Spent { cost: much, without: Picos(1), lost: much, retries: much, estimated: much };
    for spent in [dear.clone(), Spent { cost: Picos(1), without: much, ..dear }] {
        let seen = policy_status_of(Mode::Enforce, [&busy, &busy], true, endless(), &spent);
        assert_eq!(faults(Kind::HedgePolicy, &seen), Vec::<String>::new());
    }
}

#[test]
fn no_count_makes_a_route_or_a_lane_invalid() {
    let figures = RouteFigures { requests: 1, failed: u64::MAX, ..busy() };
    let route = route_status(|state, _| state.weight_percent = u32::MAX, figures);
    assert_eq!(faults(Kind::ProviderRoute, &route), Vec::<String>::new());
    let figures = RouteFigures { requests: u64::MAX, ..busy() };
    assert_eq!(faults(Kind::ProviderRoute, &route_status(|_, _| {}, figures)), Vec::<String>::new());

    let state = State {
        lanes: vec![lane_state(u32::MAX, u32::MAX)],
        ..pod_state(vec![object(Kind::PriorityLane, "batch")])
    };
    let (verdict, object) = (verdict(Kind::PriorityLane, "batch"), object(Kind::PriorityLane, "batch"));
    let states = [Some(state)];
    let pods = pods(&states, 60);
    let figures = LaneFigures {
        admitted: u64::MAX,
        shed: BTreeMap::from([("LaneFull".into(), u64::MAX)]),
        ..LaneFigures::default()
    };
    let status = lane(
        &PriorityLaneStatus::default(),
        &LaneFacts { verdict: &verdict, object: &object, pods: &pods, figures },
    );
    assert_eq!(status.observed.as_ref().map(|observed| observed.limit_max), Some(100_000));
    assert_eq!(faults(Kind::PriorityLane, &status), Vec::<String>::new());
}
