//! A committed event stream.
//!
//! Order: held frames, exactly as received, then each frame as it arrives; nothing is merged, split or delayed. Timers:
//! before the first token only `firstToken`; after it `idleBytes` and `idleTokens` (pings are bytes, not tokens); they
//! count only time spent waiting for the provider, so they stand still while the client is not reading. A truncation is
//! visible: an error frame in the caller's dialect, a short wait so that it is flushed, then an aborted body. Without a
//! wait HTTP/1.1 loses the frame in 200 of 200 (experiment E10); with a single pending poll h2 still loses it in 7 of 20,
//! because the task of the connection has not written it when the reset clears the stream's queue.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use hedgerow_policy::time::Moment;
use http_body::{Body, Frame};

use super::{RelayError, note_dropped, note_end, note_first_token, pace::Pace};
use crate::{
    permit::ActionPermits,
    race::{
        attempt::{Attempt, End},
        leg::Held,
        timer::Timer,
    },
    settle::record::StatusClass,
    wire::{
        answer::{ErrorAnswer, Kind},
        splice::UsageAsk,
        sse,
        token::{self, Signal},
    },
};

/// The comment that keeps middle boxes patient.
const KEEP_ALIVE: Bytes = Bytes::from_static(b": keep-alive\n\n");

/// Between the error frame and the abort: the h2 connection's task gets a turn even on a busy core, and the client gets
/// to read the frame before the reset, which some discard it for (curl does when both come in one read). With 20 ms two
/// of 60 were lost on a machine with ten runnable threads per core; nobody waits for it, the frame is there already.
const FLUSH_TIME: Duration = Duration::from_millis(100);

/// A committed event stream.
pub struct StreamBody {
    held: Box<Held>,
    ask: UsageAsk,
    phase: Phase,
    /// Waiting for the provider since.
    waiting: Option<Moment>,
    /// Waited for a token, over pings.
    tokenless: Duration,
    /// The dialect's own last word has passed.
    end_seen: bool,
    /// The provider's own error has passed.
    error_seen: bool,
    timer: Timer,
    pace: Pace,
    attempt: Attempt,
    _permits: ActionPermits,
}

enum Phase {
    Live,
    /// The error frame, ours or the provider's, was handed out; the next poll, when it has been taken, starts its time to be
    /// flushed.
    Flush(RelayError),
    /// Aborted at that moment.
    Break(RelayError, Moment),
    Over,
}

impl StreamBody {
    /// The body of a committed stream.
    pub fn new(
        held: Box<Held>,
        ask: UsageAsk,
        attempt: Attempt,
        permits: ActionPermits,
        timer: Timer,
    ) -> Self {
        let pace = Pace::current();
        pace.begin(attempt.action.runtime.clock.instant(attempt.action.request.total));
        Self {
            held,
            ask,
            phase: Phase::Live,
            waiting: None,
            tokenless: Duration::ZERO,
            end_seen: false,
            error_seen: false,
            timer,
            pace,
            attempt,
            _permits: permits,
        }
    }

    fn now(&self) -> Moment {
        self.attempt.action.now()
    }

    /// The next frame that is already here.
    fn ready_frame(&mut self) -> Result<Option<Bytes>, RelayError> {
        if let Some(bytes) = self.held.frames.pop_front() {
            return Ok(Some(bytes));
        }
        loop {
            let frame = match self.held.framer.next_frame() {
                Ok(Some(frame)) => frame,
                Ok(None) if self.held.ended => match self.held.framer.finish() {
                    // Half a frame is no frame: parsers drop it, and our error frame must not be glued to it. Only the
                    // dialect's last word may lack its blank line.
                    Some(tail) => {
                        self.read(&tail, true);
                        return Ok(Some(tail.raw).filter(|_| self.attempt.end == End::Complete));
                    }
                    None => return Ok(None),
                },
                Ok(None) => return Ok(None),
                Err(_) => return Err(RelayError::Truncated),
            };
            let signal = self.read(&frame, false);
            if !token::strips(&signal, self.ask) {
                return Ok(Some(frame.raw));
            }
        }
    }

    fn read(&mut self, frame: &sse::Frame, tail: bool) -> Signal {
        let Some(reader) = self.attempt.reader.as_mut() else { return Signal::NotToken };
        let signal = if tail { reader.read_tail(frame) } else { reader.read(frame) };
        match &signal {
            Signal::Token { .. } | Signal::EffectStarted | Signal::Finish => {
                self.tokenless = Duration::ZERO;
                if self.attempt.first_token.is_none() {
                    let now = self.now();
                    note_first_token(&mut self.attempt, now);
                }
            }
            Signal::End => self.end_seen = true,
            Signal::Error(_) => self.error_seen = true,
            Signal::NotToken | Signal::UsageOnly => {}
        }
        self.note_complete();
        signal
    }

    /// A whole answer stays whole, whatever happens to the connection afterwards.
    fn note_complete(&mut self) {
        if self.attempt.reader.as_ref().is_some_and(token::StreamReader::complete) {
            self.attempt.end = End::Complete;
        }
    }

    /// The provider has ended: cleanly, or not. What is told to the client, if anything is.
    fn finish(&mut self) -> Option<Bytes> {
        let now = self.now();
        self.note_complete();
        self.phase = Phase::Over;
        if self.attempt.end == End::Complete {
            note_end(&self.attempt.action, StatusClass::Success, "", now);
            return None;
        }
        self.attempt.truncate(now);
        if self.error_seen || self.end_seen {
            // The provider's own last word has passed; a second one from us would contradict it.
            note_end(&self.attempt.action, StatusClass::UpstreamError, "upstream_incomplete", now);
            return None;
        }
        self.fault(RelayError::Truncated)
    }

