//! One test per rule, with the cause of every change asserted, and a property over random schedules.

use proptest::prelude::*;
use std::time::Duration;

use super::*;
use crate::time::Moment;

const LEASE: Duration = Duration::from_secs(10);
const OK: Outcome = Outcome::FirstToken { elapsed: Duration::from_millis(500), expected: None };

fn at(millis: u64) -> Moment {
    Moment::from_millis(100_000 + millis)
}

fn send(breaker: &mut Breaker, now: Moment, outcome: Outcome) -> Option<Change> {
    let pass = breaker.admit(now, false, LEASE).expect("usable");
    breaker.report(now, pass, outcome, 0)
}

fn first_token(elapsed: u64) -> Outcome {
    Outcome::FirstToken {
        elapsed: Duration::from_millis(elapsed),
        expected: Some(Duration::from_millis(600)),
    }
}

/// A breaker that opened at `at(0)` for exactly 2.5 s (no jitter drawn is not possible: at most 5 s).
fn opened() -> (Breaker, Moment) {
    let mut breaker = Breaker::new(Rule::default());
    (0..5).for_each(|_| {
        send(&mut breaker, at(0), Outcome::Failure);
    });
    let Err(Refusal::Open(until)) = breaker.usable(at(0)) else { panic!("not open") };
    (breaker, until)
}

#[test]
fn five_failures_in_a_row_open_and_a_success_starts_the_count_again() {
    let mut breaker = Breaker::new(Rule::default());
    for _ in 0..4 {
        assert_eq!(send(&mut breaker, at(0), Outcome::Failure), None);
    }
    send(&mut breaker, at(0), OK);
    for _ in 0..4 {
        assert_eq!(send(&mut breaker, at(0), Outcome::Failure), None);
    }
    let change = send(&mut breaker, at(0), Outcome::Failure);
    assert_eq!(change, Some(Change { from: State::Closed, to: State::Open, cause: Cause::Consecutive }));
    let Err(Refusal::Open(until)) = breaker.usable(at(0)) else { panic!("not open") };
    assert!(until >= at(2_500) && until <= at(5_000));
}

#[test]
fn half_of_twenty_results_open_at_any_rate() {
    for gap in [1, 100, 1_400] {
        let mut breaker = Breaker::new(Rule::default());
        let mut last = None;
        for i in 0..20 {
            last = send(&mut breaker, at(i * gap), if i % 2 == 0 { OK } else { Outcome::Failure });
            assert_eq!(last.is_some(), i == 19, "result {i} at a gap of {gap} ms");
        }
        assert_eq!(last.map(|change| change.cause), Some(Cause::Ratio));
    }
}

#[test]
fn an_idle_gap_forgets_the_window() {
    let mut breaker = Breaker::new(Rule { consecutive_failures: 0, ..Rule::default() });
    (0..19).for_each(|_| {
        send(&mut breaker, at(0), Outcome::Failure);
    });
    assert_eq!(send(&mut breaker, at(1 << 40), Outcome::Failure), None);
}

#[test]
fn throttling_waits_as_asked_and_is_no_failure() {
    let mut breaker = Breaker::new(Rule::default());
    let retry_after = Some(Duration::from_secs(7));
    let passes: Vec<Pass> = (0..20).map(|_| breaker.admit(at(0), false, LEASE).expect("closed")).collect();
    for (i, pass) in passes.into_iter().enumerate() {
        let change = breaker.report(at(0), pass, Outcome::Throttled { retry_after }, 0);
        let expected = Change { from: State::Closed, to: State::Throttled, cause: Cause::Throttle };
        assert_eq!(change, (i == 0).then_some(expected));
    }
    assert_eq!(breaker.admit(at(6_999), true, LEASE), Err(Refusal::Throttled(at(7_000))));
    assert_eq!(breaker.throttled_until(at(0)), Some(at(7_000)));
    assert!(breaker.admit(at(7_000), false, LEASE).is_ok());
    assert_eq!(breaker.state(at(7_000)), State::Closed);
}

