//! Errors the gateway makes itself, written in the caller's dialect.
//!
//! An SDK must find what it expects of its provider (shape, `Retry-After`, `x-should-retry`), and a person must see
//! at once that the gateway answered, not the provider: every kind has a type of its own, `gateway_...`, except
//! `model_not_found`, which clients test for by that name.
//!
//! Inputs: an [`ErrorAnswer`]. Outputs: headers, a JSON body, or a frame for a stream that already began. It never
//! holds anything of a prompt, an answer or a key: messages are the gateway's own words.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use http::{Method, StatusCode};
use serde::Serialize;

use super::dialect::{Dialect, Operation};

/// The header both vendors' SDKs obey before they look at the status.
pub const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// What went wrong, as a client can test for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A lane, a route or the pod is full: 429.
    Overloaded,
    /// The deadline of the user action left no room: 504.
    Deadline,
    /// The request can't be understood or is ambiguous: 400.
    BadRequest,
    /// No or an unknown client key: 401.
    Unauthorized,
    /// The tenant may not do this: 403.
    Forbidden,
    /// The path is not served: 404.
    UnknownPath,
    /// The path is served, the method is not: 405.
    UnknownMethod,
    /// No route lists the model: 404.
    ModelNotFound,
    /// Body or headers over their limit: 413.
    TooLarge,
    /// No route is usable for this request: 503.
    NoRoute,
    /// Every attempt failed without an answer worth passing on: 502.
    UpstreamFailed,
    /// The answer broke off after it had begun: 502, seen as a frame.
    Truncated,
    /// The pod drains: 503.
    ShuttingDown,
    /// A fault of the gateway: 500.
    Internal,
}

impl Kind {
    /// The error's type on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Overloaded => "gateway_overloaded",
            Self::Deadline => "gateway_deadline",
            Self::BadRequest => "gateway_bad_request",
            Self::Unauthorized => "gateway_unauthorized",
            Self::Forbidden => "gateway_forbidden",
            Self::UnknownPath => "gateway_unknown_path",
            Self::UnknownMethod => "gateway_unknown_method",
            Self::ModelNotFound => "model_not_found",
            Self::TooLarge => "gateway_too_large",
            Self::NoRoute => "gateway_no_route",
            Self::UpstreamFailed => "gateway_upstream_failed",
            Self::Truncated => "gateway_truncated",
            Self::ShuttingDown => "gateway_shutting_down",
            Self::Internal => "gateway_internal",
        }
    }

    /// The status that belongs to it.
    pub const fn status(self) -> StatusCode {
        match self {
            Self::Overloaded => StatusCode::TOO_MANY_REQUESTS,
            Self::Deadline => StatusCode::GATEWAY_TIMEOUT,
            Self::BadRequest => StatusCode::BAD_REQUEST,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::UnknownPath | Self::ModelNotFound => StatusCode::NOT_FOUND,
            Self::UnknownMethod => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NoRoute | Self::ShuttingDown => StatusCode::SERVICE_UNAVAILABLE,
            Self::UpstreamFailed | Self::Truncated => StatusCode::BAD_GATEWAY,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// One error of the gateway's own.
#[derive(Debug, Clone)]
pub struct ErrorAnswer {
    /// What went wrong.
    pub kind: Kind,
    /// HTTP status; the kind's own unless set otherwise.
    pub status: StatusCode,
    /// What happened and what to do next, in the gateway's own words.
    pub message: Cow<'static, str>,
    /// How long to wait; shown in whole seconds, rounded up, at least 1.
    pub retry_after: Option<Duration>,
    /// What an SDK shall do, whatever the status says.
    pub should_retry: Option<bool>,
    /// The lane that refused.
    pub lane: Option<String>,
    /// The machine-readable reason inside the kind.
    pub reason: Option<Cow<'static, str>>,
    /// Our request id, repeated in the body where the dialect has a place for it.
    pub request_id: Option<String>,
}

impl ErrorAnswer {
    /// An error with the kind's own status and nothing optional.
    pub fn new(kind: Kind, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            status: kind.status(),
            message: message.into(),
            retry_after: None,
            should_retry: None,
            lane: None,
            reason: None,
            request_id: None,
        }
    }

    /// 404 that names the model nobody serves.
    pub fn model_not_found(model: &str) -> Self {
        let name: String = model.chars().take(200).collect();
        Self::new(
            Kind::ModelNotFound,
            format!("the model `{name}` does not exist here; GET /v1/models lists the ones that do"),
        )
    }

    /// 404 that names the path nobody serves.
    pub fn unknown_path(method: &Method, path: &str) -> Self {
        let path: String = path.chars().take(200).collect();
        Self::new(Kind::UnknownPath, format!("{method} {path} is not served by this gateway"))
    }

    /// Sets another status than the kind's own.
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Sets the wait.
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Tells SDKs to try again or not to.
    pub fn with_should_retry(mut self, retry: bool) -> Self {
        self.should_retry = Some(retry);
        self
    }

    /// Names the lane.
    pub fn with_lane(mut self, lane: impl Into<String>) -> Self {
        self.lane = Some(lane.into());
        self
    }

    /// Names the reason.
    pub fn with_reason(mut self, reason: impl Into<Cow<'static, str>>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Repeats our request id.
    pub fn with_request_id(mut self, id: impl Into<String>) -> Self {
        self.request_id = Some(id.into());
        self
    }

    /// The headers that belong to the error; the caller adds the ones every answer carries.
    pub fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::with_capacity(4);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(wait) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(whole_seconds(wait)));
        }
        if let Some(retry) = self.should_retry {
            headers.insert(SHOULD_RETRY, HeaderValue::from_static(if retry { "true" } else { "false" }));
        }
        headers
    }

    /// The JSON body.
    pub fn body(&self, dialect: Dialect) -> Bytes {
        self.json(dialect).into()
    }

    /// The error as a frame of a stream that already began for `operation`. It starts at a frame boundary: who cut a
    /// frame in two has to end it first.
    pub fn frame(&self, operation: Operation) -> Bytes {
        match operation {
            Operation::Messages | Operation::CountTokens => {
                framed(b"event: error\ndata: ", &self.json(Dialect::Anthropic))
            }
            Operation::Responses => {
                let flat = ResponsesEvent {
                    kind: "error",
                    code: self.kind.as_str(),
                    message: &self.message,
                    param: None,
                    error: self.openai(),
                };
                framed(b"event: error\ndata: ", &to_json(&flat))
            }
            _ => framed(b"data: ", &self.json(Dialect::OpenAi)),
        }
    }

    fn json(&self, dialect: Dialect) -> Vec<u8> {
        match dialect {
            Dialect::OpenAi => to_json(&OpenAiBody { error: self.openai() }),
            Dialect::Anthropic => to_json(&AnthropicBody {
                kind: "error",
                error: Fields {
                    message: &self.message,
                    kind: if self.kind == Kind::ModelNotFound {
                        "not_found_error"
                    } else {
                        self.kind.as_str()
                    },
                    code: self.kind.as_str(),
                    lane: self.lane.as_deref(),
                    reason: self.reason.as_deref(),
                },
                request_id: self.request_id.as_deref(),
            }),
        }
    }

    fn openai(&self) -> Fields<'_> {
        Fields {
            message: &self.message,
            kind: if self.kind == Kind::ModelNotFound { "invalid_request_error" } else { self.kind.as_str() },
            code: self.kind.as_str(),
            lane: self.lane.as_deref(),
            reason: self.reason.as_deref(),
        }
    }
}

