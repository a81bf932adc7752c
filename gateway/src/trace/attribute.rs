//! Attributes of spans: their names, what they say, and how they are written.
//!
//! Names that OpenTelemetry's semantic conventions have are theirs, version
//! [`OTEL_SEMCONV_VERSION`](hedgerow_config::metric::OTEL_SEMCONV_VERSION); the rest is ours, under `hedgerow.`.
//! Invariants: every name is listed in [`CATALOG`], from which `docs/traces.md` is made, and every listed one is used (both
//! tested); values are configured names, words of closed lists, numbers, and the ids that records have too.

use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};

/// Operation: `chat`, `text_completion`, `embeddings` or `count_tokens`.
pub const OPERATION: &str = "gen_ai.operation.name";
/// Provider.
pub const PROVIDER: &str = "gen_ai.provider.name";
/// Model.
pub const MODEL: &str = "gen_ai.request.model";
/// Cap on the answer.
pub const MAX_TOKENS: &str = "gen_ai.request.max_tokens";
/// Input tokens.
pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// Output tokens.
pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
/// Method.
pub const METHOD: &str = "http.request.method";
/// Status.
pub const STATUS: &str = "http.response.status_code";
/// What went wrong.
pub const ERROR: &str = "error.type";
/// Host of the provider.
pub const SERVER: &str = "server.address";
/// Port of the provider.
pub const PORT: &str = "server.port";
/// The user action's id.
pub const ACTION: &str = "hedgerow.action.id";
/// Our id of the request.
pub const REQUEST: &str = "hedgerow.request.id";
/// Streaming.
pub const STREAM: &str = "hedgerow.stream";
/// Cohort.
pub const COHORT: &str = "hedgerow.cohort";
/// Lane.
pub const LANE: &str = "hedgerow.lane";
/// State of the cohort's decision.
pub const GUARDRAIL: &str = "hedgerow.guardrail";
/// Attempts sent.
pub const ATTEMPTS: &str = "hedgerow.attempts";
/// A hedge was sent.
pub const HEDGED: &str = "hedgerow.hedge.sent";
/// Delay of the timer.
pub const HEDGE_DELAY: &str = "hedgerow.hedge.delay_ms";
/// Why no hedge was sent.
pub const HEDGE_REASON: &str = "hedgerow.hedge.reason";
/// Arm.
pub const ARM: &str = "hedgerow.hedge.arm";
/// Number of the winner.
pub const WINNER: &str = "hedgerow.winner.attempt";
/// Route of the winner.
pub const WINNER_ROUTE: &str = "hedgerow.winner.route";
/// Why the lane refused it.
pub const SHED: &str = "hedgerow.shed.reason";
/// Class of the end.
pub const CLASS: &str = "hedgerow.status_class";
/// Whose fault.
pub const SCOPE: &str = "hedgerow.error.scope";
/// Number of the attempt.
pub const ATTEMPT: &str = "hedgerow.attempt.number";
/// Why it was started.
pub const KIND: &str = "hedgerow.attempt.kind";
/// How it ended.
pub const OUTCOME: &str = "hedgerow.attempt.outcome";
/// What it was paid as.
pub const ROLE: &str = "hedgerow.attempt.role";
/// Contract.
pub const CONTRACT: &str = "hedgerow.attempt.contract_valid";
/// Route.
pub const ROUTE: &str = "hedgerow.route";
/// The provider's request id.
pub const UPSTREAM_REQUEST: &str = "hedgerow.upstream.request.id";
/// How well tokens are known.
pub const BASIS: &str = "hedgerow.usage.basis";
/// Cost.
pub const COST: &str = "hedgerow.cost_micros";
/// Cost of losers.
pub const COST_LOST: &str = "hedgerow.cost_lost_micros";

/// What has an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// Spans of user actions.
    Action,
    /// Spans of attempts.
    Attempt,
    /// Both.
    Both,
}

impl On {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Action => "user action",
            Self::Attempt => "attempt",
            Self::Both => "both",
        }
    }
}

