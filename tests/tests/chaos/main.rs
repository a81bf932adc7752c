//! Chaos on the wire: resets, stalls, garbage and aborts on both sides, in both versions of HTTP, with hedges and retries.
//!
//! A gateway process of its own between clients and providers that misbehave as a seed says. Must hold: no answer holds
//! bytes of two attempts and every byte is one that its provider sent; nothing stays held; nobody panics; what was booked
//! is what the providers saw and what they billed; and not one planted word of a prompt, an answer or a key is in a log line, a record or a
//! metric, at the most talkative log level.
//!
//! Inputs: `HEDGEROW_CHAOS`, the number of user actions, or for how many minutes, as in `30min` (20,000 user actions unless
//! set; `tests/run soak` plays 200,000, then half an hour). Outputs: the figures of the run.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails where it stands")]
#![allow(clippy::print_stdout, reason = "a run tells its figures")]
#![allow(clippy::disallowed_methods, reason = "the environment says how long the test runs")]

mod bills;
mod book;
mod certificate;
mod client;
mod garbage;
mod ledger;
mod plan;
mod provider_http1;
mod provider_http2;
mod run;
mod script;
mod stand;
mod verdict;

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use book::Book;
use hedgerow_config::{money::Picos, state::SpendState};
use hedgerow_tests::canary;
use ledger::Ledger;
use run::{Length, Run};
use serde_json::Value;
use stand::{ROUTES, Stand};

/// The one seed.
const SEED: u64 = 0x0068_6564_6765_726f;
/// User actions unless the environment says more.
const ACTIONS: u32 = 20_000;

/// How long the environment wants the run to be.
fn length() -> Length {
    let Ok(text) = std::env::var("HEDGEROW_CHAOS") else { return Length::Actions(ACTIONS) };
    let number = |text: &str| {
        text.parse().expect("HEDGEROW_CHAOS is a number of user actions, or of minutes with `min`")
    };
    match text.strip_suffix("min") {
        Some(minutes) => Length::Time(Duration::from_mins(u64::from(number(minutes)))),
        None => Length::Actions(number(&text)),
    }
}
/// What memory may grow by between the second tenth and the end: fragments, and pools at their largest.
const GROWTH: u64 = 24 * 1024 * 1024;

