//! The client's body: read within limits, or discarded while a refusal is on its way.
//!
//! A refusal keeps reading (up to 32 MiB or 5 s) and its answer, sent in chunks, ends only then: otherwise SDKs see a
//! broken pipe instead of the 429 (12 to 17 of 20 with openai-node at 1 to 20 MB, none this way; experiment E2).
//!
//! Reading ends although the client keeps sending: 60 s and what it has sent so far at 64 KiB/s. The 60 s are nginx's and
//! the usual load balancers' patience, enough for 100 KB at 14 kbit/s; the rate is a slow uplink (512 kbit/s), so that a
//! client at its speed is never cut and one byte every few seconds holds a place for one minute at most.

use std::{
    future::{Future as _, poll_fn},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use hedgerow_policy::time::Moment;
use http_body::{Body as _, Frame};
use http_body_util::BodyExt as _;
use tokio::time::{Sleep, sleep, sleep_until};

use super::gate1;
use crate::{
    runtime::{Runtime, gauge::Held, snapshot::Snapshot},
    wire::answer::{ErrorAnswer, Kind},
};

/// Most that is read and discarded of a refused body.
const DRAIN_BYTES: u64 = 32 * 1024 * 1024;
/// Longest that a refused body is read.
const DRAIN_TIME: Duration = Duration::from_secs(5);
/// Longest time between two pieces of a body, and for all of a body that comes below [`READ_RATE`].
const READ_TIME: Duration = Duration::from_mins(1);
/// Longest that a body is still read once the gateway accepts no more connections: one that is on its way comes in.
const LEAVE_TIME: Duration = Duration::from_secs(2);
/// Bytes a second that prolong the time of a body.
const READ_RATE: u64 = 64 * 1024;

/// How long a body may take of which `read` bytes have come.
fn patience(read: u64) -> Duration {
    READ_TIME + Duration::from_secs(read / READ_RATE)
}

/// Reads a body of at most `limit` bytes, accounted in `held`. On a refusal the unread rest comes back for draining.
pub async fn read(
    mut body: Body,
    content_length: Option<u64>,
    held: &mut Held,
    runtime: &Runtime,
    snapshot: &Snapshot,
) -> Result<Bytes, (ErrorAnswer, Body)> {
    let limit = snapshot.settings.max_request_bytes;
    let ceiling = snapshot.settings.buffered_bytes_limit;
    let mut first = Bytes::new();
    let mut more: Option<BytesMut> = None;
    let (mut read, began, mut leave) = (0, runtime.clock.now(), Moment::MAX);
    loop {
        let now = runtime.clock.now();
        let slow = (now + READ_TIME).min(began + patience(read));
        let frame = tokio::select! {
            biased;
            frame = body.frame() => frame,
            () = closes(runtime), if leave == Moment::MAX => {
                leave = runtime.clock.now() + LEAVE_TIME;
                continue;
            }
            () = sleep_until(runtime.clock.instant(slow.min(leave))) => {
                let told = if leave < slow { leaving() } else { bad("the body came too slowly: send it again") };
                return Err((told, body));
            }
        };
        let frame = match frame {
            Some(Ok(frame)) => frame,
            None => return Ok(more.map_or(first, BytesMut::freeze)),
            Some(Err(_)) => return Err((bad("the body ended before it was whole: send it again"), body)),
        };
        let Ok(data) = frame.into_data() else { continue };
        read += data.len() as u64;
        if read > limit {
            return Err((gate1::too_large(limit), body));
        }
        if read > held.amount() && !held.grow_within(read - held.amount(), ceiling) {
            return Err((gate1::body_memory(snapshot), body));
        }
        if first.is_empty() && more.is_none() {
            first = data;
            continue;
        }
        more.get_or_insert_with(|| {
            let mut buffer =
                BytesMut::with_capacity(content_length.unwrap_or(0).min(gate1::FIRST_BYTES) as usize);
            buffer.extend_from_slice(&first);
            buffer
        })
        .extend_from_slice(&data);
    }
}

/// Waits until bodies are given up. Nothing wakes it but the poll that the change of phase causes (`front::closing`).
async fn closes(runtime: &Runtime) {
    poll_fn(|_| if runtime.closing() { Poll::Ready(()) } else { Poll::Pending }).await;
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
    fn a_body_has_a_minute_and_what_it_has_sent_at_the_least_rate() {
        let minute = 60;
        for (read, seconds) in [(0, minute), (100_000, minute + 1), (32 << 20, minute + 512)] {
            assert_eq!(patience(read), Duration::from_secs(seconds));
        }
    }
}
