//! When an SDK sends a request again, as a pure rule.
//!
//! Source: openai-python 3.3 (2026-08): 2 retries on connection errors, 408, 409, 429 and 5xx, unless
//! `x-should-retry` says otherwise; a hint of more than 0 and at most 120 s is obeyed, a longer one ends the
//! call; without a hint 0.5 s x 2^n up to 8 s, minus up to 25 % jitter. Only before response headers: no SDK
//! replays a stream. Dates in `Retry-After` are not read: Hedgerow and the scripted providers send seconds.

use std::time::Duration;

use http::HeaderMap;

/// A client's retry behaviour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetryRule {
    /// Retries after the first try.
    pub retries: u32,
    /// First back-off in seconds.
    pub base_s: f64,
    /// Longest back-off in seconds.
    pub most_s: f64,
    /// The longest hint that is obeyed, in seconds.
    pub longest_hint_s: f64,
}

impl RetryRule {
    /// openai-python with its defaults.
    pub const OPENAI_PYTHON: Self = Self { retries: 2, base_s: 0.5, most_s: 8.0, longest_hint_s: 120.0 };
    /// One try.
    pub const NONE: Self = Self { retries: 0, ..Self::OPENAI_PYTHON };

    /// The wait before retry number `done + 1`, or nothing if the call is over. `status` is absent where the
    /// connection failed; `jitter` is a draw from 0 to 1.
    pub fn wait(
        &self,
        done: u32,
        status: Option<u16>,
        headers: Option<&HeaderMap>,
        jitter: f64,
    ) -> Option<Duration> {
        if done >= self.retries || !again(status, headers) {
            return None;
        }
        let hint = headers.and_then(retry_after).filter(|hint| !hint.is_zero());
        if let Some(hint) = hint {
            return (hint.as_secs_f64() <= self.longest_hint_s).then_some(hint);
        }
        let back_off = (self.base_s * 2f64.powi(done as i32)).min(self.most_s);
        Duration::try_from_secs_f64(back_off * (1.0 - 0.25 * jitter)).ok()
    }
}

fn again(status: Option<u16>, headers: Option<&HeaderMap>) -> bool {
    match headers.and_then(|headers| text(headers, "x-should-retry")) {
        Some("true") => return true,
        Some("false") => return false,
        _ => {}
    }
    status.is_none_or(|status| matches!(status, 408 | 409 | 429) || status >= 500)
}

/// The wait that an answer asks for: `retry-after-ms` before `retry-after` in seconds.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name| text(headers, name)?.trim().parse::<f64>().ok();
    let seconds = number("retry-after-ms").map(|ms| ms / 1000.0).or_else(|| number("retry-after"))?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn the_rule_of_the_sdk_as_a_table() {
        for (done, status, pairs, wait_ms) in [
            (0, Some(429), &[][..], Some(500)),
            (1, Some(503), &[], Some(1000)),
            (2, Some(503), &[], None),
            (0, None, &[], Some(500)),
            (0, Some(400), &[], None),
            (0, Some(200), &[], None),
            (0, Some(400), &[("x-should-retry", "true")], Some(500)),
            (0, Some(500), &[("x-should-retry", "false")], None),
            (0, Some(429), &[("retry-after", "3")], Some(3000)),
            (0, Some(429), &[("retry-after", "3"), ("retry-after-ms", "250")], Some(250)),
            (0, Some(429), &[("retry-after", "0")], Some(500)),
            (0, Some(429), &[("retry-after", "120")], Some(120_000)),
            (0, Some(429), &[("retry-after", "121")], None),
            (0, Some(429), &[("retry-after", "soon")], Some(500)),
        ] {
            let wait = RetryRule::OPENAI_PYTHON.wait(done, status, Some(&headers(pairs)), 0.0);
            assert_eq!(wait.map(|w| w.as_millis()), wait_ms, "{done} {status:?} {pairs:?}");
        }
    }

    #[test]
    fn back_off_is_capped_and_jitter_only_shortens_it() {
        let many = RetryRule { retries: 20, ..RetryRule::OPENAI_PYTHON };
        assert_eq!(many.wait(10, Some(500), None, 0.0), Some(Duration::from_secs(8)));
        assert_eq!(many.wait(10, Some(500), None, 1.0), Some(Duration::from_secs(6)));
    }
}
