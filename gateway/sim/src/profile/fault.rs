//! What can be wrong with an answer, and how often.
//!
//! A [`Storm`] refuses a request with an error status before any work. A [`Fault`] spoils an answer whose
//! status is already 200, or gives none at all. Each is a thing that providers have been seen to do
//! (the bad-input list of the product, and the in-stream error shapes of the official APIs).

use serde::{Deserialize, Serialize};

/// One way to spoil an answer. A non-streaming answer has no tokens on the wire: there the token positions
/// mean "somewhere in the body".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Fault {
    /// Headers and prelude, then no token for ever (until the client goes).
    Stall,
    /// Tokens until this one, then nothing for ever.
    StallAtToken(u32),
    /// The request is read, and nothing at all is ever answered.
    Hang,
    /// The connection is closed without an answer.
    Close,
    /// The body is aborted before this token.
    CutAtToken(u32),
    /// The body is aborted after this many bytes.
    CutAtByte(u64),
    /// 200 with an HTML page.
    Html,
    /// 200 with an empty body.
    Empty,
    /// 200 with frames (or a document) that are not JSON.
    BrokenFrames,
    /// 200 with an error document as its body.
    ErrorBody,
    /// 200, this many tokens, then an error frame and the end.
    ErrorInStream(u32),
    /// 200, this many tokens, then a clean end without a finish reason.
    EndEarly(u32),
}

/// A [`Fault`] and the share of requests that it hits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FaultRule {
    /// Share of the requests, 0 to 100.
    pub percent: f64,
    /// What happens to them.
    pub fault: Fault,
}

/// Requests refused with an error status.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Storm {
    /// Share of the requests, 0 to 100.
    pub percent: f64,
    /// HTTP status, 400 to 599.
    pub status: u16,
    /// Error code (OpenAI `code`, Anthropic `error.type`); absent: the usual one of the status.
    pub code: Option<String>,
    /// `Retry-After` in seconds, as written (may be fractional or 0).
    pub retry_after_s: Option<f64>,
    /// `retry-after-ms`.
    pub retry_after_ms: Option<u64>,
    /// `x-should-retry`.
    pub should_retry: Option<bool>,
    /// Milliseconds until the error is answered.
    pub after_ms: f64,
}

impl Default for Storm {
    fn default() -> Self {
        Self {
            percent: 100.0,
            status: 500,
            code: None,
            retry_after_s: None,
            retry_after_ms: None,
            should_retry: None,
            after_ms: 2.0,
        }
    }
}

impl Storm {
    /// `percent` of the requests get `status`.
    pub fn of(percent: f64, status: u16) -> Self {
        Self { percent, status, ..Self::default() }
    }

    /// With a `Retry-After` of these seconds.
    pub fn retry_after(mut self, seconds: f64) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }
}
