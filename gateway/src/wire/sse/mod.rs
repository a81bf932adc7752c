//! Cuts a byte stream into server-sent events without changing a byte.
//!
//! Why its own: the gateway holds, replays, strips and ends frames, so it needs the exact bytes of each; it must not
//! depend on how the network cut them; and it must bound what one event may hold.
//!
//! Inputs: chunks as they arrive. Outputs: [`Frame`]s, each up to and including its blank line, in order; joined they
//! are the input. Invariants: any split of the same bytes gives the same frames; every byte is looked at once while
//! framing, so time is linear; a frame that lies in one chunk is a slice of it, nothing is copied; a frame never
//! outgrows the limit.
//! It refuses to decode text, and to keep a frame waiting for bytes it does not need.
//!
//! Line ends are LF, CRLF and CR (WHATWG HTML, section 9.2.6). A CR at the end of a chunk may be half a CRLF, so it
//! is waited for, unless the line before it in the same frame ended in a lone CR too: then a blank line is complete.

use std::borrow::Cow;
use std::ops::Range;

use bytes::{Buf, Bytes, BytesMut};
use memchr::{memchr, memchr2};

/// An event outgrew its limit; the stream can't be framed any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a server-sent event is larger than {limit} bytes")]
pub struct FrameTooLarge {
    /// The limit, in bytes.
    pub limit: usize,
}

/// Frames one stream.
#[derive(Debug)]
pub struct Framer {
    /// The part of an unfinished frame that came in earlier chunks.
    held: BytesMut,
    chunk: Bytes,
    state: Line,
    limit: usize,
    /// The first frame may begin with a byte order mark.
    begun: bool,
}

/// Where in a line the scan stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// At the start of a line; `after_cr`: the line before, in this frame, ended in a lone CR.
    Start { after_cr: bool },
    /// Inside a line that has bytes.
    Inside,
    /// After a CR at the end of a line; `blank`: the line had no bytes.
    Cr { blank: bool },
}

const FRESH: Line = Line::Start { after_cr: false };
const MARK: &[u8] = b"\xef\xbb\xbf";

impl Framer {
    /// A framer whose frames hold at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { held: BytesMut::new(), chunk: Bytes::new(), state: FRESH, limit, begun: false }
    }

    /// Hands over the next chunk, after [`next_frame`](Self::next_frame) has returned `None`.
    pub fn push(&mut self, chunk: Bytes) {
        if self.chunk.is_empty() {
            self.chunk = chunk;
        } else {
            // Not how it is meant to be used, but no byte may get lost.
            self.chunk = [&self.chunk[..], &chunk[..]].concat().into();
        }
    }

    /// Bytes of the unfinished frame.
    pub fn pending(&self) -> usize {
        self.held.len() + self.chunk.len()
    }

    /// The next whole frame; `None` when more bytes are needed.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameTooLarge> {
        let end = self.find_end();
        if self.held.len() + end.unwrap_or(self.chunk.len()) > self.limit {
            return Err(FrameTooLarge { limit: self.limit });
        }
        let Some(end) = end else {
            self.held.extend_from_slice(&self.chunk);
            self.chunk.clear();
            return Ok(None);
        };
        let raw = self.cut(end);
        Ok(Some(self.frame(raw, true)))
    }

    /// What is left at the end of the stream: a frame whose blank line never came.
    pub fn finish(&mut self) -> Option<Frame> {
        let raw = self.cut(self.chunk.len());
        if raw.is_empty() {
            return None;
        }
        // A final blank line may end in a CR whose LF was still possible.
        let terminated = self.state == Line::Cr { blank: true };
        Some(self.frame(raw, terminated))
    }

    fn cut(&mut self, end: usize) -> Bytes {
        let tail = self.chunk.split_to(end);
        if self.held.is_empty() {
            return tail;
        }
        self.held.extend_from_slice(&tail);
        self.held.split().freeze()
    }

    fn frame(&mut self, raw: Bytes, terminated: bool) -> Frame {
        let skip = if !self.begun && raw.starts_with(MARK) { MARK.len() } else { 0 };
        self.begun = true;
        self.state = FRESH;
        Frame::read(raw, skip, terminated)
    }

    /// Scans the chunk on from the saved state to the end of a frame.
    fn find_end(&mut self) -> Option<usize> {
        let bytes = &self.chunk[..];
        let mut at = 0;
        while at < bytes.len() {
            match self.state {
                Line::Inside => match memchr2(b'\n', b'\r', &bytes[at..]) {
                    None => at = bytes.len(),
                    Some(step) => {
                        at += step + 1;
                        let cr = bytes[at - 1] == b'\r';
                        self.state = if cr { Line::Cr { blank: false } } else { FRESH };
                    }
                },
                Line::Start { after_cr } => {
                    at += 1;
                    match bytes[at - 1] {
                        b'\n' => return Some(at),
                        b'\r' if after_cr => return Some(at),
                        b'\r' => self.state = Line::Cr { blank: true },
                        _ => self.state = Line::Inside,
                    }
                }
                Line::Cr { blank } => {
                    let line_feed = bytes[at] == b'\n';
                    at += usize::from(line_feed);
                    if blank {
                        return Some(at);
                    }
                    self.state = Line::Start { after_cr: !line_feed };
                }
            }
        }
        None
    }
}

