//! What an answer tells about the account's rate limits, for `hedgerow_policy::quota`.
//!
//! Inputs: headers of any answer. Outputs: limit, what is left and the reset of requests and tokens. Invariants: all three
//! of a limit or nothing; no number above 2^53. OpenAI and those that answer like it: `x-ratelimit-*`, resets as Go-style
//! durations, on Azure as bare seconds, and there 0 and -1 also mean "unknown", so that nothing is left is not believed of
//! Azure (its 429 is). Anthropic: `anthropic-ratelimit-*`, resets in RFC 3339; `tokens` is the tightest of its
//! token limits, else input tokens. It refuses to wait: that is `retry_after`.

use std::time::SystemTime;

use hedgerow_config::route::Api;
use hedgerow_policy::quota::{Left, Report};
use http::{HeaderMap, HeaderName};

use super::retry_after;

/// Largest number that is taken for one.
const LARGEST: u64 = 1 << 53;

/// Names of one limit: the whole, what is left, the reset.
type Names = [HeaderName; 3];

const OPENAI_REQUESTS: Names = [
    HeaderName::from_static("x-ratelimit-limit-requests"),
    HeaderName::from_static("x-ratelimit-remaining-requests"),
    HeaderName::from_static("x-ratelimit-reset-requests"),
];
const OPENAI_TOKENS: Names = [
    HeaderName::from_static("x-ratelimit-limit-tokens"),
    HeaderName::from_static("x-ratelimit-remaining-tokens"),
    HeaderName::from_static("x-ratelimit-reset-tokens"),
];
const ANTHROPIC_REQUESTS: Names = [
    HeaderName::from_static("anthropic-ratelimit-requests-limit"),
    HeaderName::from_static("anthropic-ratelimit-requests-remaining"),
    HeaderName::from_static("anthropic-ratelimit-requests-reset"),
];
const ANTHROPIC_TOKENS: Names = [
    HeaderName::from_static("anthropic-ratelimit-tokens-limit"),
    HeaderName::from_static("anthropic-ratelimit-tokens-remaining"),
    HeaderName::from_static("anthropic-ratelimit-tokens-reset"),
];
const ANTHROPIC_INPUT: Names = [
    HeaderName::from_static("anthropic-ratelimit-input-tokens-limit"),
    HeaderName::from_static("anthropic-ratelimit-input-tokens-remaining"),
    HeaderName::from_static("anthropic-ratelimit-input-tokens-reset"),
];

/// What an answer of this api tells; `None` = nothing that can be used.
pub fn read(api: Api, headers: &HeaderMap, now: SystemTime) -> Option<Report> {
    let limit = |names: &Names| limit(names, headers, now);
    let report = match api {
        Api::OpenAI => Report { requests: limit(&OPENAI_REQUESTS), tokens: limit(&OPENAI_TOKENS) },
        Api::AzureOpenAI => {
            let known = |names| limit(names).filter(|left| left.left > 0);
            Report { requests: known(&OPENAI_REQUESTS), tokens: known(&OPENAI_TOKENS) }
        }
        Api::Anthropic => Report {
            requests: limit(&ANTHROPIC_REQUESTS),
            tokens: limit(&ANTHROPIC_TOKENS).or_else(|| limit(&ANTHROPIC_INPUT)),
        },
    };
    (report != Report::default()).then_some(report)
}

fn limit([whole, left, reset]: &Names, headers: &HeaderMap, now: SystemTime) -> Option<Left> {
    let limit = number(headers, whole).filter(|limit| *limit > 0)?;
    let reset = headers.get(reset)?.to_str().ok()?;
    Some(Left { limit, left: number(headers, left)?, reset: retry_after::moment(reset.trim(), now)? })
}

fn number(headers: &HeaderMap, name: &HeaderName) -> Option<u64> {
    let text = headers.get(name)?.to_str().ok()?.trim();
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok().filter(|number| *number <= LARGEST) } else { None }
}

#[cfg(test)]
mod tests;
