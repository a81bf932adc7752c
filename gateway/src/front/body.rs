//! The client's body: read within limits, or discarded while a refusal is on its way.
//!
//! A refusal keeps reading (up to 32 MiB or 5 s) and its answer, sent in chunks, ends only then: otherwise SDKs see a
//! broken pipe instead of the 429 (12 to 17 of 20 with openai-node at 1 to 20 MB, none this way; experiment E2).
//!
//! Reading ends although the client keeps sending: 60 s and what it has sent so far at 64 KiB/s. The 60 s are nginx's and
//! the usual load balancers' patience, enough for 100 KB at 14 kbit/s; the rate is a slow uplink (512 kbit/s), so that a
//! client at its speed is never cut and one byte every few seconds is read for one minute at most. While more than half of
//! the buffered bytes are taken there is no room for patience: then it is 5 s instead of 60 (what `Draining` gives a
//! refused body), looked at once a second, so that idle bodies leave before they keep others out.

use std::{
    future::{Future as _, poll_fn},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::body::Body;
use bytes::Bytes;
use hedgerow_policy::{gauge::Held, time::Moment};
use http_body::{Body as _, Frame};
use tokio::time::{Sleep, sleep};

use super::gate1;
use crate::{
    race::timer::Timer,
    runtime::{Runtime, snapshot::Snapshot},
    wire::{
        answer::{ErrorAnswer, Kind},
        document::{Document, Reading},
    },
};

/// Most that is read and discarded of a refused body.
const DRAIN_BYTES: u64 = 32 * 1024 * 1024;
/// Longest that a refused body is read.
const DRAIN_TIME: Duration = Duration::from_secs(5);
/// Longest time between two pieces of a body, and for all of a body that comes below [`READ_RATE`].
const READ_TIME: Duration = Duration::from_mins(1);
/// The same while more than half of the buffered bytes are taken.
const SCARCE_TIME: Duration = Duration::from_secs(5);
/// How often that is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// Longest that a body is still read once the gateway accepts no more connections: one that is on its way comes in.
const LEAVE_TIME: Duration = Duration::from_secs(2);
/// Bytes a second that prolong the time of a body.
const READ_RATE: u64 = 64 * 1024;

/// When a body was too slow that began at `began` and of which `read` bytes have come, the last of them at `last`.
fn too_slow(began: Moment, last: Moment, read: u64, scarce: bool) -> Moment {
    let time = if scarce { SCARCE_TIME } else { READ_TIME };
    (last + time).min(began + time + Duration::from_secs(read / READ_RATE))
}

/// Reads a body of at most `limit` bytes, accounted in `held`. On a refusal the unread rest comes back for draining.
pub async fn read(
    mut body: Body,
    content_length: Option<u64>,
    held: &mut Held,
    runtime: &Runtime,
    snapshot: &Snapshot,
) -> Result<Document, (ErrorAnswer, Body)> {
    let limit = snapshot.settings.max_request_bytes;
    let ceiling = snapshot.settings.buffered_bytes_limit;
    let mut document = Reading::new(content_length);
    let mut patience = Patience::new(runtime, ceiling);
    let mut read = 0;
    loop {
        let frame = poll_fn(|cx| match Pin::new(&mut body).poll_frame(cx) {
            Poll::Ready(frame) => Poll::Ready(Ok(frame)),
            Poll::Pending => patience.poll(cx, read).map(Err),
        });
        let frame = match frame.await {
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => return Ok(document.finish()),
            Ok(Some(Err(_))) => return Err((bad("the body ended before it was whole: send it again"), body)),
            Err(told) => return Err((told, body)),
        };
        patience.waiting = None;
        let Ok(data) = frame.into_data() else { continue };
        read += data.len() as u64;
        if read > limit {
            return Err((gate1::too_large(limit), body));
        }
        if read > held.amount() && !held.grow_within(read - held.amount(), ceiling) {
            return Err((gate1::body_memory(snapshot), body));
        }
        document.push(data);
    }
}

/// How long a body is still waited for. Looked at only when nothing is here, and one timer does for the whole body.
struct Patience<'a> {
    runtime: &'a Runtime,
    /// Buffered bytes of the pod.
    ceiling: u64,
    began: Moment,
    /// Since when nothing has come.
    waiting: Option<Moment>,
    /// When it is given up because the gateway leaves.
    leave: Moment,
    timer: Timer,
}

