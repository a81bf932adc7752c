//! What is written down about attempts and user actions.
//!
//! Inputs: what the race and the ledger know at the end. Outputs: one JSON object per attempt and one per user action.
//! Invariants: nothing of prompts, answers, headers, keys or user identifiers; every text field is a configured name, a
//! word of a closed list, an id that we made, or the client's own trace and action id; money in whole micro-units of
//! the account currency, rounded half up. Field names follow the sanitised attempt record that reliability reviews of
//! hedging ask for; ours come after.

use serde::{Serialize, Serializer};

/// A moment, milliseconds since 1970, written as RFC 3339.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time(pub u64);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let moment = i64::try_from(self.0).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
        serializer.collect_str(&moment.unwrap_or_default())
    }
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$of])* $variant,)+ }

        impl $name {
            /// All of them, in the order of their declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The word in records and metrics.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}

words! {
    /// How an attempt ended.
    Outcome {
        /// Its answer went to the client, whole.
        Won = "won",
        /// Cancelled because another attempt was committed.
        LoserCancelled = "loser_canceled",
        /// Lost, but its answer was read to the end or had already ended.
        LoserFinished = "loser_finished",
        /// An error of the upstream or on the way to it.
        Failed = "failed",
        /// Pushback: 429, overload.
        Throttled = "throttled",
        /// An answer that breaks the contract.
        Invalid = "invalid",
        /// A timer of the route or the deadline ended it.
        TimedOut = "timed_out",
        /// Committed, then cut before its end.
        Truncated = "truncated",
        /// The client left.
        ClientGone = "client_gone",
        /// Scheduled, never sent.
        Withdrawn = "withdrawn",
    }
}

words! {
    /// What an answer was, as a class.
    StatusClass {
        /// 2xx, whole.
        Success = "success",
        /// The request was at fault.
        ClientError = "client_error",
        /// Refused to protect the gateway or a lane.
        Shed = "shed",
        /// The provider failed.
        UpstreamError = "upstream_error",
        /// The gateway failed or gave up: deadline, no route.
        GatewayError = "gateway_error",
        /// The client left, or the attempt lost.
        Canceled = "canceled",
    }
}

words! {
    /// Size of a cost, for records that must not carry exact amounts everywhere.
    CostBand {
        /// Not priced.
        Unknown = "unknown",
        /// Below 1,000 micro-units.
        Low = "low",
        /// Below 50,000 micro-units.
        Mid = "mid",
        /// The rest.
        High = "high",
    }
}

impl CostBand {
    /// The band of a cost in micro-units.
    pub fn of(micros: Option<u64>) -> Self {
        match micros {
            None => Self::Unknown,
            Some(0..1_000) => Self::Low,
            Some(1_000..50_000) => Self::Mid,
            Some(_) => Self::High,
        }
    }
}

/// One attempt at its end.
#[derive(Clone, Debug, Serialize)]
pub struct AttemptRecord<'a> {
    /// Always [`AttemptRecord::EVENT`].
    pub event: &'static str,
    /// When the attempt ended.
    pub event_time: Time,
    /// The user action's id.
    pub user_action_id: &'a str,
    /// The hedge group's id; one group per user action.
    pub hedge_group_id: &'a str,
    /// 1 for the first attempt.
    pub attempt: u8,
    /// `primary`, `hedge` or `retry`.
    pub kind: &'a str,
    /// Name of the operation.
    pub route_class: &'a str,
    /// Public model.
    pub model_class: &'a str,
    /// Delay after which the hedge timer fired, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hedge_delay_ms: Option<u64>,
    /// The user action's deadline, in milliseconds from its arrival.
    pub overall_deadline_ms: u64,
    /// From the attempt's start to its end.
    pub elapsed_ms: u64,
    /// From the attempt's start to its first body byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte_ms: Option<u64>,
    /// From the attempt's start to its first token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_token_ms: Option<u64>,
    /// How it ended.
    pub outcome: Outcome,
    /// HTTP status of the upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Class of the end.
    pub status_class: StatusClass,
    /// Scope of the error, `none` without one.
    pub error_scope: &'a str,
    /// Whether its answer kept the contract, as far as it was read; a stream's text is read up to 256 KiB.
    pub contract_valid: bool,
    /// Whether the attempt was told to stop.
    pub cancellation_sent: bool,
    /// Whether the close or reset was written. What the provider does with it is not claimed.
    pub cancellation_observed: bool,
    /// Input tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage_input_units: Option<u64>,
    /// Output tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage_output_units: Option<u64>,
    /// `exact`, `lowerBound`, `estimated` or `unknown`.
    pub usage_basis: &'a str,
    /// Band of the cost.
    pub cost_band: CostBand,
    /// Cost; absent = unpriced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// Hedges per enrolled original in the short window of the cohort, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate_rate_window: Option<f64>,
    /// Four hex digits of a keyed hash of at most 4 KiB of the prompt.
    pub prompt_fingerprint: &'a str,
    /// `winner`, `loser` or `retry`.
    pub role: &'a str,
    /// Route.
    pub route: &'a str,
    /// Cohort; empty = none.
    pub cohort: &'a str,
    /// Lane.
    pub lane: &'a str,
    /// `hedge`, `control`, `thinned` or `none`.
    pub arm: &'a str,
    /// Why no hedge was sent; empty = one was, or the timer did not fire.
    pub reason: &'a str,
    /// This record stands for so many.
    pub sample_weight: u32,
    /// W3C trace context of the client.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub traceparent: &'a str,
    /// The provider's request id.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub upstream_request_id: &'a str,
}

