//! `hedgerow standalone` with real gateway processes and scripted providers: files in, answers out, decisions in between.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod bench;
mod certificate;
mod decisions;
mod files;
mod killed;
mod ports;
mod spend;