/// Waits until nothing is held, on either side.
async fn settled(stand: &Stand, book: &Book) {
    let waited = tokio::time::timeout(Duration::from_secs(20), async {
        loop {
            let held = stand.in_flight().await;
            let zero = |value: &Value| value.as_u64() == Some(0);
            if held.as_object().unwrap().values().all(zero) && book.open() == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    let leaked = waited.await.is_err();
    let held = stand.in_flight().await;
    assert!(!leaked, "still held: {held} in the gateway, {} attempts at providers", book.open());
}

/// Waits until the sockets of the run are closed but for one connection per route over HTTP/2: idle ones are closed after
/// half a minute.
async fn closed(stand: &Stand, before: usize, http2: &AtomicUsize) {
    let kept = ROUTES.iter().filter(|route| route.http2).count();
    let open = || (stand.descriptors() - before, http2.load(Ordering::Relaxed));
    let waited = tokio::time::timeout(Duration::from_secs(45), async {
        while open().0 > kept || open().1 > kept {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    });
    let leaked = waited.await.is_err();
    assert!(
        !leaked,
        "{kept} connections are to be kept; descriptors and connections over HTTP/2: {:?}",
        open()
    );
}

/// Whether records were dropped, so that nothing can be held against them.
async fn dropped(stand: &Stand) -> bool {
    let metrics = stand.admin("/metrics").await;
    let count = metrics.lines().find_map(|line| line.strip_prefix("hedgerow_records_dropped_total "));
    count.expect("the count of lost records") != "0"
}

/// What was booked is what the providers saw.
fn check_books(ledger: &Ledger, booked: u64, total: u32, book: &Book) {
    let (balance, wrong) = ledger.balance(total, book);
    println!(
        "{booked} attempts booked, {} seen by providers, {} gone before they were seen, {} sent once more",
        balance.seen, balance.unseen, balance.repeated
    );
    println!("{} records of attempts, {} of user actions", ledger.attempts, ledger.actions);
    let first = wrong[..wrong.len().min(10)].join("\n");
    assert!(wrong.is_empty(), "{} actions are not booked as they were seen:\n{first}", wrong.len());
    assert_eq!(balance.seen, book.len() as u64, "attempts of unknown user actions");
    assert_eq!(booked + balance.repeated, balance.seen + balance.unseen, "attempts in the metrics and seen");
    assert!(balance.unseen * 5 < balance.seen, "{balance:?}: too many to believe in");
}

/// What was paid is what was billed where that was told, and never more.
fn check_bills(ledger: &Ledger, spent: &SpendState, book: &Book) {
    let (sums, wrong) = bills::settle(ledger, book);
    println!(
        "{} attempts were billed {} micro-units and booked exactly ({} of them have a row); {} lower bounds of {} in all for \
         bills of {}; {} attempts that no provider saw, booked at {}",
        sums.exact.0,
        sums.exact.1,
        sums.exact_rows,
        sums.lower_rows,
        sums.lower,
        sums.lower_billed,
        sums.unseen_rows,
        sums.unseen
    );
    let first = wrong[..wrong.len().min(10)].join("\n");
    assert!(wrong.is_empty(), "{} attempts are not booked as they were billed:\n{first}", wrong.len());
    let micros = |picos: Picos| picos.0 / 1_000_000;
    let exact = Picos(spent.total.0 - spent.estimated.0);
    assert_eq!(micros(exact), u128::from(sums.exact.1), "what is known exactly: {spent:?}");
    assert_eq!(micros(spent.estimated), u128::from(sums.lower + sums.unseen), "lower bounds: {spent:?}");
    let roles = spent.winners.0 + spent.losers.0 + spent.retries.0;
    assert_eq!(roles, spent.total.0, "{spent:?}");
}

/// Every answer was one, and everything that can happen did.
fn check_answers(run: &Run, total: u32, book: &Book, ledger: &Ledger) {
    let wrong = run.wrong();
    let tell = |(action, what): &(u32, String)| {
        format!("{what}\n  providers: {}\n  gateway: {}\n", book.tell(*action), ledger.tell(*action))
    };
    let first: String = wrong.iter().take(5).map(tell).collect();
    assert!(wrong.is_empty(), "{} answers are wrong, the first:\n{first}", wrong.len());
    let tally = run.tally();
    for what in ["whole", "cut", "refused", "failed", "left", "hedged", "attempts 3", "attempts 0"] {
        let count = tally.get(what).copied().unwrap_or(0);
        assert!(count >= u64::from(total / 2_000), "hardly any {what}: {tally:?}");
    }
    let refused = tally.get("attempts 0").copied().unwrap_or(0);
    assert!(refused * 4 < u64::from(total), "most of it must reach a provider: {tally:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_mixed_lost_held_or_told_whoever_breaks_off_and_when() {
    let book: &'static Book = Box::leak(Box::new(Book::new(SEED)));
    let pki = certificate::of_localhost();
    let (http2, http2_connections) = provider_http2::start(book, pki.server).await;
    let stand = Stand::start(provider_http1::start(book).await, http2, &pki.ca).await;
    let run: &'static Run = Box::leak(Box::new(Run::new(length(), book)));

    let (started, descriptors) = (Instant::now(), stand.descriptors());
    let memory = run.play(&stand).await;
    let total = run.actions();
    settled(&stand, book).await;
    println!("{total} user actions in {:.1} s: {:?}", started.elapsed().as_secs_f64(), run.tally());
    println!("memory at each tenth: {:?} MiB", memory.iter().map(|bytes| bytes >> 20).collect::<Vec<_>>());
    println!("{} connections to the provider over HTTP/2", http2_connections.load(Ordering::Relaxed));
    closed(&stand, descriptors, &http2_connections).await;

    let (booked, dropped) = (stand.attempts().await, dropped(&stand).await);
    assert!(!dropped, "records were dropped, so nothing can be held against them");
    let spent = stand.spend().await;
    let ledger = stand.stop().await;
    check_answers(run, total, book, &ledger);
    check_books(&ledger, booked, total, book);
    check_bills(&ledger, &spent, book);
    let (early, late) = (memory[1], memory[9]);
    assert!(late < early + GROWTH, "memory grew from {early} to {late} bytes");
}