/// Every attribute: name, what has it, what it says.
pub const CATALOG: [(&str, On, &str); 37] = [
    (OPERATION, On::Both, "`chat`, `text_completion`, `embeddings` or `count_tokens`"),
    (PROVIDER, On::Attempt, "`failureDomain.provider` of the route"),
    (
        MODEL,
        On::Both,
        "The public model; of an attempt the name that its provider was asked for. Absent for what only `*` lists",
    ),
    (MAX_TOKENS, On::Both, "Cap on the answer that the client asked for"),
    (INPUT_TOKENS, On::Attempt, "Input tokens, cached ones included"),
    (OUTPUT_TOKENS, On::Attempt, "Output tokens"),
    (METHOD, On::Action, "`POST`"),
    (STATUS, On::Both, "What the client got, or what the provider answered. Absent without an answer"),
    (
        ERROR,
        On::Both,
        "With an error only: the gateway's kind of error, or the provider's status, else the outcome",
    ),
    (SERVER, On::Attempt, "Host of the route's endpoint"),
    (PORT, On::Attempt, "Port of the route's endpoint"),
    (ACTION, On::Action, "`x-hedgerow-action`; `user_action_id` of records"),
    (REQUEST, On::Action, "`x-request-id`; `request_id` of records"),
    (STREAM, On::Action, "Whether the answer streams"),
    (COHORT, On::Action, "Cohort; absent without one"),
    (LANE, On::Action, "Lane"),
    (GUARDRAIL, On::Action, "State of the cohort's decision"),
    (ATTEMPTS, On::Action, "Attempts sent"),
    (HEDGED, On::Action, "Whether a hedge was sent"),
    (HEDGE_DELAY, On::Action, "Delay that was armed, in milliseconds"),
    (HEDGE_REASON, On::Action, "Why no hedge was sent; the words of `hedgerow_hedge_suppressed_total`"),
    (ARM, On::Action, "`hedge`, `control` or `thinned`; absent when the timer did not fire"),
    (WINNER, On::Action, "Number of the attempt that the client got"),
    (WINNER_ROUTE, On::Action, "Its route"),
    (SHED, On::Action, "Why the lane refused it; the words of `hedgerow_shed_total`"),
    (CLASS, On::Action, "`status_class` of records"),
    (SCOPE, On::Both, "`error_scope` of records; absent without an error"),
    (ATTEMPT, On::Attempt, "1 for the first"),
    (KIND, On::Attempt, "`primary`, `hedge` or `retry`"),
    (OUTCOME, On::Attempt, "`outcome` of records"),
    (ROLE, On::Attempt, "`winner`, `loser` or `retry`"),
    (CONTRACT, On::Attempt, "Whether its answer kept the contract, as far as it was read"),
    (ROUTE, On::Attempt, "Route"),
    (UPSTREAM_REQUEST, On::Attempt, "The provider's request id"),
    (
        BASIS,
        On::Both,
        "How well the tokens are known: `exact`, `lowerBound`, `estimated` or `unknown`; of a user action the weakest",
    ),
    (
        COST,
        On::Both,
        "Cost in millionths of the account currency; of a user action all of it. Absent = unpriced",
    ),
    (COST_LOST, On::Action, "What of it losers cost"),
];

/// The table of `docs/traces.md`.
pub fn markdown() -> String {
    use std::fmt::Write as _;
    let mut text = "| Attribute | On | Says |\n| --- | --- | --- |\n".to_owned();
    for (name, on, says) in CATALOG {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| `{name}` | {} | {says} |", on.as_str());
    }
    text
}

/// Attributes in the order of their writing; what says nothing is left out.
#[derive(Default)]
pub(super) struct Attributes(Vec<KeyValue>);

impl Attributes {
    /// Empty, with room for what most spans have.
    pub(super) fn new() -> Self {
        Self(Vec::with_capacity(24))
    }

    /// A text, unless it is empty.
    pub(super) fn text(self, name: &'static str, text: &str) -> Self {
        if text.is_empty() { self } else { self.with(name, Value::StringValue(text.to_owned())) }
    }

    /// A number, if there is one.
    pub(super) fn number(self, name: &'static str, number: impl Into<Option<u64>>) -> Self {
        match number.into() {
            Some(number) => self.with(name, Value::IntValue(i64::try_from(number).unwrap_or(i64::MAX))),
            None => self,
        }
    }

    /// Yes or no.
    pub(super) fn flag(self, name: &'static str, flag: bool) -> Self {
        self.with(name, Value::BoolValue(flag))
    }

    /// All of them.
    pub(super) fn done(self) -> Vec<KeyValue> {
        self.0
    }

    fn with(mut self, name: &'static str, value: Value) -> Self {
        let value = Some(AnyValue { value: Some(value) });
        self.0.push(KeyValue { key: name.to_owned(), value, ..KeyValue::default() });
        self
    }
}
