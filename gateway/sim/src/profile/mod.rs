//! How a scripted provider behaves: one serde type, changeable while it runs.
//!
//! In: a profile (from Rust, a file or `PUT /__sim/profile`) and, for a single call, markers inside its prompt.
//! Out: what the provider draws for each request. Invariant: everything random comes from (seed, counter of the
//! request), so the same run draws the same answers. It refuses unknown fields, because a misspelt fault that
//! never happens makes a test prove nothing.

mod fault;
mod latency;
mod marker;

use serde::{Deserialize, Serialize};

pub use fault::{Fault, FaultRule, Storm};
pub use latency::{LONGEST, Latency};
pub(crate) use latency::{millis, percent};
pub use marker::{Marker, MarkerError};

/// The behaviour of one provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Profile {
    /// Time from the whole request to the first generated token.
    pub first_token: Latency,
    /// Percent of the requests whose latency is drawn from the prompt alone. Two providers with the same
    /// profile then draw the same time for the same prompt, which makes hedging it pointless.
    pub prompt_bound_percent: f64,
    /// Percent of the first-token time after which a streamed answer sends its headers and prelude (role chunk,
    /// `message_start`). 0 = at once, 100 = together with the first token.
    pub headers_percent: f64,
    /// Time between two tokens, drawn once per answer.
    pub gap: Latency,
    /// Tokens per frame, at least 1.
    pub tokens_per_frame: u32,
    /// Length of the answers.
    pub output_tokens: Tokens,
    /// How load slows the provider; absent: not at all.
    pub load: Option<Load>,
    /// Error storms; each is drawn on its own, the first hit counts.
    pub storms: Vec<Storm>,
    /// Spoilt answers; each is drawn on its own, the first hit counts.
    pub faults: Vec<FaultRule>,
    /// Limits that answer 429.
    pub quota: Quota,
    /// What a client that hangs up saves.
    pub on_cancel: OnCancel,
    /// Percent of the input tokens reported as read from the prompt cache.
    pub cached_percent: f64,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            first_token: Latency::fixed(20.0),
            prompt_bound_percent: 0.0,
            headers_percent: 25.0,
            gap: Latency::fixed(2.0),
            tokens_per_frame: 1,
            output_tokens: Tokens { min: 16, max: 16 },
            load: None,
            storms: Vec::new(),
            faults: Vec::new(),
            quota: Quota::default(),
            on_cancel: OnCancel::Stops,
            cached_percent: 0.0,
        }
    }
}

/// Length of an answer in tokens: equally likely from `min` to `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tokens {
    /// Shortest answer.
    pub min: u32,
    /// Longest answer.
    pub max: u32,
}

/// Latency that grows with the number of requests in the provider.
///
/// With u = requests in the provider / capacity, a time is multiplied by `1 + slope x max(0, u - knee)`. The
/// utilisation counts the answers that go on after their client left.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Load {
    /// Concurrent requests at which utilisation is 1.
    pub capacity: u32,
    /// Utilisation up to which nothing slows down.
    pub knee: f64,
    /// Slope of the first-token time.
    pub first_token_slope: f64,
    /// Slope of the time between tokens. Above 0 the provider can be driven into a state in which it stays
    /// slow after the load has gone, because slow answers are load themselves.
    pub gap_slope: f64,
}

impl Default for Load {
    fn default() -> Self {
        Self { capacity: 100, knee: 0.7, first_token_slope: 4.0, gap_slope: 0.0 }
    }
}

impl Load {
    /// The factors for the first-token time and for the gap when `running` requests are in the provider.
    pub fn factors(&self, running: u32) -> (f64, f64) {
        let above = (f64::from(running) / f64::from(self.capacity.max(1)) - self.knee).max(0.0);
        (1.0 + self.first_token_slope * above, 1.0 + self.gap_slope * above)
    }
}

/// Limits of the account. Both answer 429 with `Retry-After`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Quota {
    /// Requests per minute, as a bucket that holds 10 s worth (providers check within 1 to 10 s windows).
    pub requests_per_minute: Option<u32>,
    /// Requests in the provider at once.
    pub max_concurrent: Option<u32>,
}

/// What the provider does when its client is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OnCancel {
    /// It stops and bills the input and what it has sent.
    Stops,
    /// It generates the rest into the void and bills all of it: a late completion.
    Continues,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_says_only_what_differs() {
        let profile: Profile = serde_json::from_str(
            r#"{"firstToken":{"twoModes":{"fast":{"lognormal":{"medianMs":400,"sigma":0.3}},
                "slow":{"uniform":{"minMs":2000,"maxMs":4000}},"slowPercent":4}},
                "storms":[{"percent":85,"status":503,"retryAfterS":2}],
                "faults":[{"percent":1,"fault":"html"},{"percent":1,"fault":{"cutAtToken":3}}],
                "load":{"capacity":40},"onCancel":"continues"}"#,
        )
        .unwrap();
        assert_eq!(profile.storms[0].retry_after_s, Some(2.0));
        assert_eq!(profile.faults[1].fault, Fault::CutAtToken(3));
        assert_eq!(profile.output_tokens, Profile::default().output_tokens);
        let again: Profile = serde_json::from_value(serde_json::to_value(&profile).unwrap()).unwrap();
        assert_eq!(profile, again);
    }

    #[test]
    fn a_misspelt_field_is_refused() {
        for text in [r#"{"firstTokens":{"fixed":{"ms":1}}}"#, r#"{"firstToken":{"fixed":{"millis":1}}}"#] {
            assert!(serde_json::from_str::<Profile>(text).is_err(), "{text} must be refused");
        }
    }

    #[test]
    fn load_slows_only_above_its_knee() {
        let load = Load { capacity: 100, knee: 0.5, first_token_slope: 2.0, gap_slope: 1.0 };
        assert_eq!(load.factors(50), (1.0, 1.0));
        assert_eq!(load.factors(150), (3.0, 2.0));
    }
}
