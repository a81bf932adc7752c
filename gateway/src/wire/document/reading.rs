//! A document while it arrives.
//!
//! The walk knows two states, inside a string and outside, because that is all that has to be known to cut one: it goes
//! from quote to quote, over the ends of pieces too, and a string is never cut inside an escape.

use bytes::{Bytes, BytesMut};
use memchr::memchr;

use super::{
    super::{json, scan},
    Cut, Document, KEPT,
};

/// Announced lengths for which pieces are worth keeping: below, copying is cheaper; above, there would be too many.
const WORTH: std::ops::RangeInclusive<u64> = 16 * 1024..=256 * 1024;
/// Most pieces that are kept; a body that comes in more is copied together.
const PIECES: usize = 16;
/// Largest buffer that is made at once for an announced body: no copy while a usual prompt grows, and pages that nothing
/// is written to cost nothing.
const AT_ONCE: u64 = 256 * 1024;

/// A body of which more may come.
#[derive(Debug)]
pub struct Reading {
    announced: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    Nothing,
    One(Bytes),
    Several(Box<Several>),
    Joined(BytesMut),
}

impl Reading {
    /// Nothing yet; `announced` is what the client says its body is long.
    pub fn new(announced: Option<u64>) -> Self {
        Self { announced: announced.unwrap_or(0), state: State::Nothing }
    }

    /// The next piece.
    pub fn push(&mut self, piece: Bytes) {
        if piece.is_empty() {
            return;
        }
        self.state = match std::mem::replace(&mut self.state, State::Nothing) {
            State::Nothing => State::One(piece),
            State::One(first) if WORTH.contains(&self.announced) => {
                let mut several = Box::new(Several::new());
                several.push(first);
                several.push(piece);
                State::Several(several)
            }
            State::One(first) => self.join(&[first, piece]),
            State::Several(mut several) if several.pieces.len() < PIECES => {
                several.push(piece);
                State::Several(several)
            }
            State::Several(several) => {
                let mut joined = self.join(&several.pieces);
                if let State::Joined(bytes) = &mut joined {
                    bytes.extend_from_slice(&piece);
                }
                joined
            }
            State::Joined(mut bytes) => {
                bytes.extend_from_slice(&piece);
                State::Joined(bytes)
            }
        };
    }

    fn join(&self, pieces: &[Bytes]) -> State {
        let mut bytes = BytesMut::with_capacity(self.announced.min(AT_ONCE) as usize);
        for piece in pieces {
            bytes.extend_from_slice(piece);
        }
        State::Joined(bytes)
    }

    /// The whole body.
    pub fn finish(self) -> Document {
        match self.state {
            State::Nothing => Document::default(),
            State::One(bytes) => bytes.into(),
            State::Joined(bytes) => bytes.freeze().into(),
            State::Several(several) => several.finish(),
        }
    }
}

/// Pieces that are kept, and the text so far.
#[derive(Debug)]
struct Several {
    pieces: Vec<Bytes>,
    text: Vec<u8>,
    cuts: Vec<Cut>,
    unread: u64,
    string: Option<Inside>,
}

/// A string that is not at its end.
#[derive(Debug, Clone, Copy)]
struct Inside {
    /// Where its inside begins in the text.
    start: usize,
    /// A backslash at the end of what was seen escapes what follows.
    escapes: bool,
    /// It is being cut; whether it is a blob.
    cut: Option<bool>,
}

impl Several {
    fn new() -> Self {
        let (pieces, text) = (Vec::with_capacity(PIECES), Vec::with_capacity(2 * KEPT));
        Self { pieces, text, cuts: Vec::new(), unread: 0, string: None }
    }

    fn push(&mut self, piece: Bytes) {
        let mut rest = &piece[..];
        while !rest.is_empty() {
            rest = match self.string.take() {
                Some(inside) => self.inside(inside, rest),
                None => self.outside(rest),
            };
        }
        self.pieces.push(piece);
    }

    /// Takes what precedes a string, its quote included; returns what follows.
    fn outside<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let quote = memchr(b'"', bytes);
        let (taken, rest) = bytes.split_at(quote.map_or(bytes.len(), |at| at + 1));
        self.text.extend_from_slice(taken);
        if quote.is_some() {
            self.string = Some(Inside { start: self.text.len(), escapes: false, cut: None });
        }
        rest
    }

    /// Takes a string up to its closing quote, or all that is there; returns what follows.
    fn inside<'a>(&mut self, mut inside: Inside, bytes: &'a [u8]) -> &'a [u8] {
        let mut from = 0;
        let end = loop {
            let quote = json::quote(bytes, from);
            let seen = &bytes[..quote.unwrap_or(bytes.len())];
            let slashes = seen.iter().rev().take_while(|byte| **byte == b'\\').count();
            // A run that reaches back to the last piece goes on from there.
            let escapes = (slashes % 2 == 1) != (inside.escapes && slashes == seen.len());
            match quote {
                Some(at) if escapes => from = at + 1,
                Some(at) => break Some(at),
                None => {
                    inside.escapes = escapes;
                    break None;
                }
            }
        };
        self.take(&mut inside, &bytes[..end.unwrap_or(bytes.len())]);
        let Some(end) = end else {
            self.string = Some(inside);
            return &[];
        };
        self.text.push(b'"');
        &bytes[end + 1..]
    }

    /// Takes a part of a string as far as it stays in the text.
    fn take(&mut self, inside: &mut Inside, part: &[u8]) {
        let room = KEPT.saturating_sub(self.text.len() - inside.start);
        let before = self.text.len();
        let blob = match inside.cut {
            None if part.len() <= room => {
                self.text.extend_from_slice(part);
                return;
            }
            None => {
                self.text.extend_from_slice(&part[..room]);
                let kept = &self.text[inside.start..];
                let blob = scan::is_blob(kept);
                // Half an escape would swallow the closing quote.
                if kept.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1 {
                    self.text.pop();
                }
                self.cuts.push(Cut { at: self.text.len(), removed: 0 });
                inside.cut = Some(blob);
                blob
            }
            Some(blob) => blob,
        };
        let removed = (before + part.len()) - self.text.len();
        if let Some(cut) = self.cuts.last_mut() {
            cut.removed += removed;
        }
        if !blob {
            self.unread += removed as u64;
        }
    }

    fn finish(self) -> Document {
        Document { text: self.text.into(), pieces: self.pieces, cuts: self.cuts, unread: self.unread }
    }
}
