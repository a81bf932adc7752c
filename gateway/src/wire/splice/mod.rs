//! Changes a request body without touching the bytes that stay.
//!
//! Why it exists: a provider wants its own model name, and usage in a stream comes only when it is asked for. Writing
//! the body anew would cost a parse, a copy per attempt, and the exact bytes that prompt caches and signatures depend
//! on. So an attempt is a list of slices of the one shared body with a few inserted bytes between them.
//!
//! Inputs: the shared [`Document`], its [`Scan`], the wanted [`Change`]. Outputs: [`Segments`] and what was done about usage.
//! Invariants: at most [`MAX_EDITS`] edits; everything outside them is the client's bytes, shared and not copied; an
//! explicit `include_usage` of the client is never overridden.

use std::io::IoSlice;

use bytes::{Buf, Bytes};

use super::dialect::Operation;
use super::document::Document;
use super::json;
use super::scan::{Key, Scan, Span};

/// Most edits of one attempt.
pub const MAX_EDITS: usize = 4;

/// What an attempt needs changed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Change<'a> {
    /// The model's name at the provider; `None` leaves the client's.
    pub model: Option<&'a str>,
    /// Whether the route accepts a request for usage in streams (`capabilities.streamUsage`).
    pub include_usage: bool,
}

/// Who asked for usage in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageAsk {
    /// The client: everything is passed on.
    Client,
    /// The gateway: the chunk that holds only usage is kept from the client.
    Injected,
    /// Nobody: the client said no, or the route cannot.
    Refused,
    /// No such question: no stream, or a dialect that always tells.
    NotApplicable,
}

/// A body made ready for one attempt.
#[derive(Debug, Clone)]
pub struct Spliced {
    /// The bytes to send.
    pub body: Segments,
    /// What was done about usage.
    pub usage: UsageAsk,
}

/// Makes the body of one attempt.
pub fn splice(document: &Document, scan: &Scan, operation: Operation, change: Change<'_>) -> Spliced {
    let body = document.text();
    let mut edits = Edits::default();
    let mut inserted = Vec::new();
    if let Some(model) = change.model {
        let quoted = quoted(model);
        match scan.span(Key::Model) {
            Some(span) if body[span.range()] == quoted[..] => {}
            Some(span) => edits.push(span, quoted.into()),
            None => inserted = [b"\"model\":", quoted.as_slice()].concat(),
        }
    }
    let usage = ask(body, scan, operation, change.include_usage, &mut edits, &mut inserted);
    if !inserted.is_empty() {
        if !scan.is_bare() {
            inserted.push(b',');
        }
        edits.push(at(scan.inner_start()), inserted.into());
    }
    Spliced { body: edits.apply(document), usage }
}

fn ask(
    body: &Bytes,
    scan: &Scan,
    operation: Operation,
    can: bool,
    edits: &mut Edits,
    inserted: &mut Vec<u8>,
) -> UsageAsk {
    if !scan.stream() || !matches!(operation, Operation::ChatCompletions | Operation::Completions) {
        return UsageAsk::NotApplicable;
    }
    match scan.include_usage() {
        Some(true) => return UsageAsk::Client,
        Some(false) => return UsageAsk::Refused,
        None if !can => return UsageAsk::Refused,
        None => {}
    }
    let Some(span) = scan.span(Key::StreamOptions) else {
        let comma: &[u8] = if inserted.is_empty() { b"" } else { b"," };
        inserted.extend([comma, br#""stream_options":{"include_usage":true}"#].concat());
        return UsageAsk::Injected;
    };
    let options = &body[span.range()];
    if options == b"null" {
        edits.push(span, Bytes::from_static(br#"{"include_usage":true}"#));
    } else if options[0] != b'{' || json::get(options, b"include_usage").is_some_and(|value| value != b"null")
    {
        return UsageAsk::Refused; // malformed: the provider shall say so about the client's own bytes
    } else if let Some(null) = json::get(options, b"include_usage") {
        let start = span.start + json::offset_in(options, null) as u32;
        edits.push(Span { start, end: start + null.len() as u32 }, Bytes::from_static(b"true"));
    } else if json::entries(options).next().is_none() {
        edits.push(at(span.start + 1), Bytes::from_static(br#""include_usage":true"#));
    } else {
        edits.push(at(span.start + 1), Bytes::from_static(br#""include_usage":true,"#));
    }
    UsageAsk::Injected
}

fn at(start: u32) -> Span {
    Span { start, end: start }
}

/// The name as a JSON string; almost none needs escapes.
fn quoted(name: &str) -> Vec<u8> {
    if name.bytes().any(|byte| byte < 0x20 || matches!(byte, b'"' | b'\\')) {
        return serde_json::Value::from(name).to_string().into_bytes();
    }
    [b"\"", name.as_bytes(), b"\""].concat()
}

#[derive(Debug, Default)]
struct Edits {
    list: [(Span, Bytes); MAX_EDITS],
    len: usize,
}

impl Edits {
    fn push(&mut self, span: Span, bytes: Bytes) {
        self.list[self.len] = (span, bytes);
        self.len += 1;
    }

    fn apply(mut self, document: &Document) -> Segments {
        let edits = &mut self.list[..self.len];
        edits.sort_by_key(|(span, _)| span.start);
        let mut segments = Segments::default();
        let mut from = 0;
        for (span, bytes) in edits {
            let range = span.range();
            document.append(from..range.start, &mut segments);
            segments.push(std::mem::take(bytes));
            from = range.end;
        }
        document.append(from..document.text().len(), &mut segments);
        segments
    }
}

/// A body in a few slices: those of the document, cut at the edits. As a [`Buf`] it can be the single frame of a sized HTTP
/// body and is written with one vectored write.
#[derive(Debug, Clone, Default)]
pub struct Segments {
    parts: Vec<Bytes>,
    first: usize,
    len: usize,
}

impl Segments {
    pub(super) fn push(&mut self, part: Bytes) {
        if !part.is_empty() {
            self.len += part.len();
            self.parts.push(part);
        }
    }

    /// Bytes left.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl From<Bytes> for Segments {
    /// A body that needs no change.
    fn from(body: Bytes) -> Self {
        let mut segments = Self::default();
        segments.push(body);
        segments
    }
}

impl Buf for Segments {
    fn remaining(&self) -> usize {
        self.len
    }

    fn chunk(&self) -> &[u8] {
        self.parts.get(self.first).map_or(&[], |part| part)
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let live = self.parts.iter().skip(self.first);
        slices.iter_mut().zip(live).map(|(slice, part)| *slice = IoSlice::new(part)).count()
    }

    fn advance(&mut self, count: usize) {
        assert!(count <= self.len, "advanced past the end of a body");
        self.len -= count;
        let mut left = count;
        while left > 0 {
            let part = &mut self.parts[self.first];
            let step = left.min(part.len());
            part.advance(step);
            left -= step;
            if part.is_empty() {
                self.first += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests;
