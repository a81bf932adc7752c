//! One cohort through trips, cooldowns, trials and restarts, look by look.

use hedgerow_config::state::CohortBucket;
use hedgerow_crds::v1alpha1::hedge_policy::CohortStatus;

use super::*;
use crate::domain::{
    figure,
    guardrail::fixture::{bucket, key, state},
};

/// 2026-11-29 03:10:00 UTC, at the start of a bucket.
const START: u64 = 1_795_921_800;

fn spec() -> HedgePolicySpec {
    serde_json::from_value(serde_json::json!({
        "mode": "Enforce",
        "cohorts": [{ "name": "stream" }],
        "ramp": { "startPercent": 100 },
        "guardrails": { "window": "30s", "minRequests": 20, "cooldown": "5s", "maxCooldown": "20s", "trialFor": "5s",
                        "winRate": { "minPercent": 0 } },
    }))
    .unwrap()
}

/// A cohort under test and the only pod's ring.
struct Bench {
    spec: HedgePolicySpec,
    mode: Mode,
    annotations: BTreeMap<String, String>,
    standing: Standing,
    ring: Vec<CohortBucket>,
    unseen: Duration,
    measured: Measured,
    now: u64,
}

impl Bench {
    fn new() -> Self {
        Self {
            spec: spec(),
            mode: Mode::Enforce,
            annotations: BTreeMap::new(),
            standing: Standing::default(),
            ring: Vec::new(),
            unseen: Duration::ZERO,
            measured: Measured::default(),
            now: START,
        }
    }

    /// One look after `seconds`.
    fn look(&mut self, seconds: u64) -> Outcome {
        self.now += seconds;
        let (key, pod, p95) = (key(), state("a", self.ring.clone()), BTreeMap::new());
        let facts = Facts {
            fleet: "default",
            key: &key,
            mode: self.mode,
            spec: &self.spec,
            annotations: &self.annotations,
            states: &[&pod],
            unseen: self.unseen,
            measured: &self.measured,
            p95: &p95,
            command: " --config demo",
            now: Moment::from_secs(self.now),
        };
        let outcome = decide(&self.standing, &facts);
        self.standing = outcome.standing.clone();
        outcome
    }

    /// Ten seconds of traffic, then a look at their end.
    fn traffic(&mut self, originals: u64, hedges: u64) -> Outcome {
        self.ring.push(bucket(self.now / 10 * 10, originals, hedges));
        self.look(10)
    }

    fn state(&self) -> State {
        self.standing.latch.state
    }

    fn tripped() -> Self {
        let mut bench = Self::new();
        bench.look(0);
        (0..3).for_each(|_| drop(bench.traffic(100, 4)));
        let outcome = bench.traffic(100, 30);
        assert_eq!(bench.state(), State::Suspended, "{:?}", outcome.evaluation);
        bench
    }
}

#[test]
fn a_healthy_cohort_goes_on_and_nothing_is_said() {
    let mut bench = Bench::new();
    let first = bench.look(0).decision.expect("switched on");
    assert_eq!((first.from, first.to, first.transition), (State::Observing, State::Active, 1));
    for _ in 0..6 {
        assert!(bench.traffic(100, 4).decision.is_none());
    }
    assert_eq!(bench.standing.message, "Hedging is on for every enrolled request since 03:10:00 UTC.");
}

