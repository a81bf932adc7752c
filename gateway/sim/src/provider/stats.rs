//! What a provider has seen, as figures that a test can wait for.
//!
//! Invariants: `requests = in_flight + completed + cancelled + cut + refused`, at every moment;
//! `late_running + late_completions` counts exactly the cancelled answers that went on. No text of any prompt
//! or answer is kept here.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

/// Cancellations that are kept with their time.
const KEPT_CANCELS: usize = 256;

/// Counters since the start or the last reset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// Requests read in full and sent to an endpoint that generates or computes.
    pub requests: u64,
    /// Requests whose client is waiting or reading now.
    pub in_flight: u64,
    /// The most there ever were.
    pub max_in_flight: u64,
    /// Answers given to their end (spoilt ones with a clean end included).
    pub completed: u64,
    /// Clients that hung up before the end.
    pub cancelled: u64,
    /// Answers that the provider itself aborted.
    pub cut: u64,
    /// Requests answered with an error status.
    pub refused: u64,
    /// Those of them that a quota refused.
    pub throttled: u64,
    /// Answers that are generated for nobody now.
    pub late_running: u64,
    /// Answers that were generated to their end after the client had left.
    pub late_completions: u64,
    /// Input tokens billed.
    pub input_tokens_billed: u64,
    /// Output tokens billed.
    pub output_tokens_billed: u64,
    /// Answers per HTTP status, admin and model lists not counted.
    pub by_status: BTreeMap<u16, u64>,
    /// Connections open now.
    pub connections: u64,
    /// Connections ever accepted.
    pub connections_accepted: u64,
    /// The last 256 cancellations, oldest first.
    pub cancels: VecDeque<Cancel>,
}

/// One client that hung up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cancel {
    /// The provider's `x-request-id` of that answer.
    pub request_id: String,
    /// When it was noticed, milliseconds since 1970.
    pub at_unix_ms: u64,
    /// Output tokens generated until then.
    pub tokens: u32,
}

impl Stats {
    pub(crate) fn enter(&mut self) {
        self.requests += 1;
        self.in_flight += 1;
        self.max_in_flight = self.max_in_flight.max(self.in_flight);
    }

    pub(crate) fn cancel(&mut self, cancel: Cancel) {
        self.in_flight -= 1;
        self.cancelled += 1;
        if self.cancels.len() == KEPT_CANCELS {
            self.cancels.pop_front();
        }
        self.cancels.push_back(cancel);
    }

    pub(crate) fn bill(&mut self, input: u32, output: u32) {
        self.input_tokens_billed += u64::from(input);
        self.output_tokens_billed += u64::from(output);
    }

    /// Zero counters; what is under way stays counted so that it can still end.
    pub(crate) fn reset(&mut self) {
        *self = Self {
            requests: self.in_flight,
            in_flight: self.in_flight,
            max_in_flight: self.in_flight,
            late_running: self.late_running,
            connections: self.connections,
            ..Self::default()
        };
    }
}
