//! Conservation under any interleaving, the bound on attempts, and the order hedges before retries.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use proptest::prelude::*;

use super::*;

const START: Moment = Moment::from_secs(1_000);

fn at(millis: u64) -> Moment {
    START + Duration::from_millis(millis)
}

fn pair(rule: &Rule) -> (Bucket, Bucket) {
    (Bucket::new(rule, START), Bucket::pod(rule, START))
}

#[test]
fn start_cap_and_floor_follow_the_replicas() {
    for (replicas, start, lo, hi) in [
        (1, 5_000, 10_000, 50_000),
        (4, 1_250, 10_000, 12_500),
        (10, 1_000, 5_000, 5_000),
        (100, 1_000, 2_000, 2_000),
    ] {
        let bucket = Bucket::new(&Rule { replicas, ..Rule::default() }, START);
        assert_eq!(bucket.balance_milli(), start, "start at {replicas}");
        assert_eq!(bucket.cap_milli(START), lo, "quiet cap at {replicas}");
        (0..10_000).for_each(|_| {
            bucket.deposit(START);
        });
        assert_eq!(bucket.cap_milli(START), hi, "busy cap at {replicas}");
    }
}

#[test]
fn hedging_stops_before_retries_do() {
    let (model, pod) = pair(&Rule { retry_reserve_per_second: 0, ..Rule::default() });
    let mut hedges = 0;
    while take(&model, &pod, Spend::Hedge, START).is_ok() {
        hedges += 1;
    }
    // Start 5, floor 1 + 25 % of the quiet cap of 10 = 3.5: two hedges, then three retries.
    assert_eq!(hedges, 2);
    let mut retries = 0;
    while take(&model, &pod, Spend::Retry, START).is_ok() {
        retries += 1;
    }
    assert_eq!((retries, model.balance_milli()), (3, 0));
}

#[test]
fn a_refusal_of_the_pod_leaves_the_model_untouched() {
    let rule = Rule { retry_reserve_per_second: 0, ..Rule::default() };
    let (model, pod) = (Bucket::new(&rule, START), Bucket::new(&rule, START));
    while pod.withdraw(Spend::Retry, START).is_some() {}
    let before = model.balance_milli();
    assert_eq!(take(&model, &pod, Spend::Retry, START), Err(Empty::Pod));
    assert_eq!(model.balance_milli(), before);
    while model.withdraw(Spend::Retry, START).is_some() {}
    assert_eq!(take(&model, &pod, Spend::Retry, START), Err(Empty::Model));
}

#[test]
fn retries_have_a_reserve_and_hedges_have_none() {
    let (model, pod) = pair(&Rule::default());
    while take(&model, &pod, Spend::Retry, START).is_ok() {}
    assert_eq!(take(&model, &pod, Spend::Hedge, at(1_000)), Err(Empty::Model));
    let grant = take(&model, &pod, Spend::Retry, at(1_000)).expect("one second has accrued");
    assert_eq!(take(&model, &pod, Spend::Retry, at(1_000)), Err(Empty::Model));
    refund(&model, &pod, grant);
    assert!(take(&model, &pod, Spend::Retry, at(1_000)).is_ok());
}

#[test]
fn nothing_is_deposited_while_most_requests_fail() {
    let bucket = Bucket::new(&Rule::default(), START);
    (0..9).for_each(|_| bucket.settle(START, false));
    assert_eq!(bucket.deposit(START), 100, "nine failures are too few to judge");
    bucket.settle(START, false);
    assert_eq!(bucket.deposit(START), 0);
    (0..10).for_each(|_| bucket.settle(START, true));
    assert_eq!(bucket.deposit(START), 100, "half is not most");
    (0..20).for_each(|_| bucket.settle(START, false));
    assert_eq!(bucket.deposit(START), 0);
    assert_eq!(bucket.deposit(at(30_000)), 100, "30 s later it is forgotten");
}

#[test]
fn a_changed_rule_cuts_the_balance_to_its_maximum() {
    let bucket = Bucket::new(&Rule::default(), START);
    (0..1_000).for_each(|_| {
        bucket.deposit(START);
    });
    assert!(bucket.balance_milli() > 40_000);
    bucket.set_rule(&Rule { replicas: 50, ..Rule::default() });
    assert_eq!(bucket.balance_milli(), 2_000);
}

