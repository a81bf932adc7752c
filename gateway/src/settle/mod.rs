//! What remains of an attempt when it is over: its cost, its counts, its record and its span.

pub mod account;
pub mod describe;
pub mod record;
pub mod ring;
mod spans;
pub mod writer;