/// One event with its exact bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The bytes, blank line included.
    pub raw: Bytes,
    event: Option<Range<usize>>,
    data: Option<Range<usize>>,
    data_lines: u32,
    terminated: bool,
}

impl Frame {
    fn read(raw: Bytes, skip: usize, terminated: bool) -> Self {
        let mut frame = Self { raw: Bytes::new(), event: None, data: None, data_lines: 0, terminated };
        for line in lines(&raw, skip) {
            match field(&raw, line) {
                Some((b"data", value)) => {
                    frame.data_lines += 1;
                    if frame.data.is_none() {
                        frame.data = Some(value);
                    }
                }
                Some((b"event", value)) => frame.event = Some(value),
                _ => {}
            }
        }
        frame.raw = raw;
        frame
    }

    /// The event's name.
    pub fn event(&self) -> Option<&[u8]> {
        self.event.clone().map(|range| &self.raw[range])
    }

    /// The event's data, lines joined by LF; `None` for comments, pings without data and blank lines.
    pub fn data(&self) -> Option<Cow<'_, [u8]>> {
        let first = self.data.clone()?;
        if self.data_lines == 1 {
            return Some(Cow::Borrowed(&self.raw[first]));
        }
        let mut joined = self.raw[first.clone()].to_vec();
        for line in lines(&self.raw, first.end) {
            if let Some((b"data", value)) = field(&self.raw, line) {
                joined.push(b'\n');
                joined.extend_from_slice(&self.raw[value]);
            }
        }
        Some(Cow::Owned(joined))
    }

    /// Whether the blank line came; only the tail of a stream may lack it.
    pub fn terminated(&self) -> bool {
        self.terminated
    }
}

/// The lines of a frame from `at` on, without their ends.
fn lines(raw: &[u8], mut at: usize) -> impl Iterator<Item = Range<usize>> {
    std::iter::from_fn(move || {
        let mut rest = raw.get(at..).filter(|rest| !rest.is_empty())?;
        let start = at;
        let length = memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        rest.advance(length);
        at += length + if rest.starts_with(b"\r\n") { 2 } else { 1 };
        Some(start..start + length)
    })
}

/// A line's field name and where its value is.
fn field(raw: &[u8], line: Range<usize>) -> Option<(&[u8], Range<usize>)> {
    let text = &raw[line.clone()];
    let Some(colon) = memchr(b':', text) else { return Some((text, line.end..line.end)) };
    if colon == 0 {
        return None; // a comment
    }
    let space = usize::from(text.get(colon + 1) == Some(&b' '));
    Some((&text[..colon], line.start + colon + 1 + space..line.end))
}

#[cfg(test)]
mod tests;
