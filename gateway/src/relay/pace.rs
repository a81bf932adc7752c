//! Whether a client takes what it is given.
//!
//! Why: hyper asks a body for its next frame only when there is room for one, so behind a client that does not read, or
//! an h2 stream whose window is never opened, nobody polls the body and none of its timers is looked at; such a client
//! would keep its permits for as long as it likes. So the body says what it is waiting for, and the task that polls it
//! (the connection's over HTTP/1.1, the stream's own over h2) looks after each of its polls that ends pending.
//!
//! Inputs: each poll of the body, and up to when its user action may take. Outputs: [`Lookout::poll`] is ready when the
//! task has to end, which closes the connection or resets the stream and drops the body; the body's `Drop` finds the
//! reason here. Invariant: time counts only while a frame waits for the client. Costs: a store per poll of the body and
//! a load per poll of the task; the clock is read and a timer is armed only while a client keeps a frame waiting.
//!
//! Numbers: 60 s for a frame (nginx's `send_timeout`) and its bytes at 64 KiB/s, the slow link that the reading of
//! request bodies allows too, so that a large frame on such a link is not cut.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http_body::Frame;
use tokio::{
    task::futures::TaskLocalFuture,
    time::{Instant, Sleep, sleep_until},
};

use super::afterwards::Afterwards;

/// Longest that a client may keep one frame waiting, beside what its bytes take at `RATE`.
pub const PATIENCE: Duration = Duration::from_mins(1);
/// Bytes a second that prolong the time of a frame.
const RATE: u64 = 64 * 1024;
/// The same once the pod cuts what remains: error frames that are being written get out.
const LEAVING: Duration = Duration::from_millis(500);

tokio::task_local! {
    static CURRENT: Pace;
}

/// Why a body was ended without being asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The client did not take a frame in time.
    Stalled,
    /// The user action's total deadline passed while a frame waited for the client.
    Deadline,
    /// The pod left while a frame waited for the client.
    Leaving,
}

/// What a body and the task that polls it share.
#[derive(Clone, Debug, Default)]
pub struct Pace(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Bytes of the frame that waits for the client; 0 = none does.
    waiting: AtomicU64,
    /// Frames handed out so far.
    frames: AtomicU64,
    terms: Mutex<Terms>,
    afterwards: Afterwards,
}

#[derive(Debug, Default)]
struct Terms {
    /// End of the user action.
    until: Option<Instant>,
    cut: Option<Cut>,
}

impl Pace {
    /// That of the task which runs this code; one that nobody looks at elsewhere.
    pub fn current() -> Self {
        CURRENT.try_with(Self::clone).unwrap_or_default()
    }

    /// Makes this the current one of whatever `future` runs.
    pub fn scope<F: Future>(&self, future: F) -> TaskLocalFuture<Self, F> {
        CURRENT.scope(self.clone(), future)
    }

    /// A body begins that may take up to `until`.
    pub fn begin(&self, until: Instant) {
        *self.terms() = Terms { until: Some(until), cut: None };
    }

