//! Permits between threads: the limit holds at every moment, and what was held comes back exactly once.

use hedgerow_policy::gauge::Gauge;
use loom::thread;

#[test]
fn of_two_who_want_the_last_place_one_gets_it() {
    loom::model(|| {
        let gauge = Gauge::default();
        let own = gauge.clone();
        let other = thread::spawn(move || own.hold_within(1, 1));
        let here = gauge.hold_within(1, 1);
        let there = other.join().unwrap();
        assert!(here.is_some() != there.is_some());
        assert_eq!(gauge.get(), 1);
        drop((here, there));
        assert_eq!(gauge.get(), 0);
    });
}

#[test]
fn a_place_that_comes_back_while_another_is_wanted_is_never_counted_twice() {
    loom::model(|| {
        let gauge = Gauge::default();
        let held = gauge.hold_within(1, 2).unwrap();
        let (one, two) = (gauge.clone(), gauge.clone());
        let first = thread::spawn(move || one.hold_within(1, 2).is_some());
        let second = thread::spawn(move || two.hold_within(2, 2).is_some());
        drop(held);
        let (first, second) = (first.join().unwrap(), second.join().unwrap());
        assert!(first || second, "there was always room for the first, unless the second had taken all");
        assert_eq!(gauge.get(), 0);
    });
}

#[test]
fn what_grows_and_shrinks_at_once_stays_within_its_limit() {
    loom::model(|| {
        let gauge = Gauge::default();
        let mut here = gauge.hold_within(2, 4).unwrap();
        let own = gauge.clone();
        let other = thread::spawn(move || {
            let mut there = own.hold_within(1, 4).expect("room for one");
            let grown = there.grow_within(2, 4);
            assert_eq!(there.amount(), if grown { 3 } else { 1 });
            assert!(own.get() <= 4);
        });
        here.shrink_to(1);
        other.join().unwrap();
        assert_eq!(gauge.get(), 1);
        drop(here);
        assert_eq!(gauge.get(), 0);
    });
}
