//! The budget between threads: whatever the order of their steps, no token is given twice, lost or held half.

use std::{sync::Arc, time::Duration};

use hedgerow_policy::{
    budget::{self, Bucket, Rule, Spend, TOKEN},
    time::Moment,
};
use loom::{model::Builder, thread};

/// Every order in which two or three threads can be interrupted so often.
fn every_order(interruptions: usize, play: impl Fn() + Sync + Send + 'static) {
    let mut model = Builder::new();
    model.preemption_bound = Some(interruptions);
    model.max_duration = Some(Duration::from_mins(5));
    model.check(play);
}

fn now() -> Moment {
    Moment::from_secs(100)
}

/// A rule without a reserve, so that only the balance gives.
fn rule(cap: u32) -> Rule {
    Rule { ratio_percent: 100, cap, retry_reserve_per_second: 0, replicas: 1 }
}

/// A model's bucket with so many tokens, and the pod's with more.
fn buckets(tokens: u64) -> (Arc<Bucket>, Arc<Bucket>) {
    let (model, pod) = (Bucket::new(&rule(50), now()), Bucket::pod(&rule(50), now()));
    while model.balance_milli() > tokens * TOKEN {
        drop(budget::take(&model, &pod, Spend::Retry, now()).unwrap());
    }
    (Arc::new(model), Arc::new(pod))
}

#[test]
fn the_last_token_is_given_to_one_and_the_other_leaves_both_buckets_alone() {
    every_order(3, || {
        let (model, pod) = buckets(1);
        let before = pod.balance_milli();
        let (own, owned) = (model.clone(), pod.clone());
        let other = thread::spawn(move || budget::take(&own, &owned, Spend::Retry, now()).is_ok());
        let here = budget::take(&model, &pod, Spend::Retry, now()).is_ok();
        let there = other.join().unwrap();
        assert!(here != there, "one token was given to {} takers", u32::from(here) + u32::from(there));
        assert_eq!((model.balance_milli(), before - pod.balance_milli()), (0, TOKEN));
    });
}

#[test]
fn a_refund_and_a_withdrawal_at_once_lose_nothing() {
    every_order(3, || {
        let (model, pod) = buckets(1);
        let before = pod.balance_milli();
        let grant = budget::take(&model, &pod, Spend::Retry, now()).unwrap();
        let (own, owned) = (model.clone(), pod.clone());
        let other = thread::spawn(move || budget::take(&own, &owned, Spend::Retry, now()).is_ok());
        budget::refund(&model, &pod, grant);
        let taken = u64::from(other.join().unwrap()) * TOKEN;
        assert_eq!(model.balance_milli(), TOKEN - taken);
        assert_eq!(pod.balance_milli(), before - taken);
    });
}

#[test]
fn a_refund_never_lifts_the_balance_over_a_maximum_that_shrinks_at_the_same_time() {
    every_order(3, || {
        let (model, pod) = buckets(4);
        let grant = budget::take(&model, &pod, Spend::Retry, now()).unwrap();
        let own = model.clone();
        // The smallest maximum there is: two tokens.
        let other = thread::spawn(move || own.set_rule(&rule(2)));
        budget::refund(&model, &pod, grant);
        other.join().unwrap();
        assert!(model.balance_milli() <= 2 * TOKEN, "{} of {}", model.balance_milli(), 2 * TOKEN);
    });
}

#[test]
fn originals_that_arrive_at_once_are_all_counted_also_in_a_new_slot() {
    every_order(2, || {
        let bucket = Arc::new(Bucket::new(&rule(50), Moment::from_secs(1)));
        for _ in 0..10 {
            bucket.deposit(now());
        }
        let own = bucket.clone();
        // Nobody has counted in this slot yet.
        let next = Moment::from_secs(101);
        let other = thread::spawn(move || own.deposit(next));
        bucket.deposit(next);
        other.join().unwrap();
        assert_eq!(bucket.cap_milli(next), 12 * TOKEN);
    });
}

#[test]
fn the_reserve_gives_what_has_accrued_to_one() {
    every_order(3, || {
        let empty = Rule { ratio_percent: 0, cap: 0, retry_reserve_per_second: 1, replicas: 1 };
        let bucket = Arc::new(Bucket::new(&empty, now()));
        let plenty = Arc::new(Bucket::pod(&rule(50), now()));
        while bucket.balance_milli() > 0 {
            drop(budget::take(&bucket, &plenty, Spend::Retry, now()).unwrap());
        }
        let then = Moment::from_secs(101);
        let (own, owned) = (bucket.clone(), plenty.clone());
        let other = thread::spawn(move || budget::take(&own, &owned, Spend::Retry, then).is_ok());
        let here = budget::take(&bucket, &plenty, Spend::Retry, then).is_ok();
        assert!(here != other.join().unwrap());
    });
}