    /// What tells the client that this is not the end of the answer, unless the provider has told it.
    fn fault(&mut self, error: RelayError) -> Option<Bytes> {
        let now = self.now();
        if self.attempt.end == End::Complete {
            self.phase = Phase::Over;
            note_end(&self.attempt.action, StatusClass::Success, "", now);
            return None;
        }
        let (kind, class, message) = match error {
            RelayError::Truncated => {
                self.attempt.truncate(now);
                let message =
                    "the provider's answer was cut after it had begun: what came before is not whole";
                (Kind::Truncated, StatusClass::UpstreamError, message)
            }
            RelayError::Deadline => {
                self.attempt.expire();
                (Kind::Deadline, StatusClass::GatewayError, "the answer took longer than its total deadline")
            }
            RelayError::ShuttingDown => {
                self.attempt.expire();
                (Kind::ShuttingDown, StatusClass::GatewayError, "the gateway is shutting down: ask again")
            }
        };
        note_end(&self.attempt.action, class, kind.as_str(), now);
        // Also the provider's own last frame may just have been handed out, and wants its time to be flushed.
        self.phase = Phase::Flush(error);
        (!self.error_seen).then(|| {
            ErrorAnswer::new(kind, message)
                .with_request_id(self.attempt.action.request.request_id.clone())
                .frame(self.attempt.action.request.operation)
        })
    }

    /// Nothing is here and the provider is silent: which timer is due, and when is the next?
    fn silent(&mut self, now: Moment) -> Result<(Moment, bool), RelayError> {
        let since = *self.waiting.get_or_insert(now);
        let action = &self.attempt.action;
        let route = &self.attempt.offer.route;
        let timeouts = &route.config.timeouts;
        let ms = Duration::from_millis;
        if now >= action.request.total {
            return Err(RelayError::Deadline);
        }
        let silence = if self.attempt.first_token.is_none() {
            self.attempt.started + route.first_token_timeout(self.attempt.offer.model)
        } else {
            let bytes = since + ms(timeouts.idle_bytes_ms);
            let tokens = since + ms(timeouts.idle_tokens_ms).saturating_sub(self.tokenless);
            bytes.min(tokens)
        };
        if now >= silence {
            return Err(RelayError::Truncated);
        }
        let interval = ms(action.snapshot.settings.sse_keep_alive.interval_ms);
        if interval.is_zero() {
            return Ok((silence.min(action.request.total), false));
        }
        let elapsed = now.since(since);
        let beats = elapsed.as_nanos() / interval.as_nanos();
        let next =
            since + interval.saturating_mul(u32::try_from(beats).unwrap_or(u32::MAX).saturating_add(1));
        Ok((silence.min(action.request.total).min(next), beats > 0 && !self.beaten(now, interval)))
    }

    /// Whether a comment was sent within the last interval.
    fn beaten(&self, now: Moment, interval: Duration) -> bool {
        self.held.beat.is_some_and(|beat| now.since(beat) < interval)
    }

    fn arrived(&mut self, now: Moment) {
        if let Some(since) = self.waiting.take() {
            self.tokenless += now.since(since);
        }
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, RelayError>>> {
        loop {
            match self.phase {
                Phase::Live => {}
                Phase::Flush(error) => {
                    self.phase = Phase::Break(error, self.now() + FLUSH_TIME);
                    continue;
                }
                Phase::Break(error, due) => {
                    let clock = self.attempt.action.runtime.clock;
                    ready!(self.timer.poll(cx, &clock, due));
                    self.phase = Phase::Over;
                    return Poll::Ready(Some(Err(error)));
                }
                Phase::Over => return Poll::Ready(None),
            }
            if let Some(bytes) = ready!(self.poll_live(cx)) {
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
        }
    }

    /// What is handed out next while neither side has ended; `None`: the phase has changed.
    fn poll_live(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            if self.attempt.action.runtime.aborted() {
                return Poll::Ready(self.fault(RelayError::ShuttingDown));
            }
            match self.ready_frame() {
                Ok(Some(bytes)) => return Poll::Ready(Some(bytes)),
                Ok(None) if self.held.ended => return Poll::Ready(self.finish()),
                Ok(None) => {}
                Err(error) => return Poll::Ready(self.fault(error)),
            }
            match self.held.body.as_mut().poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    self.arrived(self.now());
                    if let Ok(data) = frame.into_data() {
                        self.held.framer.push(data);
                    }
                }
                Poll::Ready(Some(Err(_))) => return Poll::Ready(self.fault(RelayError::Truncated)),
                Poll::Ready(None) => self.held.ended = true,
                Poll::Pending => {
                    let now = self.now();
                    match self.silent(now) {
                        Err(error) => return Poll::Ready(self.fault(error)),
                        Ok((_, true)) => {
                            self.held.beat = Some(now);
                            return Poll::Ready(Some(KEEP_ALIVE));
                        }
                        Ok((due, false)) => {
                            let clock = self.attempt.action.runtime.clock;
                            ready!(self.timer.poll(cx, &clock, due));
                        }
                    }
                }
            }
        }
    }
}

impl Body for StreamBody {
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
}

impl Drop for StreamBody {
    fn drop(&mut self) {
        let (now, cut) = (self.now(), self.pace.end());
        if self.attempt.end == End::Complete && cut.is_none() {
            note_end(&self.attempt.action, StatusClass::Success, "", now);
        } else {
            note_dropped(&mut self.attempt, cut, now);
        }
    }
}
