//! How a kept HTTP/1.1 connection is given up without losing a request.
//!
//! Why: a server that closes an idle connection may do so in the very moment in which the client sends its next request on
//! it, and nothing tells the client whether that request was taken (RFC 9112, 9.3.1 and 9.6). HTTP/2 has GOAWAY for that;
//! HTTP/1.1 has `Connection: close`, which can only be said together with an answer. So from the first moment of leaving
//! every answer says it, and a connection on which it could not be said stays open for [`LINGER`] after its last answer:
//! by then the pools of clients have let go of it, or have sent a request that is still served and told.
//!
//! Inputs: the phase, and whether an answer is under way. Outputs: the header, and when the connection may be closed.
//! Invariant: an answer is under way from the call of the service until its body is dropped. Costs while the port is
//! open: an `Arc` and two stores per request.
//!
//! Number: the pools of the official Python and Node SDKs keep an idle connection for 5 s (`httpx.Limits`) and 4 s
//! (undici's `keepAliveTimeout`); a second more for what is on its way.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderValue, Response, header};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep, sleep_until};

use super::closing::{Closing, Phase};

/// How long a connection that its client believes to be kept stays open without a request.
pub const LINGER: Duration = Duration::from_secs(6);

/// Whether an answer is under way on one connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Answering(Arc<AtomicBool>);

impl Answering {
    /// A request has arrived.
    pub(super) fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether a request has arrived whose answer has not ended.
    pub(super) fn under_way(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Its answer, which ends what was begun when its body is dropped, and says that it is the last one of its
    /// connection where the port is leaving.
    pub(super) fn answer<B>(&self, mut answer: Response<B>, closing: &Closing) -> Response<Kept<B>> {
        if closing.phase() > Phase::Open {
            answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        answer.map(|body| Kept { body, end: End(self.clone()) })
    }
}

/// Ends an answer when it is dropped.
struct End(Answering);

impl Drop for End {
    fn drop(&mut self) {
        self.0.0.store(false, Ordering::Relaxed);
    }
}

pin_project! {
    /// A body whose end is noted.
    pub(super) struct Kept<B> {
        #[pin]
        body: B,
        end: End,
    }
}

impl<B: Body<Data = Bytes>> Body for Kept<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        self.project().body.poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Waits until a connection on which nothing was ever sent may be closed.
pub(super) async fn silent(closing: &Closing) {
    closing.reached(Phase::Closing).await;
    if !closing.hurried() {
        tokio::select! {
            () = tokio::time::sleep(LINGER) => {}
            () = closing.reached(Phase::Cut) => {}
        }
    }
}

/// When one connection may be closed.
#[derive(Debug)]
pub(super) struct Handover {
    answering: Answering,
    /// Since when it has been idle, as far as anybody looked.
    idle: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Handover {
    pub(super) fn new(answering: Answering) -> Self {
        Self { answering, idle: None, timer: None }
    }

    /// Ready when the connection may be closed; to be asked after each poll of it that ended pending.
    pub(super) fn poll(&mut self, context: &mut Context<'_>, phase: Phase, hurried: bool) -> Poll<()> {
        if phase == Phase::Open {
            return Poll::Pending;
        }
        if phase == Phase::Cut || (hurried && phase == Phase::Closing) {
            return Poll::Ready(());
        }
        if self.answering.under_way() {
            self.idle = None;
            return Poll::Pending;
        }
        let idle = *self.idle.get_or_insert_with(now);
        if phase < Phase::Closing {
            return Poll::Pending;
        }
        let due = idle + LINGER;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(due)));
        if timer.deadline() != due {
            timer.as_mut().reset(due);
        }
        ready!(timer.as_mut().poll(context));
        Poll::Ready(())
    }
}

#[expect(clippy::disallowed_methods, reason = "how long a connection is idle is told by the runtime's clock")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    /// Seconds until the connection may be closed, at most a minute.
    async fn closes(handover: &mut Handover, phase: Phase, hurried: bool) -> Option<u64> {
        let began = now();
        let closes = poll_fn(|context| handover.poll(context, phase, hurried));
        tokio::time::timeout(Duration::from_mins(1), closes).await.ok()?;
        Some(began.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_is_closed_when_clients_have_let_go_of_it() {
        let answering = Answering::default();
        let mut handover = Handover::new(answering.clone());
        assert_eq!(closes(&mut handover, Phase::Open, false).await, None);
        assert_eq!(
            closes(&mut handover, Phase::Leaving, false).await,
            None,
            "endpoints have to forget the pod"
        );
        assert_eq!(closes(&mut handover, Phase::Closing, false).await, Some(0), "idle since a minute");

        let mut handover = Handover::new(answering.clone());
        assert_eq!(closes(&mut handover, Phase::Closing, false).await, Some(6), "just idle");
        for (phase, hurried) in [(Phase::Cut, false), (Phase::Closing, true)] {
            assert_eq!(closes(&mut Handover::new(answering.clone()), phase, hurried).await, Some(0));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_counts_from_the_end_of_the_last_answer() {
        let (answering, closing) = (Answering::default(), Closing::default());
        let mut handover = Handover::new(answering.clone());
        answering.begin();
        let answer = answering.answer(Response::new(()), &closing);
        assert!(!answer.headers().contains_key(header::CONNECTION), "nobody is leaving");
        assert_eq!(closes(&mut handover, Phase::Closing, false).await, None, "an answer is under way");
        drop(answer);
        assert_eq!(closes(&mut handover, Phase::Closing, false).await, Some(6));
    }

    #[test]
    fn an_answer_of_a_leaving_port_is_the_last_one_of_its_connection() {
        let closing = Closing::default();
        closing.advance(Phase::Leaving);
        let answer = Answering::default().answer(Response::new(()), &closing);
        assert_eq!(answer.headers()[header::CONNECTION], "close");
    }
}
