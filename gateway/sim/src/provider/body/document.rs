//! An answer as one document, with its length announced, so that a cut is visible on HTTP/1.1 too.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::Aborted;
use crate::provider::turn::{End, Turn};

pub(crate) struct Document {
    turn: Option<Turn>,
    rest: Bytes,
    announced: u64,
    cut: Cut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    No,
    After,
    Now,
}

impl Document {
    /// All of `text`.
    pub(crate) fn whole(turn: Turn, text: Bytes) -> Self {
        Self { turn: Some(turn), announced: text.len() as u64, rest: text, cut: Cut::No }
    }

    /// The first `bytes` of `text`, then an aborted connection.
    pub(crate) fn cut(turn: Turn, text: &Bytes, bytes: usize) -> Self {
        let announced = text.len() as u64;
        // At least one announced byte is missing, else the answer would be whole.
        let rest = text.slice(..bytes.min(text.len().saturating_sub(1)));
        Self { turn: Some(turn), announced, rest, cut: Cut::After }
    }

    fn end(&mut self, end: End) {
        if let Some(turn) = self.turn.take() {
            turn.end(end);
        }
    }
}

impl Body for Document {
    type Data = Bytes;
    type Error = Aborted;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Aborted>>> {
        let text = std::mem::take(&mut self.rest);
        if self.cut == Cut::No {
            self.end(End::Completed);
        }
        if !text.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(text))));
        }
        match self.cut {
            Cut::No => Poll::Ready(None),
            Cut::After => {
                self.cut = Cut::Now;
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Cut::Now => {
                self.end(End::Cut);
                Poll::Ready(Some(Err(Aborted)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.cut == Cut::No && self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(if self.turn.is_some() { self.announced } else { self.rest.len() as u64 })
    }
}