#[test]
fn exhausted_quota_opens_for_five_minutes() {
    let mut breaker = Breaker::new(Rule::default());
    let change = send(&mut breaker, at(0), Outcome::QuotaExhausted { retry_after: None });
    assert_eq!(change.map(|change| change.to), Some(State::QuotaOpen));
    assert_eq!(breaker.usable(at(299_999)), Err(Refusal::Quota(at(300_000))));
    assert!(breaker.admit(at(300_000), false, LEASE).expect("back-off over").is_probe());
}

#[test]
fn three_probes_one_at_a_time_start_the_recovery_ramp() {
    let (mut breaker, until) = opened();
    assert!(breaker.admit(until - Duration::from_millis(1), false, LEASE).is_err());
    for probe in 0..3 {
        let pass = breaker.admit(until, false, LEASE).expect("a probe");
        assert!(pass.is_probe());
        assert_eq!(breaker.admit(until, false, LEASE), Err(Refusal::ProbeInFlight(until + LEASE)));
        let change = breaker.report(until, pass, OK, 0);
        assert_eq!(change.is_some(), probe == 2);
    }
    assert_eq!(breaker.state(until), State::Recovering);
    for (seconds, weight) in [(0, 50), (10, 250), (20, 500), (30, 1_000)] {
        assert_eq!(breaker.weight_per_mille(until + Duration::from_secs(seconds)), weight);
    }
    let change = breaker.tick(until + Duration::from_secs(30), 0);
    assert_eq!(
        change,
        Some(Change { from: State::Recovering, to: State::Closed, cause: Cause::RampFinished })
    );
}

#[test]
fn a_failed_probe_opens_for_longer() {
    let (mut breaker, until) = opened();
    let pass = breaker.admit(until, false, LEASE).expect("a probe");
    let change = breaker.report(until, pass, Outcome::Failure, 0);
    assert_eq!(change, Some(Change { from: State::HalfOpen, to: State::Open, cause: Cause::ProbeFailed }));
    let Err(Refusal::Open(next)) = breaker.usable(until) else { panic!("not open") };
    assert!(next - until >= Duration::from_secs(5) && next - until <= Duration::from_secs(10));
}

#[test]
fn a_probe_that_never_reports_ends_with_its_lease() {
    let (mut breaker, until) = opened();
    drop(breaker.admit(until, false, LEASE).expect("a probe"));
    let change = breaker.tick(until + LEASE, 0);
    assert_eq!(change, Some(Change { from: State::HalfOpen, to: State::Open, cause: Cause::LeaseExpired }));
    assert!(breaker.admit(until + LEASE + Duration::from_mins(5), false, LEASE).is_ok());
}

#[test]
fn a_cancelled_probe_returns_its_lease_without_a_vote() {
    let (mut breaker, until) = opened();
    let pass = breaker.admit(until, false, LEASE).expect("a probe");
    let cancelled = Outcome::Cancelled { elapsed: Duration::from_secs(1), expected: None };
    assert_eq!(breaker.report(until, pass, cancelled, 0), None);
    assert!(breaker.admit(until, false, LEASE).expect("the next probe").is_probe());
}

#[test]
fn a_call_from_before_the_trip_decides_nothing() {
    let mut breaker = Breaker::new(Rule::default());
    let old = [0; 3].map(|_| breaker.admit(at(0), false, LEASE).expect("closed"));
    (0..5).for_each(|_| {
        send(&mut breaker, at(0), Outcome::Failure);
    });
    let Err(Refusal::Open(until)) = breaker.usable(at(0)) else { panic!("not open") };
    let probe = breaker.admit(until, false, LEASE).expect("a probe");
    for (pass, outcome) in old.into_iter().zip([OK, Outcome::Failure, OK]) {
        assert_eq!(breaker.report(until, pass, outcome, 0), None);
    }
    assert_eq!(breaker.state(until), State::HalfOpen);
    breaker.report(until, probe, Outcome::Failure, 0);
    assert_eq!(breaker.state(until), State::Open);
}

#[test]
fn the_last_usable_route_is_never_refused_for_being_open() {
    let (mut breaker, until) = opened();
    let pass = breaker.admit(at(1), true, LEASE).expect("fail open");
    assert_eq!(breaker.report(at(1), pass, Outcome::Failure, 0), None);
    assert_eq!(breaker.usable(at(1)), Err(Refusal::Open(until)));
}

