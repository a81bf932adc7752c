//! When an SDK sends a request again.
//!
//! Source: openai-python 3.3 (2026-08), the same rule as anthropic-sdk-python: 2 retries on 429 and 5xx; a `Retry-After` of
//! more than 0 and at most 120 s is obeyed, a longer one ends the call; without one 0.5 s x 2^n up to 8 s, less up to
//! 25 % jitter. No SDK replays a stream that has begun.

/// A client's retry behaviour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sdk {
    /// Retries after the first try.
    pub retries: u32,
    /// First back-off in seconds.
    pub base: f64,
    /// Longest back-off in seconds.
    pub most: f64,
    /// Longest hint in seconds that is obeyed.
    pub longest_hint: f64,
    /// Whether hints are looked at. Clients that do not are common, and every shed must survive them.
    pub compliant: bool,
}

impl Sdk {
    /// openai-python with its defaults.
    pub const OPENAI: Self = Self { retries: 2, base: 0.5, most: 8.0, longest_hint: 120.0, compliant: true };
    /// One try.
    pub const NONE: Self = Self { retries: 0, ..Self::OPENAI };
    /// Comes back until it is served, when it is told to: a batch job behind a queue of its own.
    pub const PATIENT: Self = Self { retries: u32::MAX, ..Self::OPENAI };

    /// Seconds until the next try after `done` retries, or nothing if the call is over. `jitter` is a draw from 0 to 1.
    pub fn wait(&self, done: u32, hint: Option<f64>, jitter: f64) -> Option<f64> {
        if done >= self.retries {
            return None;
        }
        if let Some(hint) = hint.filter(|hint| self.compliant && *hint > 0.0) {
            return (hint <= self.longest_hint).then_some(hint);
        }
        let grown = self.base * 2_f64.powi(done.min(30) as i32);
        Some(grown.min(self.most) * (1.0 - 0.25 * jitter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_as_a_table() {
        for (done, hint, expected) in [
            (0, None, Some(0.5)),
            (1, None, Some(1.0)),
            (2, None, None),
            (0, Some(3.0), Some(3.0)),
            (0, Some(120.0), Some(120.0)),
            (0, Some(121.0), None),
            (0, Some(0.0), Some(0.5)),
        ] {
            assert_eq!(Sdk::OPENAI.wait(done, hint, 0.0), expected, "{done} {hint:?}");
        }
        let deaf = Sdk { compliant: false, ..Sdk::OPENAI };
        assert_eq!(deaf.wait(0, Some(30.0), 1.0), Some(0.375));
        assert_eq!(Sdk::PATIENT.wait(40, None, 0.0), Some(8.0));
    }
}