impl AttemptRecord<'_> {
    /// Value of `event`.
    pub const EVENT: &'static str = "hedge_attempt_complete";
}

/// One user action at its end.
#[derive(Clone, Debug, Serialize)]
pub struct ActionRecord<'a> {
    /// Always [`ActionRecord::EVENT`].
    pub event: &'static str,
    /// When the user action ended.
    pub event_time: Time,
    /// The user action's id.
    pub user_action_id: &'a str,
    /// The hedge group's id.
    pub hedge_group_id: &'a str,
    /// Our id of this request.
    pub request_id: &'a str,
    /// Name of the operation.
    pub route_class: &'a str,
    /// Public model.
    pub model_class: &'a str,
    /// Streaming.
    pub stream: bool,
    /// Cohort; empty = none.
    pub cohort: &'a str,
    /// Lane.
    pub lane: &'a str,
    /// `hedge`, `control`, `thinned` or `none`.
    pub arm: &'a str,
    /// Why no hedge was sent.
    pub reason: &'a str,
    /// Whether a hedge was sent.
    pub hedged: bool,
    /// Attempts sent.
    pub attempts: u8,
    /// Which attempt won.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub winner_attempt: Option<u8>,
    /// Route of the winner.
    pub winner_route: &'a str,
    /// Whether a loser is known to have finished all the same.
    pub loser_finished_late: bool,
    /// From the arrival to the end.
    pub elapsed_ms: u64,
    /// From the arrival to the first token, as the client saw it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_token_ms: Option<u64>,
    /// Delay after which the hedge timer fired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hedge_delay_ms: Option<u64>,
    /// Deadline, in milliseconds from the arrival.
    pub overall_deadline_ms: u64,
    /// HTTP status that the client got; 499 = it had left.
    pub status: u16,
    /// Class of the status.
    pub status_class: StatusClass,
    /// Scope of the error, `none` without one.
    pub error_scope: &'a str,
    /// Class of the terminal error; empty without one. Of those that left: `client_gone`, or `client_stalled` for a
    /// client that did not read its answer.
    pub error: &'a str,
    /// Why its lane refused it; empty = it did not.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub shed: &'a str,
    /// Input tokens of all attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage_input_units: Option<u64>,
    /// Output tokens of all attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage_output_units: Option<u64>,
    /// The weakest basis among the attempts.
    pub usage_basis: &'a str,
    /// Band of the cost.
    pub cost_band: CostBand,
    /// Cost of all attempts; absent = unpriced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// Cost of the losers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_lost_micros: Option<u64>,
    /// State of the cohort's decision.
    pub guardrail: &'a str,
    /// This record stands for so many.
    pub sample_weight: u32,
    /// W3C trace context of the client.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub traceparent: &'a str,
}

impl ActionRecord<'_> {
    /// Value of `event`.
    pub const EVENT: &'static str = "user_action_complete";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rfc_3339_and_words_are_unique() {
        assert_eq!(serde_json::to_string(&Time(1_785_456_000_123)).unwrap(), "\"2026-07-31T00:00:00.123Z\"");
        let words: std::collections::BTreeSet<_> = Outcome::ALL.iter().map(|o| o.as_str()).collect();
        assert_eq!(words.len(), Outcome::ALL.len());
    }

    #[test]
    fn cost_bands_have_the_documented_edges() {
        for (micros, band) in [
            (None, CostBand::Unknown),
            (Some(0), CostBand::Low),
            (Some(999), CostBand::Low),
            (Some(1_000), CostBand::Mid),
            (Some(50_000), CostBand::High),
        ] {
            assert_eq!(CostBand::of(micros), band, "{micros:?}");
        }
    }
}