#[test]
fn cancelled_attempts_and_losers_never_vote() {
    let mut breaker = Breaker::new(Rule::default());
    for _ in 0..100 {
        let cancelled =
            Outcome::Cancelled { elapsed: Duration::from_secs(1), expected: Some(Duration::from_secs(1)) };
        send(&mut breaker, at(0), cancelled);
        send(&mut breaker, at(0), Outcome::NoVote);
    }
    assert_eq!(breaker.tick(at(1), 0), None);
    assert_eq!(breaker.state(at(1)), State::Closed);
}

/// Feeds `rate` samples a second and ticks each second; returns the weight after each.
fn run(breaker: &mut Breaker, from: u64, seconds: u64, rate: u64, elapsed: u64) -> Vec<u16> {
    (from..from + seconds)
        .map(|second| {
            (0..rate).for_each(|_| {
                send(breaker, at(second * 1_000), first_token(elapsed));
            });
            breaker.tick(at(second * 1_000), 0);
            breaker.weight_per_mille(at(second * 1_000))
        })
        .collect()
}

#[test]
fn a_slow_route_falls_to_two_percent_and_climbs_back() {
    let mut breaker = Breaker::new(Rule::default());
    run(&mut breaker, 0, 30, 10, 600);
    let weights = run(&mut breaker, 30, 30, 10, 9_000);
    assert_eq!(weights.iter().position(|w| *w == 250), Some(14), "half of the 30 s window is slow");
    assert_eq!(weights[14 + 5..14 + 11], [62, 62, 62, 62, 62, 20]);
    assert_eq!(breaker.state(at(59_000)), State::Slow);
    let back = run(&mut breaker, 60, 60, 1, 600);
    let steps: Vec<u16> = back.iter().copied().fold(Vec::new(), |mut steps, w| {
        if steps.last() != Some(&w) {
            steps.push(w);
        }
        steps
    });
    assert_eq!(steps, [20, 50, 250, 500, 1_000]);
    assert_eq!(breaker.state(at(120_000)), State::Closed);
}

#[test]
fn a_stalled_route_is_slow_without_a_single_first_token() {
    let mut breaker = Breaker::new(Rule::default());
    assert_eq!(breaker.tick(at(0), 19), None);
    let change = breaker.tick(at(1), 20);
    assert_eq!(change, Some(Change { from: State::Closed, to: State::Slow, cause: Cause::Slow }));
}

#[test]
fn losers_cancelled_beyond_the_limit_are_known_slow_samples() {
    let mut breaker = Breaker::new(Rule::default());
    for _ in 0..20 {
        let lost = Outcome::Cancelled {
            elapsed: Duration::from_secs(2),
            expected: Some(Duration::from_millis(600)),
        };
        send(&mut breaker, at(0), lost);
    }
    assert_eq!(breaker.tick(at(1), 0).map(|change| change.cause), Some(Cause::Slow));
}

#[test]
fn a_quiet_ejected_route_probes_upwards() {
    let mut breaker = Breaker::new(Rule::default());
    breaker.tick(at(0), 20);
    let quiet: Vec<u16> = (1..300)
        .map(|s| {
            breaker.tick(at(s * 1_000), 0);
            breaker.weight_per_mille(at(s * 1_000))
        })
        .collect();
    assert_eq!((quiet[58], quiet[60], quiet[298]), (250, 500, 1_000));
}

#[test]
fn one_or_two_answers_a_minute_take_an_ejected_route_a_step_back_while_they_are_slow() {
    for (answers, weights) in [
        (&[] as &[u64], [500, 1_000]),
        (&[600], [500, 1_000]),
        (&[600, 600], [500, 1_000]),
        (&[9_000], [50, 20]),
        (&[9_000, 9_000], [50, 20]),
        (&[600, 9_000], [50, 20]),
        (&[600, 600, 9_000], [500, 1_000]),
        (&[600, 9_000, 9_000], [62, 20]),
    ] {
        let mut breaker = Breaker::new(Rule::default());
        breaker.tick(at(0), 20);
        for (minute, weight) in weights.into_iter().enumerate() {
            // Beyond the window of before the minute, and early enough that three of them have acted by its end.
            let start = minute as u64 * 60_000;
            for elapsed in answers {
                send(&mut breaker, at(start + 55_000), first_token(*elapsed));
            }
            breaker.tick(at(start + 60_000), 0);
            assert_eq!(breaker.weight_per_mille(at(start + 60_000)), weight, "{answers:?}, minute {minute}");
        }
    }
}

