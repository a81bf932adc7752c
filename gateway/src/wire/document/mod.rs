//! A request body as it came, and as it is read.
//!
//! Why it exists: a body of 100 KB arrives in several pieces of the connection's read buffers, and a scan wants it in one.
//! Copying it together was nearly half of all instructions of such a request. But most of a long prompt is the inside of
//! strings that nobody here reads. So the pieces are kept and sent on as they are, and beside them goes a text of the same
//! JSON whose long strings are cut ([`KEPT`] bytes of each stay): that is what is scanned, classified and spliced.
//!
//! Inputs: pieces, and the announced length. Outputs: a [`Document`]. Invariants: the pieces are the client's bytes; the
//! text has the same structure, keys and values but for the insides of long strings; its offsets can be turned into the
//! body's. A body in one piece, a small one and one in very many pieces is its own text. Refuses to judge: what is not JSON
//! gives a text that is not JSON either.

mod reading;
#[cfg(test)]
mod tests;

use std::ops::Range;

use bytes::{Bytes, BytesMut};

pub use reading::Reading;

use super::splice::Segments;

/// Bytes of a string that stay in the text: more than the head of a prompt (`scan::HEAD_BYTES`) and the size from which
/// affinity looks at it, so that both read the same in either form.
pub const KEPT: usize = 8 * 1024;

/// Where the text leaves something out.
#[derive(Debug, Clone, Copy)]
struct Cut {
    /// Offset in the text.
    at: usize,
    /// Bytes left out there.
    removed: usize,
}

/// A body that has arrived.
#[derive(Debug, Clone, Default)]
pub struct Document {
    text: Bytes,
    pieces: Vec<Bytes>,
    cuts: Vec<Cut>,
    unread: u64,
}

impl From<Bytes> for Document {
    /// A body in one piece.
    fn from(text: Bytes) -> Self {
        Self { pieces: vec![text.clone()], text, cuts: Vec::new(), unread: 0 }
    }
}

impl Document {
    /// What is scanned. Spans of a scan are offsets in it.
    pub fn text(&self) -> &Bytes {
        &self.text
    }

    /// Bytes of the body.
    pub fn len(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }

    /// Whether there is no byte.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that the text leaves out and that can become text tokens: all of them but data URLs and base64 blobs.
    pub fn unread_text(&self) -> u64 {
        self.unread
    }

    /// Whether the text leaves something out.
    pub fn is_cut(&self) -> bool {
        !self.cuts.is_empty()
    }

    /// The body in one piece, copied if it is in several.
    pub fn joined(&self) -> Bytes {
        match &self.pieces[..] {
            [one] => one.clone(),
            several => {
                let mut joined = BytesMut::with_capacity(self.len());
                for piece in several {
                    joined.extend_from_slice(piece);
                }
                joined.freeze()
            }
        }
    }

    /// Adds a range of the text, with what it leaves out, to `segments`.
    pub(super) fn append(&self, range: Range<usize>, segments: &mut Segments) {
        let (start, end) = (self.origin(range.start), self.origin(range.end));
        let mut before = 0;
        for piece in &self.pieces {
            let (from, to) = (start.max(before), end.min(before + piece.len()));
            if from < to {
                segments.push(piece.slice(from - before..to - before));
            }
            before += piece.len();
        }
    }

    /// Where an offset of the text is in the body.
    fn origin(&self, offset: usize) -> usize {
        let before = self.cuts.iter().take_while(|cut| cut.at <= offset);
        offset + before.map(|cut| cut.removed).sum::<usize>()
    }
}
