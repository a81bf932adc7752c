//! Whether the simulator speaks of the real gateway: one short scenario in virtual time and over real sockets.
//!
//! Inputs: `world`, which says the scenario once for both. Outputs: counts of both, held against each other by what seeds
//! say of chance (`odds`). Nothing else runs in this program, and a busy machine is measured and not guessed (`sockets`).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "tests over real sockets read the real clock")]

mod odds;
mod sockets;
mod world;

use hedgerow::replay::model::Arm;

use odds::{Expected, QUANTILES};

/// Lateness from which a run says nothing: half of what lies between a hedge's answer and that of a straggler.
const TOO_LATE: f64 = 0.3;
/// Runs, until one was not late. Which one counts is decided by calls that are not compared.
const RUNS: usize = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_over_sockets_hedges_and_answers_as_the_simulator_says() {
    let expected = Expected::of(&Arm::policy("hedgerow", world::policy()));
    let mut found = sockets::run().await;
    for _ in 1..RUNS {
        if found.late <= TOO_LATE {
            break;
        }
        println!("the machine was late by {:.3} s: once more", found.late);
        found = sockets::run().await;
    }
    assert!(
        found.late <= TOO_LATE,
        "late by {:.3} s in each of {RUNS} runs: a busier machine than that",
        found.late
    );
    println!("{}", expected.beside(&found));
    assert_eq!(found.failed, 0, "nothing fails in this scenario");
    for (place, (name, _)) in QUANTILES.iter().enumerate() {
        let at = expected.at[place];
        let (early, late) = (found.longer(at), found.longer(at + found.late));
        let (low, high) = expected.longer[place].bounds();
        assert!(
            early >= low && late <= high,
            "{name} {at:.3} s: {early} to {late}, allowed {low:.1} to {high:.1}"
        );
    }
    let (low, high) = expected.hedges.bounds();
    let hedges = found.hedges as f64;
    assert!((low..=high).contains(&hedges), "{hedges} hedges, allowed {low:.1} to {high:.1}");
    let (low, high) = expected.won.bounds();
    let won = found.wins as f64 / hedges;
    assert!((low..=high).contains(&won), "{won:.3} of the hedges won, allowed {low:.3} to {high:.3}");

    // What is allowed tells a gateway that does not hedge from one that does.
    let none = Expected::of(&Arm::none());
    let (_, most) = expected.longer[2].bounds();
    let unhedged = none.mean_longer(expected.at[2] + found.late);
    assert!(
        unhedged > most,
        "without hedges {unhedged:.1} calls wait longer than p99: {most:.1} are allowed"
    );
}