#[test]
fn each_probe_that_fails_doubles_the_time_before_the_next() {
    let mut breaker = Breaker::new(Rule::default());
    breaker.tick(at(0), 20);
    // Three slow answers at once whenever the weight has gone up: back at the floor within seconds.
    let (mut weight, mut ups) = (250, Vec::new());
    for second in 0..3_000 {
        let now = at(second * 1_000);
        let before = std::mem::replace(&mut weight, breaker.weight_per_mille(now));
        if weight > before {
            ups.push(second);
        }
        if second < 30 || weight > 20 {
            for _ in 0..3 {
                send(&mut breaker, now, first_token(9_000));
            }
        }
        breaker.tick(now, 0);
    }
    let pauses: Vec<u64> = ups.windows(2).map(|pair| (pair[1] - pair[0]).div_euclid(60)).collect();
    assert_eq!(pauses[..5], [2, 4, 8, 8, 8], "{ups:?}");
    // With answers as they should be it comes back as fast as ever.
    let weights = run(&mut breaker, 3_000, 60, 10, 600);
    assert_eq!(weights[59], 1_000);
}

#[test]
fn a_route_comes_back_when_ejection_is_switched_off() {
    let mut breaker = Breaker::new(Rule::default());
    breaker.tick(at(0), 20);
    breaker.set_rule(Rule { slow_percent: 0, ..Rule::default() });
    let weights = run(&mut breaker, 1, 60, 10, 9_000);
    assert_eq!((weights[0], weights[59]), (250, 1_000));
}

#[derive(Clone, Debug)]
enum Event {
    Send,
    Report(usize, u8),
    Drop(usize),
    Wait(u64),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => Just(Event::Send),
        4 => (any::<usize>(), 0_u8..6).prop_map(|(i, o)| Event::Report(i, o)),
        1 => any::<usize>().prop_map(Event::Drop),
        2 => (0_u64..20_000).prop_map(Event::Wait),
    ]
}

proptest! {
    /// Whatever happened before, a route whose attempts succeed from now on is fully back within the longest
    /// wait, a lease, and the ramps.
    #[test]
    fn half_open_is_always_left_and_every_schedule_recovers(events in prop::collection::vec(event(), 1..200)) {
        let mut breaker = Breaker::new(Rule::default());
        let (mut now, mut passes) = (at(0), Vec::new());
        for event in events {
            match event {
                Event::Send => passes.extend(breaker.admit(now, false, LEASE).ok()),
                Event::Report(i, outcome) if !passes.is_empty() => {
                    let pass = passes.swap_remove(i % passes.len());
                    let outcome = [OK, Outcome::Failure, Outcome::NoVote, first_token(9_000),
                        Outcome::Throttled { retry_after: None },
                        Outcome::QuotaExhausted { retry_after: None }][usize::from(outcome)];
                    breaker.report(now, pass, outcome, u64::from(outcome == OK) << 40);
                }
                Event::Drop(i) if !passes.is_empty() => drop(passes.swap_remove(i % passes.len())),
                Event::Wait(millis) => now += Duration::from_millis(millis),
                _ => {}
            }
            breaker.tick(now, 0);
            prop_assert!((1..=1_000).contains(&breaker.weight_per_mille(now)));
        }
        for _ in 0..1_000 {
            if let Ok(pass) = breaker.admit(now, false, LEASE) {
                breaker.report(now, pass, first_token(500), 0);
            }
            breaker.tick(now, 0);
            now += Duration::from_secs(1);
        }
        prop_assert_eq!(breaker.state(now), State::Closed);
        prop_assert_eq!(breaker.weight_per_mille(now), 1_000);
    }
}
