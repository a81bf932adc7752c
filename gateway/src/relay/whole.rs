//! A committed complete answer: checked bytes with their length, or the beginning of one that is too large to check with
//! the rest passed on as it comes.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};

use super::{RelayError, note_dropped, note_end, pace::Pace};
use crate::{
    permit::ActionPermits,
    race::{
        action::Action,
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
    action: Arc<Action>,
    /// Until the body is dropped.
    attempt: Option<Attempt>,
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
            action: attempt.action.clone(),
            attempt: Some(attempt),
            _permits: permits,
        }
    }

    fn end(&mut self, class: StatusClass, error: &'static str) {
        note_end(&self.action, class, error, self.action.now());
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, RelayError>>> {
        if let Some(bytes) = self.start.take() {
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        let Some(rest) = self.rest.as_mut() else { return Poll::Ready(None) };
        let action = &self.action;
        if action.runtime.aborted()
            || self.timer.poll(cx, &action.runtime.clock, action.request.total).is_ready()
        {
            self.rest = None;
            self.attempt.iter_mut().for_each(Attempt::expire);
            self.end(StatusClass::GatewayError, "gateway_deadline");
            return Poll::Ready(Some(Err(RelayError::Deadline)));
        }
        match ready!(rest.as_mut().poll_frame(cx)) {
            Some(Ok(frame)) => Poll::Ready(Some(Ok(frame))),
            Some(Err(_)) => {
                self.rest = None;
                let now = action.now();
                self.attempt.iter_mut().for_each(|attempt| attempt.truncate(now));
                self.end(StatusClass::UpstreamError, "upstream_truncated");
                Poll::Ready(Some(Err(RelayError::Truncated)))
            }
            None => {
                self.rest = None;
                self.attempt.iter_mut().for_each(|attempt| attempt.end = End::Complete);
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
        let Some(mut attempt) = self.attempt.take() else { return };
        if self.is_end_stream() && attempt.end == End::Complete && cut.is_none() {
            self.end(StatusClass::Success, "");
        } else {
            note_dropped(&mut attempt, cut, self.action.now());
        }
        attempt.vacate();
        self.pace.afterwards().leave(attempt);
    }
}
