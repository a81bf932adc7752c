//! The hygiene of the tree: what a reviewer would otherwise have to check by eye on every change.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod chart;
mod dependencies;
mod names;
mod readme;
mod size;
mod tree;
