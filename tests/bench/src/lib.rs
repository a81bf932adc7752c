//! What benchmarks and the test of allocations share: request bodies, and single mechanisms to run again and again.

pub mod bookkeeping;
pub mod cases;
pub mod prompt;
