//! A committed complete answer: checked bytes with their length, or the beginning of one that is too large to check with
//! the rest passed on as it comes.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};

use super::{RelayError, note_dropped, note_end, pace::Pace};
use crate::{
    permit::ActionPermits,
    race::{
        attempt::{Attempt, End},
        leg::Collected,
        timer::Timer,
        transport::AnswerBody,
    },
    settle::record::StatusClass,
};

/// A committed complete answer.
pub struct WholeBody {
    start: Option<Bytes>,
    rest: Option<AnswerBody>,
    timer: Timer,
    pace: Pace,
    attempt: Attempt,
    _permits: ActionPermits,
}

impl WholeBody {
    /// The body of a committed complete answer.
    pub fn new(collected: Collected, attempt: Attempt, permits: ActionPermits, timer: Timer) -> Self {
        let Collected { body, bytes, .. } = collected;
        let start = BytesMut::freeze(bytes);
        let pace = Pace::current();
        pace.begin(attempt.action.runtime.clock.instant(attempt.action.request.total));
        Self {
            start: Some(start).filter(|bytes| !bytes.is_empty()),
            rest: body,
            timer,
            pace,
            attempt,
            _permits: permits,
        }
    }

    fn end(&mut self, class: StatusClass, error: &'static str) {
        let now = self.attempt.action.now();
        note_end(&self.attempt.action, class, error, now);
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, RelayError>>> {
        if let Some(bytes) = self.start.take() {
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        let Some(rest) = self.rest.as_mut() else { return Poll::Ready(None) };
        let action = self.attempt.action.clone();
        if action.runtime.aborted()
            || self.timer.poll(cx, &action.runtime.clock, action.request.total).is_ready()
        {
            self.rest = None;
            self.attempt.expire();
            self.end(StatusClass::GatewayError, "gateway_deadline");
            return Poll::Ready(Some(Err(RelayError::Deadline)));
        }
        match ready!(rest.as_mut().poll_frame(cx)) {
            Some(Ok(frame)) => Poll::Ready(Some(Ok(frame))),
            Some(Err(_)) => {
                self.rest = None;
                let now = action.now();
                self.attempt.truncate(now);
                self.end(StatusClass::UpstreamError, "upstream_truncated");
                Poll::Ready(Some(Err(RelayError::Truncated)))
            }
            None => {
                self.rest = None;
                self.attempt.end = End::Complete;
                self.end(StatusClass::Success, "");
                Poll::Ready(None)
            }
        }
    }
}

impl Body for WholeBody {
    type Data = Bytes;
    type Error = RelayError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RelayError>>> {
        let this = self.get_mut();
        let polled = this.poll_next(cx);
        this.pace.note(&polled);
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.start.is_none() && self.rest.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        match (&self.start, &self.rest) {
            (start, None) => SizeHint::with_exact(start.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            (_, Some(_)) => SizeHint::default(),
        }
    }
}

impl Drop for WholeBody {
    fn drop(&mut self) {
        let cut = self.pace.end();
        if self.is_end_stream() && self.attempt.end == End::Complete && cut.is_none() {
            return self.end(StatusClass::Success, "");
        }
        let now = self.attempt.action.now();
        note_dropped(&mut self.attempt, cut, now);
    }
}
