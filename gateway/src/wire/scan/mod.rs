//! One pass over a request body that finds what routing needs.
//!
//! Why it exists: a body of 100 KB holds a dozen fields that decide where it may go; parsing the rest costs several
//! times the whole remaining work of the gateway (measured: a tree 49 to 326 us, a typed parse 29 to 187 us, a walk
//! that jumps from quote to quote 4 to 33 us).
//!
//! Inputs: the whole body, because ineligibility is often an absence. Outputs: a [`Scan`], which holds spans and a
//! few counts and borrows nothing. Invariants: linear, no allocation, every top-level routing key is seen exactly
//! once in its plain spelling; what a provider might read differently from us (duplicate or escaped routing keys,
//! trailing data, no object) is refused, so that nobody can show one model to the gateway and another to a provider.
//! It refuses to judge values that routing does not need: those are the provider's to accept or not.

mod key;
mod marks;

use std::borrow::Cow;
use std::ops::Range;

use super::answer::{ErrorAnswer, Kind};
use super::json::{self, Entries, Fault};

pub use key::Key;
pub use marks::Marks;
use marks::Tally;
pub(super) use marks::is_blob;

/// Bytes of the prompt that affinity and fingerprints look at.
pub const HEAD_BYTES: usize = 4096;

/// A range of the body. Bodies end far below 4 GiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span as a range of indices.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Bytes inside.
    pub fn len(self) -> usize {
        self.range().len()
    }

    /// Whether nothing is inside; no JSON value is empty.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// Why a body is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScanError {
    /// The body is empty.
    #[error("the request body is empty; send a JSON object")]
    Empty,
    /// The body is over 4 GiB.
    #[error("the request body is too large to be read")]
    Oversized,
    /// Not JSON, or not closed.
    #[error("the request body is not a JSON object: {0}")]
    Json(#[from] Fault),
    /// Something follows the object.
    #[error("there is data after the JSON object at offset {at}; send exactly one object")]
    Trailing {
        /// Byte offset.
        at: usize,
    },
    /// A routing key appears twice.
    #[error("the key `{key}` appears twice; send it once")]
    Duplicate {
        /// The key.
        key: &'static str,
    },
    /// A routing key is spelt with escapes.
    #[error("the key `{key}` is written with escapes at offset {at}; write it plainly")]
    Escaped {
        /// The key.
        key: &'static str,
        /// Byte offset of the key.
        at: usize,
    },
    /// A routing key has a value of the wrong type.
    #[error("`{key}` must be {wanted}")]
    Type {
        /// The key.
        key: &'static str,
        /// What it must be.
        wanted: &'static str,
    },
    /// A routing key is missing.
    #[error("`{key}` is missing")]
    Missing {
        /// The key.
        key: &'static str,
    },
}

impl From<ScanError> for ErrorAnswer {
    fn from(error: ScanError) -> Self {
        Self::new(Kind::BadRequest, error.to_string()).with_should_retry(false)
    }
}

/// What one pass found. Borrows nothing: every accessor that reads takes the same body again.
#[derive(Debug, Clone)]
pub struct Scan {
    spans: [Span; Key::COUNT],
    stream: bool,
    include_usage: Option<bool>,
    open: u32,
    bare: bool,
    binary_bytes: u64,
    body_bytes: u64,
    marks: Marks,
}

/// Scans a whole request body.
pub fn scan(body: &[u8]) -> Result<Scan, ScanError> {
    if u32::try_from(body.len()).is_err() {
        return Err(ScanError::Oversized);
    }
    let mut cursor = json::Cursor::new(body);
    let Some(first) = cursor.peek() else { return Err(ScanError::Empty) };
    let open = cursor.offset();
    if first != b'{' {
        return Err(Fault::Syntax { at: open, wanted: "an object" }.into());
    }
    let mut scan = Scan {
        spans: [Span::default(); Key::COUNT],
        stream: false,
        include_usage: None,
        open: open as u32,
        bare: true,
        binary_bytes: 0,
        body_bytes: body.len() as u64,
        marks: Marks::default(),
    };
    let mut entries = json::entries(&body[open..]);
    while scan.entry(body, open, &mut entries)? {}
    let mut rest = json::Cursor::new(&body[open + entries.offset()..]);
    if rest.peek().is_some() {
        return Err(ScanError::Trailing { at: open + entries.offset() + rest.offset() });
    }
    scan.validate(body)?;
    Ok(scan)
}

