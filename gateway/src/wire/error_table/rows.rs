//! The error table itself. To teach the gateway a new error, add a line above the first one that would catch it.
//!
//! Order: codes in the body, then types, each with its wordings first; then statuses, each with its wordings first.
//! Sources: OpenAI's error guide and SDKs (OA), Anthropic's error page and SDK (AN), Azure OpenAI's quota pages (AZ),
//! google.rpc.Code and Gemini's troubleshooting page (GG), the Bedrock service model (BR), server sources of vLLM,
//! SGLang and TGI (VL, SG, TG), OpenRouter, DeepSeek, Together and Mistral documentation (OR, DS, TO, MI), RFC 9110.

use super::super::dialect::Dialect::{self, Anthropic, OpenAi};
use super::Retry::{self, Any, No, OtherQuotaGroup, OtherRoute};
use super::Row;
use super::Scope::{self, Group, Pushback, Quota, RouteLocal, Transient};

/// Wordings of "the prompt is longer than the model's window".
const CONTEXT: &[&str] = &[
    "maximum context length",
    "model's context length",
    "context window",
    "prompt is too long",
    "input is too long",
    "too many tokens",
    "max_model_len",
    "inputs tokens + max_new_tokens",
];
/// Wordings of "there is no capacity now".
const BUSY: &[&str] =
    &["overloaded", "high demand", "capacity", "try again later", "too busy", "server is busy"];

/// What meets no row: a status outside 300 to 599, or an error inside a success that names nothing known.
pub(super) const UNKNOWN: Row =
    row("unknown", Transient, Any, "an error without a known word says only that it failed");

