//! How long to wait before a retry.
//!
//! Without advice: full jitter, uniform in [0, min(max, base x 2^n)), which spreads synchronised failures
//! better than any fixed or equal-jitter schedule (Brooker, AWS, 2015). With the provider's `Retry-After`:
//! that figure is a minimum, plus up to 250 ms so that waiting clients do not return in one instant. What does
//! not fit the deadline is the caller's to fail at once. Refuses to shorten a provider's figure.

use std::time::Duration;

use crate::draw::within;

/// Spread added on top of a provider's `Retry-After`.
pub const SPREAD: Duration = Duration::from_millis(250);

/// Back-off bounds of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Upper bound of the first wait.
    pub base: Duration,
    /// Upper bound of any wait.
    pub max: Duration,
}

impl Default for Rule {
    fn default() -> Self {
        Self { base: Duration::from_millis(500), max: Duration::from_secs(20) }
    }
}

/// Wait before retry number `retry` (0 = the first) when nobody said how long.
pub fn backoff(rule: &Rule, retry: u32, draw: u64) -> Duration {
    let grown = rule.base.saturating_mul(1_u32.checked_shl(retry).unwrap_or(u32::MAX));
    within(draw, grown.min(rule.max))
}

/// Wait when the provider named a time: never less than that.
pub fn after_pushback(retry_after: Duration, draw: u64) -> Duration {
    retry_after.saturating_add(within(draw, SPREAD))
}

/// What the client is told: whole seconds, rounded up, at least 1.
pub fn client_seconds(remaining: Duration) -> u32 {
    let seconds = remaining.as_secs() + u64::from(remaining.subsec_nanos() > 0);
    u32::try_from(seconds.max(1)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_to_its_maximum_with_full_jitter() {
        let rule = Rule::default();
        for (retry, millis) in [(0, 500), (1, 1_000), (2, 2_000), (5, 16_000), (6, 20_000), (40, 20_000)] {
            let longest = backoff(&rule, retry, u64::MAX);
            assert!(longest < Duration::from_millis(millis) && longest > Duration::from_millis(millis - 1));
            assert_eq!(backoff(&rule, retry, 0), Duration::ZERO);
        }
    }

    #[test]
    fn a_providers_figure_is_a_minimum() {
        let two = Duration::from_secs(2);
        assert_eq!(after_pushback(two, 0), two);
        assert!(after_pushback(two, u64::MAX) < two + SPREAD);
    }

    #[test]
    fn clients_are_told_whole_seconds_rounded_up() {
        for (millis, seconds) in [(0, 1), (1, 1), (1_000, 1), (1_001, 2), (59_999, 60)] {
            assert_eq!(client_seconds(Duration::from_millis(millis)), seconds);
        }
    }
}
