//! Admission and hedge bookkeeping allocate nothing once their tables have grown, and a scan of a body never does.

use hedgerow_bench::{bookkeeping::Pod, prompt};
use hedgerow_gateway::wire::scan::scan;

/// Enough for every tenant, window and queue to have been met.
const GROWN: u32 = 20_000;

#[test]
fn admission_and_hedge_bookkeeping_allocate_nothing() {
    let mut pod = Pod::default();
    for _ in 0..GROWN {
        pod.action();
    }
    let counted = allocation_counter::measure(|| {
        for _ in 0..GROWN {
            pod.action();
        }
    });
    assert_eq!(counted.count_total, 0, "{counted:?} in {GROWN} user actions");
}

#[test]
fn scanning_a_body_allocates_nothing() {
    for (bytes, code) in [(1_024, false), (100_000, false), (100_000, true)] {
        let body = prompt::chat(bytes, code, true);
        let mut found = None;
        let counted = allocation_counter::measure(|| found = scan(&body).ok());
        assert!(found.is_some_and(|scan| scan.stream()));
        assert_eq!(counted.count_total, 0, "{bytes} bytes, code: {code}");
    }
}

#[test]
fn the_counter_sees_an_allocation() {
    let counted = allocation_counter::measure(|| drop(std::hint::black_box(vec![1_u8; 100])));
    assert_eq!(counted.count_total, 1);
}
