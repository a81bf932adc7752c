//! Whether a cohort may hedge at all.
//!
//! Hedging is worth its cost only while a few numbers stay small, and those numbers depend on providers, prompts
//! and prices that nobody controls. So each cohort is watched, and a breach suspends *hedging*, never requests.
//!
//! Flow, every step a pure function of its arguments:
//!
//! [`Tally`] (what happened) -> [`Ring`] (10 min in 10 s buckets, Unix-aligned, addable over pods) -> [`windows`] (short
//! and long sums) -> [`evaluate`] (one [`Reading`] per signal) -> [`step`] (the latch; one [`Transition`] at most).
//!
//! **Hysteresis.** A maximum trips when the short window is at its trip value *and* the long one is at its re-arm value
//! or above: at once on a real breach, not on one bad minute; or the other way round, which finds a small breach that
//! lasts. A minimum trips when both windows are below it. Either only beyond chance, of which small counts have a lot
//! (`chance.rs`). A tripped cohort cools down (60 s, doubling to 30 min while trips repeat, forgotten after a clean hour), then runs a *trial*
//! at the ramp's first share; only a trial whose value stays below the re-arm value brings hedging back, and back means
//! the ramp again. After `maxTripsPerDay` trips, or with `recovery: Manual`, a person decides. With a signal hovering
//! around its threshold this settles at one transition in 10 min at most; the tests hold it to that.
//!
//! **Little data.** Below `minRequests` a signal is [`Standing::Insufficient`], which neither trips nor clears. Windows
//! widen to what the ring holds, and then over sums of the last day, before they say so.
//!
//! **Blindness.** Only the operator trips. One that has seen too little of a cohort for `blind.after` suspends it until it
//! sees again. A pod whose operator has been silent as long may act alone ([`blind`]), since nobody else would.
//!
//! Rates are ratios of integers and compared by cross-multiplication; rounding is for display. `transition` only grows
//! and orders the latch's writes.

mod chance;
mod evaluate;
mod latch;
mod machine;
mod ring;
mod rules;
mod signal;
mod tally;
#[cfg(test)]
mod tests;
mod window;

pub use evaluate::{Context, Evaluation, Reading, Standing, TailGain, evaluate};
pub use latch::{Cause, Hold, Latch, State, Transition, Trip, Wish};
pub use machine::step;
pub use ring::{BUCKET, RING, Ring};
pub use rules::{BlindAction, ErrorRate, Maximum, Ramp, Recovery, Rules, WinRate};
pub use signal::{Ratio, Signal};
pub use tally::Tally;
pub use window::{Past, Windows, widen, windows};

use std::time::Duration;

use crate::time::Moment;

/// Whether nobody has watched for `after`: the last heartbeat of an operator is at least that old.
pub fn blind(now: Moment, heartbeat: Moment, after: Duration) -> bool {
    now - heartbeat >= after
}
