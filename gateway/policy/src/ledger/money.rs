//! Tokens, prices, cost.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// Tokens of one attempt in normal form: the four parts are disjoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Input tokens that were not in the provider's prompt cache.
    pub input_uncached: u64,
    /// Input tokens read from the cache.
    pub cache_read: u64,
    /// Input tokens written to the cache.
    pub cache_write: u64,
    /// Output tokens, hidden reasoning included.
    pub output: u64,
}

impl Usage {
    /// All tokens, saturating.
    pub fn total(&self) -> u64 {
        [self.input_uncached, self.cache_read, self.cache_write, self.output]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, rhs: Self) {
        self.input_uncached = self.input_uncached.saturating_add(rhs.input_uncached);
        self.cache_read = self.cache_read.saturating_add(rhs.cache_read);
        self.cache_write = self.cache_write.saturating_add(rhs.cache_write);
        self.output = self.output.saturating_add(rhs.output);
    }
}

/// Prices of a route's model in micro-units of the account currency per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prices {
    /// Uncached input.
    pub input: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Input written to the cache.
    pub cache_write: u64,
    /// Output.
    pub output: u64,
}

/// Money in 1e-12 of the currency. Sums saturate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cost(pub u128);

impl Cost {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// From micro-units (1e-6 of the currency).
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros as u128 * 1_000_000)
    }

    /// Micro-units, rounded half up: for showing only, never for further sums.
    pub fn micros(self) -> u64 {
        u64::try_from(self.0.saturating_add(500_000) / 1_000_000).unwrap_or(u64::MAX)
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, rhs: Self) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, rhs: Self) {
        *self = *self + rhs;
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

/// Tokens x price, exact.
pub fn cost(usage: &Usage, prices: &Prices) -> Cost {
    let part = |tokens: u64, price: u64| Cost(u128::from(tokens) * u128::from(price));
    part(usage.input_uncached, prices.input)
        + part(usage.cache_read, prices.cache_read)
        + part(usage.cache_write, prices.cache_write)
        + part(usage.output, prices.output)
}