impl Scan {
    #[inline]
    fn entry(&mut self, body: &[u8], open: usize, entries: &mut Entries<'_>) -> Result<bool, ScanError> {
        let step = entries.step(|key| Tally::new(Key::find(key).is_some_and(Key::holds_prompt)));
        let Some((key, value, tally)) = step.map_err(|fault| fault.moved(open))? else { return Ok(false) };
        self.bare = false;
        self.binary_bytes += tally.binary_bytes;
        self.marks |= tally.marks;
        let end = open + entries.offset();
        let span = Span { start: (end - value.len()) as u32, end: end as u32 };
        let Some(found) = Key::find(key) else {
            return key::escaped(key).map_or(Ok(true), |hidden| {
                let at = json::offset_in(body, key) - 1;
                Err(ScanError::Escaped { key: hidden.as_str(), at })
            });
        };
        let slot = &mut self.spans[found as usize];
        if !slot.is_empty() {
            return Err(ScanError::Duplicate { key: found.as_str() });
        }
        *slot = span;
        Ok(true)
    }

    fn validate(&mut self, body: &[u8]) -> Result<(), ScanError> {
        self.stream = match self.raw(Key::Stream, body) {
            None | Some(b"false" | b"null") => false,
            Some(b"true") => true,
            Some(_) => return Err(ScanError::Type { key: "stream", wanted: "true or false" }),
        };
        let Some(options) = self.raw(Key::StreamOptions, body) else { return Ok(()) };
        let mut seen = false;
        for (key, value) in json::entries(options) {
            if key == b"include_usage" {
                if seen {
                    return Err(ScanError::Duplicate { key: "stream_options.include_usage" });
                }
                seen = true;
                self.include_usage = flag(value);
            }
        }
        Ok(())
    }

    /// Where the value of a key is.
    #[inline]
    pub fn span(&self, key: Key) -> Option<Span> {
        let span = self.spans[key as usize];
        (!span.is_empty()).then_some(span)
    }

    /// The bytes of a key's value; `null` included.
    #[inline]
    pub fn raw<'a>(&self, key: Key, body: &'a [u8]) -> Option<&'a [u8]> {
        body.get(self.span(key)?.range())
    }

    /// The bytes of a key's value, `null` counting as absent.
    pub fn present<'a>(&self, key: Key, body: &'a [u8]) -> Option<&'a [u8]> {
        self.raw(key, body).filter(|value| *value != b"null")
    }

    /// A string value, unescaped.
    pub fn text<'a>(&self, key: Key, body: &'a [u8]) -> Option<Cow<'a, str>> {
        json::text(self.raw(key, body)?)
    }

    /// A count; negative, fractional below 1 or other types are absent.
    pub fn number(&self, key: Key, body: &[u8]) -> Option<u64> {
        json::count(self.raw(key, body)?)
    }

    /// A boolean.
    pub fn flag(&self, key: Key, body: &[u8]) -> Option<bool> {
        flag(self.raw(key, body)?)
    }

    /// The model that the client asks for.
    pub fn model<'a>(&self, body: &'a [u8]) -> Result<Cow<'a, str>, ScanError> {
        let value = self.present(Key::Model, body).ok_or(ScanError::Missing { key: "model" })?;
        json::text(value)
            .filter(|model| !model.is_empty() && model.len() <= 512)
            .ok_or(ScanError::Type { key: "model", wanted: "a string of 1 to 512 bytes" })
    }

    /// Whether the client asks for a stream.
    pub fn stream(&self) -> bool {
        self.stream
    }

    /// `stream_options.include_usage`, when it is there and a boolean.
    pub fn include_usage(&self) -> Option<bool> {
        self.include_usage
    }

    /// The output cap in tokens, whatever the operation calls it.
    pub fn max_output(&self, body: &[u8]) -> Option<u64> {
        [Key::MaxCompletionTokens, Key::MaxOutputTokens, Key::MaxTokens]
            .into_iter()
            .find_map(|key| self.number(key, body))
    }

    /// Bytes of the body that can become text tokens: all of them but data URLs and base64 blobs. Divided by a
    /// route's learned ratio this is the estimate of its input tokens.
    pub fn text_bytes(&self) -> u64 {
        self.body_bytes.saturating_sub(self.binary_bytes)
    }

    /// Where the prompt proper is: messages, input, or the prompt of the legacy form.
    pub fn prompt(&self) -> Option<Span> {
        [Key::Messages, Key::Input, Key::Prompt].into_iter().find_map(|key| self.span(key))
    }

    /// The first bytes of the prompt, at most [`HEAD_BYTES`]: what affinity and fingerprints hash.
    pub fn prompt_head<'a>(&self, body: &'a [u8]) -> &'a [u8] {
        let prompt = self.prompt().and_then(|span| body.get(span.range())).unwrap_or_default();
        &prompt[..prompt.len().min(HEAD_BYTES)]
    }

    /// Signs of state inside the prompt; each has to be confirmed by a look at its place.
    pub fn marks(&self) -> Marks {
        self.marks
    }

    /// One past the opening brace: where a key can be inserted.
    pub(crate) fn inner_start(&self) -> u32 {
        self.open + 1
    }

    /// Whether the object has no entry at all.
    pub(crate) fn is_bare(&self) -> bool {
        self.bare
    }
}

fn flag(value: &[u8]) -> Option<bool> {
    match value {
        b"true" => Some(true),
        b"false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
