//! What remains of an attempt when it is over: its cost, its counts and its record.

pub mod record;
pub mod writer;