/// The table.
#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    // Codes.
    row("quota", Quota, OtherQuotaGroup, "OA, AN").codes(&["insufficient_quota", "credit_balance_exhausted", "organization_spend_limit_exceeded",
        "project_spend_limit_exceeded", "organization_usage_limit_exceeded", "billing_hard_limit_reached", "billing_not_active", "enforced_spend_limit_reached"]),
    row("request-over-limit", RouteLocal, OtherRoute, "OA").codes(&["rate_limit_exceeded"]).wordings(&["request too large"]),
    row("rate-limit", Pushback, OtherQuotaGroup, "OA, AZ").codes(&["rate_limit_exceeded", "slow_down", "too_many_requests", "RateLimitReached"]),
    row("overload", Pushback, OtherQuotaGroup, "OA").codes(&["server_is_overloaded", "engine_overloaded", "model_overloaded", "NoCapacity"]),
    row("context", Group, OtherRoute, "OA; another route may have a larger window").codes(&["context_length_exceeded"]),
    row("content-policy", Group, No, "OA, AZ; nobody shops for a laxer filter").codes(&["content_policy_violation", "content_filter", "ResponsibleAIPolicyViolation", "invalid_prompt"]),
    row("pinned", RouteLocal, No, "OA; bound to the account that made it").codes(&["invalid_encrypted_content", "previous_response_not_found"]),
    row("key", RouteLocal, OtherRoute, "OA, GG").codes(&["invalid_api_key", "account_deactivated", "ip_not_authorized", "API_KEY_INVALID", "invalid_organization", "mismatched_organization", "mismatched_project"]),
    row("model", RouteLocal, OtherRoute, "OA, AZ").codes(&["model_not_found", "DeploymentNotFound", "unsupported_country_region_territory", "OperationNotSupported"]),
    row("server-code", Transient, Any, "OA").codes(&["server_error", "internal_error", "internal_server_error", "vector_store_timeout", "timeout"]),
    row("image", Group, No, "OA").codes(&["invalid_image", "invalid_image_format", "invalid_base64_image", "invalid_image_url", "image_too_large", "image_too_small",
        "image_parse_error", "image_content_policy_violation", "unsupported_image_media_type", "empty_image_file", "image_file_too_large"]),
    // Types, with their wordings first.
    row("quota-type", Quota, OtherQuotaGroup, "OA, AN").kinds(&["insufficient_quota", "billing_error"]),
    row("spend-limit", Quota, OtherQuotaGroup, "AN; a spend limit is told as a bad request").dialect(Anthropic).kinds(&["invalid_request_error"])
        .wordings(&["credit balance is too low", "spend limit", "usage limit"]),
    row("service-tier", RouteLocal, OtherRoute, "OA; a project setting").dialect(OpenAi).kinds(&["invalid_request_error"]).wordings(&["invalid service_tier"]),
    row("context-type", Group, OtherRoute, "AN, VL, SG").kinds(&["invalid_request_error", "BadRequestError", "invalid_request"]).wordings(CONTEXT),
    row("maybe-server-fault", Group, OtherRoute, "VL; older versions answer 400 to their own faults").dialect(OpenAi).kinds(&["BadRequestError"]).status(400),
    row("bad-request-type", Group, No, "OA, AN").kinds(&["invalid_request_error"]).status(400),
    row("bad-request-inside", Group, No, "OA, AN").kinds(&["invalid_request_error"]).status(0),
    row("authentication-type", RouteLocal, OtherRoute, "AN, OA").kinds(&["authentication_error", "permission_error", "not_found_error", "NotFoundError"]),
    row("too-large-type", Group, No, "AN").kinds(&["request_too_large"]),
    row("request-over-limit-type", RouteLocal, OtherRoute, "OA").kinds(&["tokens", "rate_limit_error"]).wordings(&["request too large"]),
    row("rate-limit-type", Pushback, OtherQuotaGroup, "AN, OA; `requests` and `tokens` name the limit").kinds(&["rate_limit_error", "requests", "tokens", "too_many_requests"]),
    row("overload-type", Pushback, OtherQuotaGroup, "AN, OA, TG").kinds(&["overloaded_error", "service_unavailable_error", "overloaded"]),
    row("server-type", Transient, Any, "AN, OA, VL, TG").kinds(&["api_error", "timeout_error", "conflict_error", "server_error", "InternalServerError", "generation", "incomplete_generation"]),
    row("validation-type", Group, No, "TG").kinds(&["validation"]),
    row("google-daily", Quota, OtherQuotaGroup, "GG").kinds(&["RESOURCE_EXHAUSTED"]).wordings(&["per day", "perday", "daily"]),
    row("google-provisioned", RouteLocal, OtherRoute, "GG; spill over to pay-as-you-go").kinds(&["RESOURCE_EXHAUSTED"]).wordings(&["provisioned throughput"]),
    row("google-busy", Pushback, OtherQuotaGroup, "GG").kinds(&["RESOURCE_EXHAUSTED", "UNAVAILABLE"]),
    row("google-bad-request", Group, No, "GG").kinds(&["INVALID_ARGUMENT", "OUT_OF_RANGE"]),
    row("google-route", RouteLocal, OtherRoute, "GG").kinds(&["PERMISSION_DENIED", "UNAUTHENTICATED", "NOT_FOUND", "FAILED_PRECONDITION", "UNIMPLEMENTED"]),
    row("google-server", Transient, Any, "GG").kinds(&["INTERNAL", "DEADLINE_EXCEEDED", "UNKNOWN", "ABORTED", "CANCELLED"]),
    row("aws-route-limit", RouteLocal, OtherRoute, "BR").kinds(&["ValidationException"]).wordings(&["on-demand throughput", "isn't supported on this route", "inference profile"]),
    row("aws-context", Group, OtherRoute, "BR").kinds(&["ValidationException"]).wordings(CONTEXT),
    row("aws-bad-request", Group, No, "BR").kinds(&["ValidationException"]),
    row("aws-quota", Quota, OtherQuotaGroup, "BR").kinds(&["ServiceQuotaExceededException"]),
    row("aws-throttled", Pushback, OtherQuotaGroup, "BR").kinds(&["ThrottlingException", "ServiceUnavailableException"]),
    row("aws-loading", Transient, OtherRoute, "BR; a 429 that is no throttling").kinds(&["ModelNotReadyException"]),
    row("aws-route", RouteLocal, OtherRoute, "BR").kinds(&["AccessDeniedException", "ResourceNotFoundException", "InvalidClientTokenId", "UnrecognizedClientException",
        "IncompleteSignature", "RequestExpired", "ExpiredTokenException", "FTUFormNotFilled"]),
    row("aws-server", Transient, Any, "BR").kinds(&["ModelTimeoutException", "ModelErrorException", "ModelStreamErrorException", "InternalServerException"]),
    // Statuses, with their wordings first.
    row("redirect", RouteLocal, OtherRoute, "RFC 9110; the endpoint is not where the route says").statuses(300, 399),
    row("context-wording", Group, OtherRoute, "SG, VL, TO").statuses(400, 403).wordings(CONTEXT),
    row("bad-request", Group, OtherRoute, "RFC 9110; without a known word another route may confirm it").status(400),
    row("unauthorized", RouteLocal, OtherRoute, "RFC 9110").status(401),
    row("payment", Quota, OtherQuotaGroup, "OR, DS, AN").status(402),
    row("forbidden", RouteLocal, OtherRoute, "RFC 9110").status(403),
    row("not-found", RouteLocal, OtherRoute, "RFC 9110").statuses(404, 405),
    row("timeout", Transient, Any, "RFC 9110; 409 is a lock at both vendors").statuses(408, 409),
    row("too-large", Group, No, "AN, OA").status(413),
    row("unprocessable", Group, No, "OA, MI, TG, DS").status(422),
    row("generation-failed", Transient, Any, "BR, TG; 425 is RFC 8470").statuses(424, 425),
    row("request-over-limit-wording", RouteLocal, OtherRoute, "OA").status(429).wordings(&["request too large"]),
    row("quota-wording", Quota, OtherQuotaGroup, "OA").status(429).wordings(&["exceeded your current quota", "insufficient credits", "credit balance"]),
    row("too-many-requests", Pushback, OtherQuotaGroup, "RFC 6585").status(429),
    row("closed-by-us", Transient, Any, "GG").status(499),
    row("unknown-4xx", Group, OtherRoute, "confirm on another route, then believe it").statuses(400, 499),
    row("not-implemented", RouteLocal, OtherRoute, "VL").status(501),
    row("no-provider", RouteLocal, OtherRoute, "OR").status(503).wordings(&["no provider", "no endpoints found", "no allowed providers"]),
    row("overload-hint", Pushback, OtherQuotaGroup, "RFC 9110").status(503).header("retry-after"),
    row("overload-hint-ms", Pushback, OtherQuotaGroup, "OA, AZ").status(503).header("retry-after-ms"),
    row("overload-wording", Pushback, OtherQuotaGroup, "OA, DS").status(503).wordings(BUSY),
    row("overloaded", Pushback, OtherQuotaGroup, "AN; missing from many status tables").status(529),
    row("unknown-5xx", Transient, Any, "RFC 9110; 52x are Cloudflare's").statuses(500, 599),
];

const fn row(name: &'static str, scope: Scope, retry: Retry, source: &'static str) -> Row {
    Row {
        name,
        dialect: None,
        codes: &[],
        kinds: &[],
        statuses: None,
        wordings: &[],
        header: None,
        scope,
        retry,
        source,
    }
}

impl Row {
    const fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = Some(dialect);
        self
    }

    const fn codes(mut self, codes: &'static [&'static str]) -> Self {
        self.codes = codes;
        self
    }

    const fn kinds(mut self, kinds: &'static [&'static str]) -> Self {
        self.kinds = kinds;
        self
    }

    const fn status(self, status: u16) -> Self {
        self.statuses(status, status)
    }

    const fn statuses(mut self, first: u16, last: u16) -> Self {
        self.statuses = Some((first, last));
        self
    }

    const fn wordings(mut self, wordings: &'static [&'static str]) -> Self {
        self.wordings = wordings;
        self
    }

    const fn header(mut self, name: &'static str) -> Self {
        self.header = Some(name);
        self
    }
}
