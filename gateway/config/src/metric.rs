//! Metric and label names that both sides use. The gateway registers them, the operator and the dashboards read them.
//!
//! Names with a `gen_ai_` prefix follow the OpenTelemetry semantic conventions for generative AI,
//! version [`OTEL_SEMCONV_VERSION`]; the rest is ours. `_total` is added by the OpenMetrics writer where this list shows it.

/// Version of the semantic conventions that the `gen_ai_` names follow, those of spans too.
pub const OTEL_SEMCONV_VERSION: &str = "1.37.0";

/// First token of streams and complete answers, per route and model, in seconds.
pub const TIME_TO_FIRST_TOKEN: &str = "gen_ai_server_time_to_first_token_seconds";
/// Tokens used; label `gen_ai_token_type` is `input` or `output`.
pub const TOKEN_USAGE: &str = "gen_ai_client_token_usage";
/// Attempts ended; labels `route`, `kind`, `outcome`.
pub const ATTEMPTS: &str = "hedgerow_attempts_total";
/// Spend in micro-units; labels `role`, `basis`.
pub const SPEND_MICROS: &str = "hedgerow_spend_micros_total";
/// User actions in flight; label `lane`.
pub const IN_FLIGHT: &str = "hedgerow_in_flight";
/// Attempts in flight; label `route`.
pub const ATTEMPTS_IN_FLIGHT: &str = "hedgerow_attempts_in_flight";
/// User actions waiting; label `lane`.
pub const QUEUED: &str = "hedgerow_queued";
/// Balance of a retry and hedge budget in tokens; label `model`.
pub const BUDGET_TOKENS: &str = "hedgerow_budget_tokens";
/// 1 for the state that the breaker is in; labels `route`, `state`.
pub const BREAKER_STATE: &str = "hedgerow_breaker_state";
/// Hedges sent; labels `cohort`, `outcome`.
pub const HEDGES: &str = "hedgerow_hedges_total";
/// Timer firings that sent no hedge; labels `cohort`, `reason`.
pub const HEDGE_SUPPRESSED: &str = "hedgerow_hedge_suppressed_total";
/// User actions shed; labels `lane`, `reason`.
pub const SHED: &str = "hedgerow_shed_total";
/// Concurrency limit; label `lane`.
pub const LANE_LIMIT: &str = "hedgerow_lane_limit";
/// User actions ended; labels `cohort`, `lane`, `status_class`.
pub const ACTIONS: &str = "hedgerow_user_actions_total";
/// Answers that broke their policy's contract; labels `route`, `breach`.
pub const CONTRACT_BREACHES: &str = "hedgerow_contract_breaches_total";
/// What is left of a provider's limit; labels `route`, `gen_ai_request_model`, `unit`.
pub const QUOTA_LEFT: &str = "hedgerow_quota_left";
/// Configurations refused.
pub const CONFIG_REJECTED: &str = "hedgerow_config_rejected_total";
/// 1 while the certificate that is mounted for the traffic port cannot be served.
pub const CERTIFICATE_UNUSABLE: &str = "hedgerow_certificate_unusable";
/// Connections that ended before their TLS handshake was over.
pub const HANDSHAKES_FAILED: &str = "hedgerow_handshakes_failed_total";
/// Records dropped because the writer was behind.
pub const RECORDS_DROPPED: &str = "hedgerow_records_dropped_total";
/// Spans lost: the collector was behind, away, or refused them.
pub const SPANS_DROPPED: &str = "hedgerow_spans_dropped_total";

/// First-token buckets in seconds: 0.05 to 120, dense from 1 to 20.
pub const FIRST_TOKEN_BUCKETS: [f64; 24] = [
    0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0,
    15.0, 20.0, 30.0, 60.0, 120.0,
];
