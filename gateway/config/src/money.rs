//! Counted money: integers of 1e-12 currency units.
//!
//! A price is micro-units per million tokens, so tokens x price is exactly in 1e-12 units; nothing is rounded until it is
//! shown. 128 bits, written as a decimal string because JSON numbers lose precision above 2^53.

use std::{iter::Sum, ops};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// An amount in 1e-12 units of the account currency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Picos(pub u128);

/// 1e-12 units in one micro-unit.
pub const PICOS_PER_MICRO: u128 = 1_000_000;

impl Picos {
    /// Whole micro-units, rounded half up; saturates at `u64::MAX`.
    pub fn to_micros(self) -> u64 {
        u64::try_from(self.0.saturating_add(PICOS_PER_MICRO / 2) / PICOS_PER_MICRO).unwrap_or(u64::MAX)
    }

    /// The difference, zero when `other` is larger.
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl ops::Add for Picos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl ops::AddAssign for Picos {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Picos {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::default(), ops::Add::add)
    }
}

impl Serialize for Picos {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Picos {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map(Self).map_err(|_| D::Error::custom("money must be a decimal string of 1e-12 units"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn micros_round_half_up_only_when_shown() {
        for (picos, micros) in [(0, 0), (499_999, 0), (500_000, 1), (1_499_999, 1), (u128::MAX, u64::MAX)] {
            assert_eq!(Picos(picos).to_micros(), micros, "{picos}");
        }
    }

    #[test]
    fn json_keeps_every_digit() {
        let amount = Picos(340_282_366_920_938_463_463);
        let text = serde_json::to_string(&amount).unwrap();
        assert_eq!(text, "\"340282366920938463463\"");
        assert_eq!(serde_json::from_str::<Picos>(&text).unwrap(), amount);
    }
}
