//! Reads the body of an error, whichever server wrote it.
//!
//! Inputs: bytes of a JSON error, from an error status, from a 200 that is none, or from inside a stream. Outputs:
//! an [`ErrorBody`] with the few facts that classification needs. Invariants: bounded (long texts are cut), no
//! panics, unknown shapes give what they have. The message is kept only to match known wordings; it can hold parts
//! of a prompt, so it is never shown or logged, and `Debug` leaves it out.
//!
//! Shapes known: OpenAI and clones, Azure (`innererror`), Anthropic (`details.error_code`), Google (`status`,
//! `details[]`), vLLM (integer `code`), TGI (`error` is text), Mistral and FastAPI (`detail`), AWS (`__type`),
//! Responses events (`error`, `response.failed`), OpenRouter, Cloudflare pages in JSON (`retry_after`).

use std::fmt;
use std::time::Duration;

use super::{json, retry_after};

const CODE_BYTES: usize = 96;
const MESSAGE_BYTES: usize = 512;

/// What an error body says.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct ErrorBody {
    /// `code` when it is a word.
    pub code: Option<Box<str>>,
    /// `type`, `status` or `__type` when it is a word.
    pub kind: Option<Box<str>>,
    /// The inner code that is more exact than `code`: Azure's `innererror.code`, Anthropic's `details.error_code`.
    pub detail: Option<Box<str>>,
    /// The name of the request field at fault.
    pub param: Option<Box<str>>,
    /// An HTTP status inside the body, 100 to 599.
    pub status: Option<u16>,
    /// The start of the message. May hold user data.
    pub message: Option<Box<str>>,
    /// How long the body asks to wait.
    pub wait: Option<Duration>,
}

impl fmt::Debug for ErrorBody {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ErrorBody")
            .field("code", &self.code)
            .field("kind", &self.kind)
            .field("detail", &self.detail)
            .field("status", &self.status)
            .field("wait", &self.wait)
            .finish_non_exhaustive()
    }
}

impl ErrorBody {
    /// Reads the body of an answer whose status already says that it is an error. `None`: not a JSON object.
    pub fn parse(body: &[u8]) -> Option<Self> {
        let object = outer(body)?;
        let mut found = Self::default();
        found.fields(object);
        Some(found)
    }

    /// Looks for an error in what should be a success: a 200 body or a frame of a stream. Only what no success has
    /// counts: a filled `error`, or a type or object of that name.
    pub fn in_success(body: &[u8]) -> Option<Self> {
        let object = outer(body)?;
        let says_error = |(key, value): (&[u8], &[u8])| match key {
            b"error" => is_failure(value),
            b"type" | b"object" => value == br#""error""#,
            b"__type" => true,
            _ => false,
        };
        json::entries(object).any(says_error).then(|| Self::parse(object)).flatten()
    }

    fn fields(&mut self, object: &[u8]) {
        for (key, value) in json::entries(object) {
            match key {
                b"error" if value.starts_with(b"{") => self.fields(value),
                b"error" | b"message" | b"detail" if self.message.is_none() => self.message(value),
                b"type" | b"status" | b"__type" | b"error_type" => self.kind(value),
                b"code" | b"error_code" => self.code(value),
                b"param" => self.param = word(value).or(self.param.take()),
                b"innererror" | b"inner_error" => self.detail = inner(value, b"code"),
                b"details" | b"metadata" => self.details(value),
                b"retry_after" | b"retryDelay" => self.wait = self.wait.or_else(|| seconds(value)),
                _ => {}
            }
        }
    }

    fn kind(&mut self, value: &[u8]) {
        self.number(value);
        // `{"type":"error", "error":{...}}`: the envelope names itself, which says nothing.
        let Some(kind) = word(value).filter(|kind| &**kind != "error" && &**kind != "response.failed") else {
            return;
        };
        let name = kind.rsplit(['#', '.']).next().filter(|_| kind.contains('#'));
        self.kind = Some(name.map_or(kind.clone(), Into::into));
    }

    fn code(&mut self, value: &[u8]) {
        if !self.number(value) {
            self.code = word(value).or(self.code.take());
        }
    }

    /// Takes a status that is written as a number or as digits in a string (Azure).
    fn number(&mut self, value: &[u8]) -> bool {
        let status = json::count(json::inside(value).unwrap_or(value));
        let Some(status) = status else { return false };
        if (100..600).contains(&status) {
            self.status = Some(status as u16);
        }
        true
    }

    fn message(&mut self, value: &[u8]) {
        let Some(text) = json::text(value) else { return };
        self.wait = self.wait.or_else(|| retry_after::in_text(&text));
        self.message = Some(cut(&text, MESSAGE_BYTES).into());
    }

    fn details(&mut self, value: &[u8]) {
        if let Some(code) = inner(value, b"error_code") {
            self.detail = Some(code);
        }
        for item in json::items(value) {
            let delay = json::get(item, b"retryDelay").and_then(seconds);
            self.wait = delay.or(self.wait);
            self.detail = inner(item, b"reason").or(self.detail.take());
        }
    }
}

/// Whether a top-level `error` says that something failed; SDKs take any value that is true in Python.
pub(super) fn is_failure(error: &[u8]) -> bool {
    !matches!(error, b"null" | b"\"\"" | b"{}" | b"false" | b"0" | b"[]")
}