impl<'a> Patience<'a> {
    fn new(runtime: &'a Runtime, ceiling: u64) -> Self {
        let began = runtime.clock.now();
        Self { runtime, ceiling, began, waiting: None, leave: Moment::MAX, timer: Timer::default() }
    }

    /// Ready with what the client is told when a body of which `read` bytes have come is given up. A change of phase
    /// polls this too (`front::closing`).
    fn poll(&mut self, cx: &mut Context<'_>, read: u64) -> Poll<ErrorAnswer> {
        loop {
            let now = self.runtime.clock.now();
            let last = *self.waiting.get_or_insert(now);
            if self.leave == Moment::MAX && self.runtime.closing() {
                self.leave = now + LEAVE_TIME;
            }
            let scarce = self.runtime.gauges.buffered.get() > self.ceiling / 2;
            let slow = too_slow(self.began, last, read, scarce);
            if now >= self.leave {
                return Poll::Ready(leaving());
            }
            if now >= slow {
                return Poll::Ready(bad("the body came too slowly: send it again"));
            }
            ready!(self.timer.poll(cx, &self.runtime.clock, slow.min(self.leave).min(now + LOOK)));
        }
    }
}

fn leaving() -> ErrorAnswer {
    ErrorAnswer::new(Kind::ShuttingDown, "the gateway is shutting down: send it again")
        .with_should_retry(true)
}

fn bad(message: &'static str) -> ErrorAnswer {
    ErrorAnswer::new(Kind::BadRequest, message)
}

/// An answer that ends when the client's body has been read and discarded.
pub struct Draining {
    body: Option<Body>,
    left: u64,
    until: Pin<Box<Sleep>>,
    answer: Option<Bytes>,
}

impl Draining {
    /// `answer` after the rest of `body`.
    pub fn new(body: Body, answer: Bytes) -> Self {
        Self { body: Some(body), left: DRAIN_BYTES, until: Box::pin(sleep(DRAIN_TIME)), answer: Some(answer) }
    }

    fn poll_drained(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while let Some(body) = self.body.as_mut() {
            if self.until.as_mut().poll(cx).is_ready() {
                break;
            }
            match Pin::new(body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    let read = frame.data_ref().map_or(0, |data| data.len() as u64);
                    self.left = self.left.saturating_sub(read);
                    if self.left == 0 {
                        break;
                    }
                }
                Poll::Ready(Some(Err(_)) | None) => break,
                Poll::Pending => return Poll::Pending,
            }
        }
        self.body = None;
        Poll::Ready(())
    }
}

impl http_body::Body for Draining {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        if this.poll_drained(cx).is_pending() {
            return Poll::Pending;
        }
        Poll::Ready(this.answer.take().map(|answer| Ok(Frame::data(answer))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_has_a_minute_or_seconds_when_memory_is_scarce_and_what_it_has_sent_at_the_least_rate() {
        let second = Duration::from_secs(1);
        let began = Moment::ZERO + 100 * second;
        for (last, read, scarce, after) in [
            (0, 0, false, 60),
            (30, 100_000, false, 61),
            (600, 32 << 20, false, 572),
            (1, 32 << 20, false, 61),
            (0, 0, true, 5),
            (4, 100_000, true, 6),
            (100, 32 << 20, true, 105),
        ] {
            let due = too_slow(began, began + last * second, read, scarce);
            assert_eq!(due, began + after * second, "{last} {read} {scarce}");
        }
    }
}