    /// What the body answered when it was polled.
    pub fn note<E>(&self, polled: &Poll<Option<Result<Frame<Bytes>, E>>>) {
        let Poll::Ready(Some(Ok(frame))) = polled else {
            return self.0.waiting.store(0, Ordering::Relaxed);
        };
        let bytes = frame.data_ref().map_or(0, Bytes::len) as u64;
        // One body at a time writes here, so a load and a store lose nothing.
        self.0.frames.store(self.0.frames.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        self.0.waiting.store(bytes.max(1), Ordering::Relaxed);
    }

    /// The body is dropped: why, if it was not the client who left.
    pub fn end(&self) -> Option<Cut> {
        self.0.waiting.store(0, Ordering::Relaxed);
        self.terms().cut.take()
    }

    /// What is booked once the task has written the answer's end.
    pub fn afterwards(&self) -> &Afterwards {
        &self.0.afterwards
    }

    fn terms(&self) -> MutexGuard<'_, Terms> {
        self.0.terms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks at a [`Pace`] on behalf of the task that polls the body, and books what the body has left to it.
#[derive(Debug)]
pub struct Lookout {
    pace: Pace,
    patience: Duration,
    /// The frame that waits, by its number, and since when.
    waiting: Option<(u64, Instant)>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Lookout {
    /// Looks at `pace`; a frame may wait for `patience` ([`PATIENCE`]) and what its bytes take.
    pub fn new(pace: Pace, patience: Duration) -> Self {
        Self { pace, patience, waiting: None, timer: None }
    }

    /// Ready when the task has to end; to be asked after each poll that ended pending. `leaving` = the pod cuts what
    /// remains.
    pub fn poll(&mut self, cx: &mut Context<'_>, leaving: bool) -> Poll<()> {
        self.pace.afterwards().book();
        let bytes = self.pace.0.waiting.load(Ordering::Relaxed);
        if bytes == 0 {
            self.waiting = None;
            return Poll::Pending;
        }
        let frame = self.pace.0.frames.load(Ordering::Relaxed);
        let mut at = now();
        let since = match self.waiting {
            Some((waiting, since)) if waiting == frame => since,
            _ => self.waiting.insert((frame, at)).1,
        };
        let (due, why) = self.due(since, bytes, leaving);
        while at < due {
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(due)));
            if timer.deadline() != due {
                timer.as_mut().reset(due);
            }
            ready!(timer.as_mut().poll(cx));
            at = now();
        }
        self.pace.terms().cut = Some(why);
        Poll::Ready(())
    }

    fn due(&self, since: Instant, bytes: u64, leaving: bool) -> (Instant, Cut) {
        let (patience, why) = if leaving {
            (LEAVING, Cut::Leaving)
        } else {
            (self.patience + Duration::from_secs(bytes / RATE), Cut::Stalled)
        };
        let due = since + patience;
        match self.pace.terms().until {
            Some(until) if until < due => (until, Cut::Deadline),
            _ => (due, why),
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long a client keeps a frame waiting is told by the runtime's clock"
)]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{convert::Infallible, future::poll_fn};

    type Polled = Poll<Option<Result<Frame<Bytes>, Infallible>>>;

    fn frame(bytes: usize) -> Polled {
        Poll::Ready(Some(Ok(Frame::data(Bytes::from(vec![b'x'; bytes])))))
    }

    /// When the lookout gives up, in seconds from now, and why.
    async fn ends(pace: &Pace, leaving: bool) -> Option<(u64, Cut)> {
        let mut lookout = Lookout::new(pace.clone(), PATIENCE);
        let began = now();
        let ended = poll_fn(|cx| lookout.poll(cx, leaving));
        tokio::time::timeout(Duration::from_hours(1), ended).await.ok()?;
        Some((began.elapsed().as_secs(), pace.end().unwrap()))
    }

    #[tokio::test(start_paused = true)]
    async fn a_frame_may_wait_a_minute_and_its_bytes_at_a_slow_links_rate_and_never_past_the_end() {
        for (bytes, until, leaving, wanted) in [
            (10, 3_000, false, (60, Cut::Stalled)),
            (4 << 20, 3_000, false, (124, Cut::Stalled)),
            (10, 30, false, (30, Cut::Deadline)),
            (10, 3_000, true, (0, Cut::Leaving)),
        ] {
            let pace = Pace::default();
            pace.begin(now() + Duration::from_secs(until));
            pace.note(&frame(bytes));
            assert_eq!(ends(&pace, leaving).await, Some(wanted), "{bytes} {until} {leaving}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_waits_for_its_provider_is_left_alone_and_each_frame_taken_starts_anew() {
        let pace = Pace::default();
        pace.note(&frame(10));
        pace.note(&Polled::Pending);
        assert_eq!(ends(&pace, false).await, None, "nothing waits for the client");

        let mut lookout = Lookout::new(pace.clone(), PATIENCE);
        for _ in 0..5 {
            pace.note(&frame(10));
            let ended = tokio::time::timeout(Duration::from_secs(50), poll_fn(|cx| lookout.poll(cx, false)));
            assert!(ended.await.is_err(), "cut although the client reads");
        }
    }

    #[tokio::test]
    async fn what_runs_in_a_scope_finds_its_pace_and_others_one_of_their_own() {
        let pace = Pace::default();
        let inside = pace.scope(async { Pace::current() }).await;
        assert!(Arc::ptr_eq(&inside.0, &pace.0));
        assert!(!Arc::ptr_eq(&Pace::current().0, &pace.0));
    }
}