#[test]
fn a_total_outage_costs_no_more_than_the_bound() {
    let rule = Rule::default();
    let (model, pod) = pair(&rule);
    let (mut originals, mut attempts) = (0_u64, 0_u64);
    // 600 s at 50 rps: healthy for a minute (so that the bucket is full), then every attempt fails.
    for step in 0..30_000_u64 {
        let now = at(step * 20);
        let outage = step >= 3_000;
        deposit(&model, &pod, now);
        originals += 1;
        attempts += 1;
        if outage {
            while attempts < originals * 3 && take(&model, &pod, Spend::Retry, now).is_ok() {
                attempts += 1;
            }
        }
        model.settle(now, !outage);
        pod.settle(now, !outage);
    }
    let bound = originals * 11 / 10 + 50 + 600;
    assert!(attempts <= bound, "{attempts} attempts, bound {bound}");
    // Deposits stop, so the real figure is far below: the bucket, the lag of the outcome window, the reserve.
    assert!(attempts <= originals + 50 + 30 * 50 / 10 + 600, "{attempts} of {originals}");
}

#[test]
fn threads_neither_lose_nor_invent_tokens() {
    let rule = Rule { retry_reserve_per_second: 0, ..Rule::default() };
    let (model, pod) = pair(&rule);
    let (credited, taken) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let (model, pod, credited, taken) = (&model, &pod, &credited, &taken);
            scope.spawn(move || {
                for i in 0..4_000_u64 {
                    let now = at(i);
                    credited.fetch_add(model.deposit(now), Relaxed);
                    pod.deposit(now);
                    let spend = if i % 2 == 0 { Spend::Retry } else { Spend::Hedge };
                    match take(model, pod, spend, now) {
                        // The balance stays near zero here, so no refund is cut at the maximum.
                        Ok(grant) if (i + thread) % 5 == 0 => refund(model, pod, grant),
                        Ok(_) => {
                            taken.fetch_add(TOKEN, Relaxed);
                        }
                        Err(_) => {}
                    }
                }
            });
        }
    });
    let balance = 5_000 + credited.load(Relaxed) - taken.load(Relaxed);
    assert_eq!(model.balance_milli(), balance);
}

#[derive(Clone, Debug)]
enum Step {
    Deposit,
    Take(bool),
    Refund,
    Settle(bool),
    Wait(u64),
    Replicas(u32),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Deposit),
        3 => any::<bool>().prop_map(Step::Take),
        1 => Just(Step::Refund),
        2 => any::<bool>().prop_map(Step::Settle),
        1 => (0_u64..20_000).prop_map(Step::Wait),
        1 => (0_u32..20).prop_map(Step::Replicas),
    ]
}

proptest! {
    #[test]
    fn the_balance_stays_between_zero_and_its_maximum(steps in prop::collection::vec(step(), 1..300)) {
        let mut rule = Rule::default();
        let (model, pod) = pair(&rule);
        let (mut now, mut grants) = (START, Vec::new());
        for step in steps {
            match step {
                Step::Deposit => deposit(&model, &pod, now),
                Step::Take(hedge) => {
                    let before = (model.balance_milli(), pod.balance_milli());
                    let spend = if hedge { Spend::Hedge } else { Spend::Retry };
                    if let Ok(grant) = take(&model, &pod, spend, now) { grants.push(grant) } else { prop_assert_eq!((model.balance_milli(), pod.balance_milli()), before) }
                }
                Step::Refund => {
                    if let Some(grant) = grants.pop() {
                        refund(&model, &pod, grant);
                    }
                }
                Step::Settle(ok) => model.settle(now, ok),
                Step::Wait(millis) => now += Duration::from_millis(millis),
                Step::Replicas(replicas) => {
                    rule.replicas = replicas;
                    model.set_rule(&rule);
                    pod.set_rule(&rule);
                }
            }
            let hi = |factor: u64| (factor * 50_000 / u64::from(rule.replicas.max(1))).max(2_000);
            prop_assert!(model.balance_milli() <= hi(1));
            prop_assert!(pod.balance_milli() <= hi(4));
        }
    }
}
