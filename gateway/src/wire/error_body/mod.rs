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
    /// How long the body asks to wait: the longest of its hints, because one of them is often rounded down.
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
        json::entries(object)
            .any(|(key, value)| says_error(key, value))
            .then(|| Self::parse(object))
            .flatten()
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
                b"retry_after" | b"retryDelay" => self.wait = self.wait.max(seconds(value)),
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
        self.wait = self.wait.max(retry_after::in_text(&text));
        self.message = Some(cut(&text, MESSAGE_BYTES).into());
    }

    fn details(&mut self, value: &[u8]) {
        if let Some(code) = inner(value, b"error_code") {
            self.detail = Some(code);
        }
        for item in json::items(value) {
            self.wait = self.wait.max(json::get(item, b"retryDelay").and_then(seconds));
            self.detail = inner(item, b"reason").or(self.detail.take());
        }
    }
}

/// Whether a top-level entry is one that no success has.
pub(super) fn says_error(key: &[u8], value: &[u8]) -> bool {
    match key {
        b"error" => is_failure(value),
        b"type" | b"object" => value == br#""error""#,
        b"__type" => true,
        _ => false,
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
mod tests;
