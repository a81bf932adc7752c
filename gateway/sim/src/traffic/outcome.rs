//! What one user action was like for its client.

use std::{sync::Arc, time::Duration};

use http::HeaderMap;

use super::integrity::Integrity;

/// One user action, measured.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Name of its class.
    pub class: Arc<str>,
    /// Number inside the class, from 0.
    pub sequence: u64,
    /// When it should have started, from the start of the traffic.
    pub intended: Duration,
    /// When its first try was sent, from the start of the traffic.
    pub sent: Duration,
    /// The first generated token of the last try (non-streaming: the whole answer), from `intended`.
    pub first_token: Option<Duration>,
    /// Its end, from `intended`.
    pub end: Duration,
    /// Status of the last answer; absent where there was none.
    pub status: Option<u16>,
    /// The last wait that an answer asked for.
    pub retry_after: Option<Duration>,
    /// Tries, at least 1.
    pub tries: u32,
    /// Tries that the gateway shed.
    pub sheds: u32,
    /// Error type (or our code) of the last answer.
    pub error_type: Option<String>,
    /// What the gateway said about the last try.
    pub gateway: GatewayHeaders,
    /// How it ended.
    pub verdict: Verdict,
    /// Why the last try failed: what broke its connection, in the words of the operating system or of hyper, or what the
    /// error in its answer says.
    pub cause: Option<String>,
    /// What the tokens prove.
    pub integrity: Integrity,
}

/// How a user action ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A complete answer of one attempt.
    Answered,
    /// The gateway's own 429 with `Retry-After`.
    Shed,
    /// Anything else.
    Failed(Failure),
}

/// Why a user action failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// No answer: no connection, or one that broke before its headers.
    Connection,
    /// Not done within the class's time-out.
    TimedOut,
    /// An error status that is no shed.
    Status(u16),
    /// An error inside the answer.
    InBody,
    /// The answer ended before its end.
    Truncated,
    /// The answer is not in the dialect.
    Malformed,
    /// Tokens of two attempts, or missing tokens.
    Mixed,
    /// The generator itself had too many requests open.
    ClientLimit,
}

/// The `x-hedgerow-*` headers of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GatewayHeaders {
    /// Route of the winner.
    pub route: Option<String>,
    /// Attempts until the answer.
    pub attempts: Option<u32>,
    /// Whether a hedge was sent.
    pub hedged: bool,
    /// Cohort.
    pub cohort: Option<String>,
    /// Lane.
    pub lane: Option<String>,
    /// Why it was not hedged.
    pub hedge_reason: Option<String>,
    /// Id of the user action.
    pub action: Option<String>,
}

impl GatewayHeaders {
    pub(super) fn read(headers: &HeaderMap) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        Self {
            route: text("x-hedgerow-route"),
            attempts: text("x-hedgerow-attempts").and_then(|n| n.parse().ok()),
            hedged: text("x-hedgerow-hedged").is_some_and(|said| said != "false" && said != "0"),
            cohort: text("x-hedgerow-cohort"),
            lane: text("x-hedgerow-lane"),
            hedge_reason: text("x-hedgerow-hedge-reason"),
            action: text("x-hedgerow-action"),
        }
    }
}
