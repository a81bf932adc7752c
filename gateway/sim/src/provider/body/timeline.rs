//! A streamed answer: each frame leaves when its script says, built at that moment.

use std::{
    future::Future as _,
    ops::ControlFlow,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::time::{Instant, Sleep, sleep_until};

use super::Aborted;
use crate::{
    clock::now,
    dialect::{Answer, Dialect, ErrorShape, Wire, error_frame},
    profile::Fault,
    provider::{
        plan::Script,
        turn::{End, Turn},
    },
};

pub(crate) struct Timeline {
    turn: Option<Turn>,
    started: Instant,
    script: Script,
    answer: Answer,
    wire: &'static dyn Wire,
    dialect: Dialect,
    request_id: String,
    next: Step,
    sent: u64,
    timer: Pin<Box<Sleep>>,
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Prelude,
    Token(u32),
    Epilogue,
    /// Let what was written so far leave, then abort.
    Flush,
    Abort,
    Forever,
    Done,
}

impl Timeline {
    pub(crate) fn new(
        turn: Turn,
        script: Script,
        answer: Answer,
        wire: &'static dyn Wire,
        dialect: Dialect,
        request_id: String,
    ) -> Self {
        let started = turn.started;
        let timer = Box::pin(sleep_until(started));
        let next = Step::Prelude;
        Self { turn: Some(turn), started, script, answer, wire, dialect, request_id, next, sent: 0, timer }
    }

    /// When the next step is due.
    fn due(&self) -> Instant {
        self.started
            + match self.next {
                Step::Token(index) => self.script.due(index),
                Step::Epilogue => self.script.end(),
                _ => self.script.headers,
            }
    }

    /// What stands at the token `index` instead of it, if the script spoils the answer there.
    fn spoilt(&mut self, index: u32) -> ControlFlow<String> {
        match self.script.fault {
            Some(Fault::Stall) => self.next = Step::Forever,
            Some(Fault::StallAtToken(at)) if index >= at => self.next = Step::Forever,
            Some(Fault::CutAtToken(at)) if index >= at => self.next = Step::Flush,
            Some(Fault::EndEarly(at)) if index >= at => self.next = Step::Done,
            Some(Fault::ErrorInStream(at)) if index >= at => {
                self.next = Step::Done;
                let error = ErrorShape::new(500, "a scripted error inside the stream");
                return ControlFlow::Break(error_frame(self.dialect, &error, &self.request_id));
            }
            Some(Fault::BrokenFrames) => {
                self.next = Step::Done;
                return ControlFlow::Break("data: {\"id\":\"broken\",\"choi\n\n".to_owned());
            }
            _ => return ControlFlow::Continue(()),
        }
        ControlFlow::Break(String::new())
    }

    /// The frames of the next step, which moves on.
    fn step(&mut self) -> String {
        match self.next {
            Step::Prelude => {
                self.next = if self.script.tokens == 0 { Step::Epilogue } else { Step::Token(0) };
                self.wire.prelude(&self.answer)
            }
            Step::Token(index) => {
                if let ControlFlow::Break(instead) = self.spoilt(index) {
                    return instead;
                }
                let until = self.frame_end(index);
                self.next = if until == self.script.tokens { Step::Epilogue } else { Step::Token(until) };
                self.wire.tokens(&self.answer, index..until)
            }
            Step::Epilogue => {
                // A fault that stands behind the last token happens here.
                if let ControlFlow::Break(instead) = self.spoilt(self.script.tokens) {
                    return instead;
                }
                self.next = Step::Done;
                self.wire.epilogue(&self.answer)
            }
            Step::Flush | Step::Abort | Step::Forever | Step::Done => String::new(),
        }
    }

    /// A frame ends at its size, at the end, and before the token at which something happens.
    fn frame_end(&self, index: u32) -> u32 {
        let until = index.saturating_add(self.script.per_frame).min(self.script.tokens);
        match self.script.fault {
            Some(
                Fault::StallAtToken(at)
                | Fault::CutAtToken(at)
                | Fault::EndEarly(at)
                | Fault::ErrorInStream(at),
            ) if at > index => until.min(at),
            _ => until,
        }
    }

    /// Cuts `frames` where the script cuts the body.
    fn cut_bytes(&mut self, frames: String) -> Bytes {
        let mut frames = Bytes::from(frames);
        if let Some(Fault::CutAtByte(at)) = self.script.fault {
            let room = at.saturating_sub(self.sent);
            if frames.len() as u64 >= room {
                frames.truncate(room as usize);
                self.next = Step::Flush;
            }
        }
        self.sent += frames.len() as u64;
        frames
    }

    fn end(&mut self, end: End) {
        if let Some(turn) = self.turn.take() {
            turn.end(end);
        }
    }
}

impl Body for Timeline {
    type Data = Bytes;
    type Error = Aborted;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Aborted>>> {
        loop {
            match self.next {
                Step::Forever => return Poll::Pending,
                Step::Flush => {
                    self.next = Step::Abort;
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Step::Abort => {
                    self.end(End::Cut);
                    return Poll::Ready(Some(Err(Aborted)));
                }
                Step::Done => {
                    self.end(End::Completed);
                    return Poll::Ready(None);
                }
                Step::Prelude | Step::Token(_) | Step::Epilogue => {}
            }
            let due = self.due();
            if now() < due {
                self.timer.as_mut().reset(due);
                ready!(self.timer.as_mut().poll(cx));
            }
            let frames = self.step();
            let bytes = self.cut_bytes(frames);
            if !bytes.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
        }
    }
}
