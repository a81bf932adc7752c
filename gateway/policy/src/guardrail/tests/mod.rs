//! Windows and signals as tables, the latch as a story, noise and a real breach as simulations.

mod chance;
mod hysteresis;
mod latch;
mod signals;

use std::time::Duration;

use super::*;
use crate::gate::Mode;
use crate::time::Moment;

/// 2026-01-01 00:00 UTC.
const START: Moment = Moment::from_secs(1_767_225_600);

fn at(seconds: u64) -> Moment {
    START + Duration::from_secs(seconds)
}

/// Traffic of 10 s: originals at 1,000 units each, `hedges` of them hedged at 100 more, half of those won.
fn tally(originals: u64, hedges: u64) -> Tally {
    Tally {
        originals,
        hedges,
        hedge_wins: hedges / 2,
        primaries_cost: u128::from(originals) * 1_000,
        hedges_cost: u128::from(hedges) * 100,
        primaries_alone_cost: u128::from(originals) * 1_000,
        ..Tally::default()
    }
}

/// A ring that has seen the same tally in each of the last `buckets` buckets before `now`.
fn ring(now: Moment, buckets: u64, tally: &Tally) -> Ring {
    let mut ring = Ring::new();
    for age in 0..buckets {
        *ring.at(now - BUCKET * age as u32) = *tally;
    }
    ring
}

fn look(ring: &Ring, now: Moment, rules: &Rules) -> Evaluation {
    evaluate(rules, &windows(ring, now, rules), &Context::default())
}

fn enforce() -> Wish {
    Wish { mode: Mode::Enforce, ..Wish::default() }
}

fn standing(evaluation: &Evaluation, signal: Signal) -> Option<Standing> {
    evaluation.readings().iter().find(|reading| reading.signal == signal).map(|reading| reading.standing)
}
