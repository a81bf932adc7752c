//! Error documents and error frames of both dialects.
//!
//! In: a status and, where a test cares, a code. Out: the body that the vendor sends with it. The usual pairs
//! of status and code are data, from the vendors' error pages.

use super::Dialect;

/// What an error says.
#[derive(Debug, Clone)]
pub(crate) struct ErrorShape {
    pub(crate) status: u16,
    /// OpenAI: `code`; Anthropic: `error.type`. Absent: the usual one.
    pub(crate) code: Option<String>,
    pub(crate) message: String,
}

impl ErrorShape {
    pub(crate) fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, code: None, message: message.into() }
    }
}

/// Status, OpenAI `type`, OpenAI `code`, Anthropic `error.type`.
const USUAL: &[(u16, &str, Option<&str>, &str)] = &[
    (400, "invalid_request_error", None, "invalid_request_error"),
    (401, "invalid_request_error", Some("invalid_api_key"), "authentication_error"),
    (402, "insufficient_quota", Some("insufficient_quota"), "billing_error"),
    (403, "permission_error", Some("permission_denied"), "permission_error"),
    (404, "invalid_request_error", Some("model_not_found"), "not_found_error"),
    (408, "timeout_error", Some("timeout"), "timeout_error"),
    (409, "conflict_error", Some("conflict"), "conflict_error"),
    (413, "invalid_request_error", Some("request_too_large"), "request_too_large"),
    (429, "requests", Some("rate_limit_exceeded"), "rate_limit_error"),
    (503, "service_unavailable_error", Some("server_is_overloaded"), "overloaded_error"),
    (504, "timeout_error", Some("timeout"), "timeout_error"),
    (529, "service_unavailable_error", Some("server_is_overloaded"), "overloaded_error"),
];

/// The error as a document, one line, without a line end.
pub(crate) fn error_json(dialect: Dialect, error: &ErrorShape, request_id: &str) -> String {
    let row = USUAL.iter().find(|row| row.0 == error.status);
    let (kind, code, anthropic) =
        row.map_or(("server_error", Some("server_error"), "api_error"), |row| (row.1, row.2, row.3));
    let chosen = error.code.as_deref();
    let document = match dialect {
        Dialect::OpenAi => serde_json::json!({"error": {
            "message": error.message, "type": kind, "param": null, "code": chosen.or(code),
        }}),
        Dialect::Anthropic => serde_json::json!({
            "type": "error", "request_id": request_id,
            "error": {"type": chosen.unwrap_or(anthropic), "message": error.message},
        }),
    };
    document.to_string()
}

/// The error as an event inside a stream whose status is already 200.
pub(crate) fn error_frame(dialect: Dialect, error: &ErrorShape, request_id: &str) -> String {
    let json = error_json(dialect, error, request_id);
    match dialect {
        Dialect::OpenAi => format!("data: {json}\n\n"),
        Dialect::Anthropic => format!("event: error\ndata: {json}\n\n"),
    }
}
