//! What every attempt cost, the losers too.
//!
//! Tokens arrive in each dialect's own form and are brought into one [`Usage`]; money is tokens x price in
//! units of 1e-12 of the currency (micros per million tokens x tokens), 128 bits, so sums are exact and
//! rounding happens only where a figure is shown ([`Cost::micros`], half up). What is not known is said
//! ([`Basis`]), never zero: a cancelled loser is booked with its input in full plus the output seen, or by
//! estimate, and an unpriced route has no cost at all rather than cost 0.

mod account;
mod estimate;
mod money;
#[cfg(test)]
mod tests;

pub use account::{Basis, Booked, ExtraSpend, Kind, Role, extra_spend, role, within_ceiling};
pub use estimate::{InputRatio, START_BYTES_PER_TOKEN_MILLI, estimate_input, estimate_output, least_input};
pub use money::{Cost, Prices, Usage, cost};