/// Seconds for a `Retry-After` header: rounded up, at least 1, because 0 makes SDKs come back at once.
pub fn whole_seconds(wait: Duration) -> u64 {
    let up = wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0));
    up.max(1)
}

fn framed(head: &[u8], json: &[u8]) -> Bytes {
    [head, json, b"\n\n"].concat().into()
}

fn to_json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("strings and options always serialise")
}

#[derive(Serialize)]
struct OpenAiBody<'a> {
    error: Fields<'a>,
}

#[derive(Serialize)]
struct AnthropicBody<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    error: Fields<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
}

/// The Responses stream's error event is flat; the `error` object beside it is what openai-python raises on.
#[derive(Serialize)]
struct ResponsesEvent<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    code: &'a str,
    message: &'a str,
    param: Option<&'a str>,
    error: Fields<'a>,
}

#[derive(Serialize)]
struct Fields<'a> {
    message: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    code: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    lane: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> ErrorAnswer {
        ErrorAnswer::new(Kind::Overloaded, "lane `batch` is full")
            .with_retry_after(Duration::from_millis(1200))
            .with_should_retry(true)
            .with_lane("batch")
            .with_reason("QueueFull")
            .with_request_id("req-1")
    }

    #[test]
    fn an_error_reads_like_the_callers_own_provider() {
        let json = |dialect| String::from_utf8(full().body(dialect).to_vec()).unwrap();
        assert_eq!(
            json(Dialect::OpenAi),
            r#"{"error":{"message":"lane `batch` is full","type":"gateway_overloaded","code":"gateway_overloaded","lane":"batch","reason":"QueueFull"}}"#
        );
        assert_eq!(
            json(Dialect::Anthropic),
            r#"{"type":"error","error":{"message":"lane `batch` is full","type":"gateway_overloaded","code":"gateway_overloaded","lane":"batch","reason":"QueueFull"},"request_id":"req-1"}"#
        );
    }

    #[test]
    fn waits_are_whole_seconds_rounded_up_and_never_zero() {
        for (millis, wanted) in [(0, 1), (1, 1), (1000, 1), (1001, 2), (1_800_000, 1800)] {
            assert_eq!(whole_seconds(Duration::from_millis(millis)), wanted);
        }
        assert_eq!(full().headers()[RETRY_AFTER], "2");
        assert_eq!(full().headers()[SHOULD_RETRY], "true");
        assert_eq!(whole_seconds(Duration::MAX), u64::MAX);
    }

    #[test]
    fn frames_are_single_events_of_the_dialect() {
        let frame = |operation| String::from_utf8(full().frame(operation).to_vec()).unwrap();
        assert!(frame(Operation::ChatCompletions).starts_with(r#"data: {"error":{"#));
        assert!(
            frame(Operation::Messages).starts_with("event: error\ndata: {\"type\":\"error\",\"error\":{")
        );
        assert!(
            frame(Operation::Responses).contains(r#"{"type":"error","code":"gateway_overloaded","message":"#)
        );
        for operation in Operation::ALL {
            let text = frame(operation);
            assert!(text.ends_with("}\n\n") && text.matches("\n\n").count() == 1);
        }
    }

    #[test]
    fn an_unknown_model_is_what_clients_test_for() {
        let answer = ErrorAnswer::model_not_found("gpt-\"9");
        assert_eq!(answer.status, StatusCode::NOT_FOUND);
        let body = String::from_utf8(answer.body(Dialect::OpenAi).to_vec()).unwrap();
        assert!(body.contains(r#""type":"invalid_request_error","code":"model_not_found""#), "{body}");
        let body = String::from_utf8(answer.body(Dialect::Anthropic).to_vec()).unwrap();
        assert!(body.contains(r#""type":"not_found_error","code":"model_not_found""#), "{body}");
    }
}
