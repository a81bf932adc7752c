//! Orders for a single call, written into its prompt: `@sim {"firstTokenMs":5000} @`.
//!
//! In: the texts of one prompt and the name of the provider that reads them. Out: one [`Marker`], later markers
//! winning field by field. A marker with `provider` counts only there, so one prompt can make region a slow and
//! region b fast, whichever of them is asked first. A marker that does not parse is an error and not ignored.

use serde::{Deserialize, Serialize};

use super::{Fault, OnCancel};

/// What one call does differently from the profile. Absent fields keep the profile's draw.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Marker {
    /// Only the provider of this name obeys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Milliseconds to the first token, as they are: load does not change them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_token_ms: Option<f64>,
    /// Factor on the first-token time that is drawn; without effect beside `firstTokenMs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowdown: Option<f64>,
    /// Milliseconds between tokens, as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap_ms: Option<f64>,
    /// Percent of the first-token time after which headers are sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers_percent: Option<f64>,
    /// Length of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u32>,
    /// Answer this error status (400 to 599).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Error code of that answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Its `Retry-After`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_s: Option<f64>,
    /// Its `retry-after-ms`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Call this tool instead of answering with text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Spoil the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// Go on or stop when the client leaves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_cancel: Option<OnCancel>,
    /// Report this many input tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u32>,
    /// Report this many of them as read from the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u32>,
}

/// A marker that cannot be obeyed.
#[derive(Debug, thiserror::Error)]
#[error("the text after `@sim` is not an order ({0}); write `@sim {{\"firstTokenMs\":100}} @`")]
pub struct MarkerError(#[from] serde_json::Error);

const OPEN: &str = "@sim ";

impl Marker {
    /// The marker as prompt text.
    pub fn text(&self) -> String {
        format!("{OPEN}{} @", serde_json::json!(self))
    }

    /// Obeys every marker of `text` that is meant for `provider`.
    pub(crate) fn absorb(&mut self, text: &str, provider: &str) -> Result<(), MarkerError> {
        let mut rest = text;
        while let Some(at) = rest.find(OPEN) {
            rest = &rest[at + OPEN.len()..];
            let mut parsed = serde_json::Deserializer::from_str(rest).into_iter::<Marker>();
            let Some(found) = parsed.next() else { break };
            let found = found?;
            rest = &rest[parsed.byte_offset()..];
            if found.provider.as_deref().is_none_or(|name| name == provider) {
                self.merge(found);
            }
        }
        Ok(())
    }

    fn merge(&mut self, other: Self) {
        let keep = std::mem::take(self);
        *self = Self {
            provider: None,
            first_token_ms: other.first_token_ms.or(keep.first_token_ms),
            slowdown: other.slowdown.or(keep.slowdown),
            gap_ms: other.gap_ms.or(keep.gap_ms),
            headers_percent: other.headers_percent.or(keep.headers_percent),
            tokens: other.tokens.or(keep.tokens),
            status: other.status.or(keep.status),
            code: other.code.or(keep.code),
            retry_after_s: other.retry_after_s.or(keep.retry_after_s),
            retry_after_ms: other.retry_after_ms.or(keep.retry_after_ms),
            tool: other.tool.or(keep.tool),
            fault: other.fault.or(keep.fault),
            on_cancel: other.on_cancel.or(keep.on_cancel),
            input_tokens: other.input_tokens.or(keep.input_tokens),
            cached_tokens: other.cached_tokens.or(keep.cached_tokens),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_survives_the_way_through_a_prompt() {
        let order =
            Marker { first_token_ms: Some(5.0), fault: Some(Fault::CutAtToken(2)), ..Marker::default() };
        let mut read = Marker::default();
        read.absorb(&format!("hello {} world", order.text()), "a").unwrap();
        assert_eq!(read, order);
    }

    #[test]
    fn each_provider_obeys_its_own_orders_and_later_ones_win() {
        let text =
            r#"@sim {"provider":"a","tokens":1} @ @sim {"provider":"b","tokens":2} @ @sim {"gapMs":3} @"#;
        for (name, tokens) in [("a", Some(1)), ("b", Some(2)), ("c", None)] {
            let mut read = Marker::default();
            read.absorb(text, name).unwrap();
            assert_eq!((read.tokens, read.gap_ms), (tokens, Some(3.0)), "provider {name}");
        }
    }

    #[test]
    fn a_misspelt_order_is_an_error() {
        assert!(Marker::default().absorb(r#"@sim {"token":1} @"#, "a").is_err());
        assert!(Marker::default().absorb("@sim please be slow", "a").is_err());
        assert!(Marker::default().absorb("write to me@simple.org", "a").is_ok());
    }
}
