//! What several test targets of this crate share. The tests themselves are in `tests/`, `wire/` and `cluster/`.

pub mod audit;
pub mod canary;
pub mod refused;
