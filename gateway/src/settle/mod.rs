//! What remains of an attempt when it is over: its cost, its counts and its record.

pub mod account;
pub mod describe;
pub mod record;
pub mod ring;
pub mod writer;