/// The object that holds the error: Google wraps it in an array, a failed Responses event in `response`.
fn outer(body: &[u8]) -> Option<&[u8]> {
    let body = body.trim_ascii();
    let body = if body.starts_with(b"[") { json::items(body).next()? } else { body };
    if !body.starts_with(b"{") {
        return None;
    }
    let response = json::get(body, b"response").filter(|inner| json::present(inner, b"error").is_some());
    Some(response.unwrap_or(body))
}

fn inner(object: &[u8], key: &[u8]) -> Option<Box<str>> {
    word(json::get(object, key)?)
}

fn word(value: &[u8]) -> Option<Box<str>> {
    json::text(value).filter(|text| !text.is_empty()).map(|text| cut(&text, CODE_BYTES).into())
}

fn seconds(value: &[u8]) -> Option<Duration> {
    retry_after::duration(std::str::from_utf8(json::inside(value).unwrap_or(value)).ok()?)
}

fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Facts<'a> = (Option<&'a str>, Option<&'a str>, Option<&'a str>, Option<u16>, Option<u64>);

    fn facts(body: &str) -> Option<ErrorBody> {
        ErrorBody::parse(body.as_bytes())
    }

    #[test]
    fn every_known_shape_is_read() {
        let cases: [(&str, Facts<'_>); 13] = [
            (
                r#"{"error":{"message":"m","type":"requests","param":null,"code":"rate_limit_exceeded"}}"#,
                (Some("rate_limit_exceeded"), Some("requests"), None, None, None),
            ),
            (
                r#"{"error":{"code":"429","message":"x","innererror":{"code":"Inner"}}}"#,
                (None, None, Some("Inner"), Some(429), None),
            ),
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"m"},"request_id":"r"}"#,
                (None, Some("overloaded_error"), None, None, None),
            ),
            (
                r#"{"type":"error","error":{"type":"rate_limit_error","details":{"error_code":"enforced_spend_limit_reached"}}}"#,
                (None, Some("rate_limit_error"), Some("enforced_spend_limit_reached"), None, None),
            ),
            (
                r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"m","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"52s"}]}}"#,
                (None, Some("RESOURCE_EXHAUSTED"), None, Some(429), Some(52_000)),
            ),
            (
                r#"[{"error":{"code":400,"details":[{"reason":"API_KEY_INVALID"}]}}]"#,
                (None, None, Some("API_KEY_INVALID"), Some(400), None),
            ),
            (
                r#"{"error":{"message":"Please retry in 52.454646382s.","code":429}}"#,
                (None, None, None, Some(429), Some(52_454)),
            ),
            (
                r#"{"error":"Model is overloaded","error_type":"overloaded"}"#,
                (None, Some("overloaded"), None, None, None),
            ),
            (
                r#"{"object":"error","message":"m","type":"BadRequestError","code":400}"#,
                (None, Some("BadRequestError"), None, Some(400), None),
            ),
            (
                r#"{"__type":"com.amazonaws#ThrottlingException","message":"m"}"#,
                (None, Some("ThrottlingException"), None, None, None),
            ),
            (
                r#"{"type":"error","code":"server_error","message":"m","param":null}"#,
                (Some("server_error"), None, None, None, None),
            ),
            (
                r#"{"type":"response.failed","response":{"id":"r","error":{"code":"rate_limit_exceeded","message":"m"},"status":"failed"}}"#,
                (Some("rate_limit_exceeded"), Some("failed"), None, None, None),
            ),
            (r#"{"retry_after":30,"status":522}"#, (None, None, None, Some(522), Some(30_000))),
        ];
        for (body, wanted) in cases {
            let found = facts(body).unwrap();
            let wait = found.wait.map(|wait| wait.as_millis() as u64);
            assert_eq!(
                (found.code.as_deref(), found.kind.as_deref(), found.detail.as_deref(), found.status, wait),
                wanted,
                "{body}"
            );
        }
    }

    #[test]
    fn a_success_is_not_taken_for_an_error() {
        for body in [
            r#"{"id":"r","object":"response","error":null,"status":"completed"}"#,
            r#"{"choices":[{"message":{"content":"{\"error\":1}"}}]}"#,
            r#"{"type":"message","content":[]}"#,
            "[1]",
            "<html>",
            "",
        ] {
            assert_eq!(ErrorBody::in_success(body.as_bytes()), None, "{body}");
        }
        for body in
            [r#"{"error":"x"}"#, r#"{"error":{"code":1}}"#, r#"{"type":"error"}"#, r#"{"object":"error"}"#]
        {
            assert!(ErrorBody::in_success(body.as_bytes()).is_some(), "{body}");
        }
    }

    #[test]
    fn messages_are_cut_and_never_shown() {
        let body = format!(r#"{{"error":{{"message":"secret {}"}}}}"#, "日".repeat(400));
        let found = facts(&body).unwrap();
        assert!(found.message.as_deref().is_some_and(|text| text.len() <= 512));
        assert!(!format!("{found:?}").contains("secret"));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = ErrorBody::parse(&bytes);
            let _ = ErrorBody::in_success(&bytes);
        }
    }
}