#[test]
fn a_breach_suspends_and_says_what_why_and_what_next() {
    let mut bench = Bench::new();
    bench.look(0);
    (0..3).for_each(|_| drop(bench.traffic(100, 4)));
    let decision = bench.traffic(100, 30).decision.expect("tripped");
    assert_eq!((decision.to, decision.reason), (State::Suspended, Reason::DuplicateRateExceeded));
    assert_eq!(decision.breached, Some(decision.at));
    assert!(decision.line.starts_with("stream suspended: duplicate rate "), "{}", decision.line);
    let message = &bench.standing.message;
    for part in [
        "Hedging is off for this cohort since 03:10:40 UTC; requests go on primary-only.",
        "(limit 8 %)",
        "300 requests",
        "50 % win rate",
        "100 % of the extra spend is on west.",
        "Next: trial at 100 % after 03:10:45 UTC (trip 1 of the current series).",
        "hedgerow suspend hp/chat stream --for 2h --config demo",
        "hedgerow resume hp/chat stream --config demo",
    ] {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
    let signals: Vec<&str> =
        bench.standing.evidence.iter().map(|evidence| evidence.signal.as_str()).collect();
    assert_eq!(signals, ["duplicateRate", "extraSpend"]);
    assert_eq!(bench.standing.evidence[0].threshold, "8 %");
}

#[test]
fn a_breach_counts_from_when_its_own_signal_had_enough_data_over_the_limit() {
    let mut bench = Bench::new();
    bench.look(0);
    assert!(bench.traffic(10, 5).decision.is_none(), "10 requests are too few to say anything");
    assert!(bench.standing.over_since.is_empty());
    for _ in 0..3 {
        bench.traffic(200, 1);
    }
    bench.traffic(30, 30);
    let since = bench.standing.over_since.get(&Signal::DuplicateRate).copied();
    assert_eq!(since, Some(Moment::from_secs(bench.now)), "{:?}", bench.standing.over_since);
}

#[test]
fn hedges_that_were_only_counted_while_observed_do_not_judge_those_that_are_sent() {
    let mut bench = Bench::new();
    bench.mode = Mode::Observe;
    bench.look(0);
    for _ in 0..6 {
        assert!(bench.traffic(100, 30).decision.is_none(), "nothing trips while nothing is sent");
    }
    bench.ring.push(bucket(bench.now / 10 * 10, 50, 40));
    bench.mode = Mode::Enforce;
    let on = bench.look(3).decision.expect("switched on");
    assert_eq!(on.to, State::Active);
    bench.ring.pop();
    bench.ring.push(bucket(bench.now / 10 * 10, 120, 42));
    let outcome = bench.look(5);
    assert!(outcome.decision.is_none(), "{:?}", outcome.decision);
    assert_eq!((outcome.windows.long.originals, outcome.windows.long.hedges), (70, 2));
}

#[test]
fn a_trial_is_judged_by_its_own_traffic_and_lets_hedging_back_in() {
    let mut bench = Bench::tripped();
    assert!(bench.look(4).decision.is_none(), "the cooldown is not over");
    let trial = bench.look(2).decision.expect("trial");
    assert_eq!((trial.to, trial.reason), (State::Trial, Reason::DuplicateRateExceeded));
    assert!(bench.look(1).decision.is_none());
    bench.ring.push(bucket(bench.now / 10 * 10, 50, 1));
    let back = bench.look(5).decision.expect("re-armed");
    assert_eq!((back.to, back.reason), (State::Active, Reason::WithinLimits), "{back:?}");
    assert!(bench.traffic(100, 4).decision.is_none(), "the breach before the trip is forgotten");
}

#[test]
fn what_races_from_before_a_trip_book_late_does_not_count_after_the_trial() {
    let mut bench = Bench::tripped();
    bench.ring.push(bucket(bench.now / 10 * 10, 60, 50));
    assert_eq!(bench.look(6).decision.expect("trial").to, State::Trial);
    bench.ring.pop();
    bench.ring.push(bucket(bench.now / 10 * 10, 100, 51));
    let back = bench.look(5).decision.expect("re-armed");
    assert_eq!(back.to, State::Active, "{back:?}");
    let outcome = bench.look(1);
    assert!(outcome.decision.is_none(), "{:?}", outcome.decision);
    assert_eq!((outcome.windows.long.originals, outcome.windows.long.hedges), (40, 1));
}

#[test]
fn a_median_that_stays_high_without_hedges_is_not_their_doing() {
    let mut bench = Bench::new();
    let seconds = Duration::from_secs;
    bench.measured.context.median = Some((seconds(1), seconds(1)));
    bench.look(0);
    bench.traffic(100, 3);
    bench.measured.context.median = Some((seconds(2), seconds(1)));
    let tripped = bench.traffic(100, 3).decision.expect("the median has doubled while hedges were sent");
    assert_eq!((tripped.to, tripped.reason), (State::Suspended, Reason::MedianShifted));
    assert_eq!(bench.look(6).decision.expect("trial").to, State::Trial);
    bench.ring.push(bucket(bench.now / 10 * 10, 100, 3));
    let back = bench.look(5).decision.expect("it is as high without hedges");
    assert_eq!(back.to, State::Active, "{back:?}");
    bench.measured.context.median = Some((seconds(4), seconds(1)));
    let again = bench.traffic(100, 3).decision.expect("twice what it was without hedges");
    assert_eq!(again.reason, Reason::MedianShifted);
}

#[test]
fn a_trial_that_fails_suspends_for_twice_as_long() {
    let mut bench = Bench::tripped();
    bench.look(6);
    bench.ring.push(bucket(bench.now / 10 * 10, 60, 20));
    let again = bench.look(1).decision.expect("failed");
    assert_eq!((again.from, again.to), (State::Trial, State::Suspended));
    let until = bench.standing.latch.until.unwrap();
    assert_eq!(until.since(again.at), Duration::from_secs(10));
    assert!(bench.standing.message.contains("trip 2 of the current series"), "{}", bench.standing.message);
}

#[test]
fn between_the_limits_neither_trips_nor_moves() {
    let mut bench = Bench::new();
    bench.look(0);
    for _ in 0..8 {
        let outcome = bench.traffic(100, 5);
        assert!(outcome.decision.is_none(), "5 % is over the re-arm value of 4 % and under the limit of 6 %");
    }
    assert!(bench.standing.over_since.is_empty());
}

#[test]
fn a_clock_that_jumps_an_hour_brings_hedging_back_through_a_trial_only_and_no_hour_later() {
    for (jump, least, most) in [(3_600, 0, 5), (-3_600, 5, 10)] {
        let mut bench = Bench::tripped();
        bench.now = bench.now.checked_add_signed(jump).unwrap();
        let mut waited = 0;
        let trial = loop {
            if let Some(decision) = bench.look(1).decision {
                break decision;
            }
            waited += 1;
            assert!(waited < 60, "still suspended a minute after a cooldown of 5 s");
        };
        assert_eq!(trial.to, State::Trial, "{jump} s");
        assert!((least..=most).contains(&waited), "{jump} s: after {waited} s");
        let begun = bench.now;
        bench.ring.retain(|bucket| bucket.start_unix_s < bench.now);
        bench.ring.push(bucket(bench.now / 10 * 10, 50, 1));
        assert_eq!(
            bench.look(5).decision.expect("the trial's end").to,
            State::Active,
            "{jump} s, from {begun}"
        );
    }
}

#[test]
fn without_any_reading_nothing_trips_and_nothing_is_released() {
    let mut bench = Bench::new();
    bench.look(0);
    bench.unseen = Duration::from_secs(1);
    bench.ring.push(bucket(START, 500, 400));
    assert!(bench.look(5).decision.is_none(), "no data is no breach");
    let mut bench = Bench::tripped();
    bench.look(6);
    bench.unseen = Duration::from_secs(1);
    bench.ring.push(bucket(bench.now / 10 * 10, 50, 2));
    assert!(bench.look(30).decision.is_none(), "no data is no good trial");
    assert_eq!(bench.state(), State::Trial);
}

#[test]
fn a_fleet_that_cannot_be_read_for_long_is_suspended_as_blind_and_says_what_to_look_at() {
    let mut bench = Bench::new();
    bench.look(0);
    bench.traffic(100, 4);
    bench.unseen = Duration::from_mins(29);
    assert!(bench.look(10).decision.is_none());
    bench.unseen = Duration::from_mins(30);
    let blind = bench.look(60).decision.expect("blind.after is 30 min by default");
    assert_eq!((blind.to, blind.reason), (State::Suspended, Reason::Blind));
    assert_eq!(blind.line, "stream suspended: too few gateways could be read for 30m");
    assert!(bench.standing.message.contains("port 9090"), "{}", bench.standing.message);
    bench.unseen = Duration::ZERO;
    assert_eq!(bench.look(10).decision.expect("seen again").to, State::Trial);
}

#[test]
fn a_hold_by_hand_lasts_until_its_time_and_a_resume_ends_any_suspension() {
    let mut bench = Bench::new();
    bench.look(0);
    let until = figure::timestamp(Moment::from_secs(START + 100)).to_string();
    bench.annotations.insert("hedgerow.dev/suspend.stream".into(), until);
    let held = bench.look(1).decision.expect("held");
    assert_eq!((held.to, held.reason), (State::Suspended, Reason::Suspended));
    bench.annotations.clear();
    assert!(bench.look(50).decision.is_none(), "status remembers the hold although the annotation is gone");
    assert_eq!(bench.look(50).decision.expect("the time is over").to, State::Active);

    let mut bench = Bench::tripped();
    bench.annotations.insert("hedgerow.dev/resume.all".into(), "1".into());
    assert_eq!(bench.look(1).decision.expect("resumed").to, State::Active);
    assert!(bench.look(1).decision.is_none(), "the same value is no new wish");
}

#[test]
fn a_switch_in_the_spec_wins_at_once() {
    let mut bench = Bench::tripped();
    bench.mode = Mode::Disabled;
    assert_eq!(bench.look(1).decision.expect("off").to, State::Disabled);
    bench.mode = Mode::Enforce;
    assert_eq!(bench.look(1).decision.expect("on").to, State::Active);
}

#[test]
fn many_pods_of_which_some_are_over_trip_although_the_sum_is_not() {
    let (key, p95, spec, annotations) = (key(), BTreeMap::new(), spec(), BTreeMap::new());
    let pods = |bad: usize, all: usize| -> Vec<PodState> {
        (0..all).map(|pod| state("p", vec![bucket(START, 60, if pod < bad { 15 } else { 0 })])).collect()
    };
    let active = Standing {
        latch: hedgerow_policy::guardrail::Latch { state: State::Active, ..Default::default() },
        ..Standing::default()
    };
    for (bad, all, trips) in [(3, 10, true), (2, 10, false), (1, 2, false)] {
        let pods = pods(bad, all);
        let states: Vec<&PodState> = pods.iter().collect();
        let facts = Facts {
            fleet: "default",
            key: &key,
            mode: Mode::Enforce,
            spec: &spec,
            annotations: &annotations,
            states: &states,
            unseen: Duration::ZERO,
            measured: &Measured::default(),
            p95: &p95,
            command: "",
            now: Moment::from_secs(START + 8),
        };
        // With two pods the sum itself is at 10 %: it has to be kept out of the way.
        let spec = HedgePolicySpec { guardrails: wide(&spec, all), ..spec.clone() };
        let outcome = decide(&active, &Facts { spec: &spec, ..facts });
        assert_eq!(outcome.decision.is_some(), trips, "{bad} of {all}");
    }
}

/// So many requests needed that the sum says nothing.
fn wide(spec: &HedgePolicySpec, pods: usize) -> hedgerow_crds::v1alpha1::hedge_policy::Guardrails {
    hedgerow_crds::v1alpha1::hedge_policy::Guardrails {
        min_requests: 60 * i64::try_from(pods).unwrap() + 1,
        ..spec.guardrails.clone()
    }
}

#[test]
fn a_restart_continues_from_the_status() {
    let rules = rules(&spec());
    let at = |seconds: u64| figure::timestamp(Moment::from_secs(START + seconds)).to_string();
    let status = |state: &str, reason: &str, until: Option<u64>| -> CohortStatus {
        serde_json::from_value(serde_json::json!({
            "name": "stream", "state": state, "reason": reason, "since": at(0), "until": until.map(at),
            "transition": 7, "trips": 2, "trippedAt": [at(0)], "sharePercentNow": 0, "lastHandledResume": "1",
        }))
        .unwrap()
    };
    let now = Moment::from_secs(START + 3);
    let tripped = Standing::restore(&status("Suspended", "ExtraSpendExceeded", Some(10)), &rules, now);
    assert_eq!((tripped.latch.state, tripped.latch.transition), (State::Suspended, 7));
    assert_eq!(tripped.latch.until, Some(Moment::from_secs(START + 10)));
    assert_eq!(tripped.latch.cooldown, Duration::from_secs(10), "the second trip of a series");
    assert_eq!(tripped.latch.last_trip.unwrap().signal.as_str(), "extraSpend");
    assert!(!tripped.latch.manual && !tripped.latch.held);

    let mut bench = Bench { standing: tripped, now: START + 3, ..Bench::new() };
    bench.annotations.insert("hedgerow.dev/resume.stream".into(), "1".into());
    assert!(bench.look(5).decision.is_none(), "neither the cooldown nor the old resume");
    let trial = bench.look(3).decision.expect("cooldown over");
    assert_eq!((trial.to, trial.transition), (State::Trial, 8));

    let held = Standing::restore(&status("Suspended", "Suspended", Some(60)), &rules, now);
    assert!(held.latch.held && !held.latch.manual);
    let manual = Standing::restore(&status("Suspended", "WinRateTooLow", None), &rules, now);
    assert!(manual.latch.manual && !manual.latch.held);
    assert_eq!(super::super::why(&manual, now), "WinRateTooLow, until resumed by hand");
}
