//! The chart on a real Kubernetes: installed, upgraded, removed, and what its admission policies refuse to whom.
//!
//! Scenarios share one cluster (`tests/cluster`), each needs it without Hedgerow in it, so they run one after the other. In
//! `tests/run` they come before those of the target `cluster`, on the fresh cluster; by hand: `HEDGEROW_CLUSTER=/tmp/mine
//! cargo test -p hedgerow-tests --test release`. Images are those in `HEDGEROW_IMAGES`, or what `images/build` has
//! left in `target/images`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod authors;
mod everywhere;
mod explanation;
mod first_answer;
mod on_call;
mod readme;
mod stand;
mod stolen_token;
mod upgrade;
mod values;
