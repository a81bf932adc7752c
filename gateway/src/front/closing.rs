//! How the traffic port learns that the process is leaving.
//!
//! Why: hyper polls a connection only for its own I/O, so something must wake every connection and every h2 stream when
//! the phase changes; a channel or notification per *request* would cost all of them all the time. Inputs: the drain.
//! Outputs: a `Watch` inside each task of the traffic port; it costs one atomic load per poll. Invariant: after
//! [`Closing::advance`] every watching task is polled at least once with the new phase visible.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use hyper::rt::Executor;
use pin_project_lite::pin_project;
use tokio::{
    sync::{Notify, futures::OwnedNotified},
    task::futures::TaskLocalFuture,
};

use crate::relay::pace::{Lookout, Pace};

/// What the traffic port does now. Phases only go forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Phase {
    /// Takes connections and requests.
    Open,
    /// Takes both, while those who send them are told to go elsewhere; every HTTP/1.1 answer says `Connection: close`.
    Leaving,
    /// Takes no connection; kept ones end with their running requests (`Connection: close`, GOAWAY), idle ones as
    /// [`super::handover`] says if the port was leaving before, else at once.
    Closing,
    /// Running answers are cut: whoever produces one looks at its own flag in the poll that this phase causes.
    Cut,
}

/// The phase of the traffic port, shared by all its tasks.
#[derive(Clone, Debug, Default)]
pub struct Closing(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    phase: AtomicU8,
    /// The port was leaving before it closed.
    announced: AtomicBool,
    /// `OwnedNotified` asks for an `Arc` of its own.
    changed: Arc<Notify>,
}

impl Closing {
    /// Moves on to `phase`; an earlier one than the present changes nothing.
    pub fn advance(&self, phase: Phase) {
        if phase == Phase::Leaving {
            self.0.announced.store(true, Ordering::Release);
        }
        self.0.phase.fetch_max(phase as u8, Ordering::AcqRel);
        self.0.changed.notify_waiters();
    }

    /// The present phase.
    pub fn phase(&self) -> Phase {
        match self.0.phase.load(Ordering::Acquire) {
            0 => Phase::Open,
            1 => Phase::Leaving,
            2 => Phase::Closing,
            _ => Phase::Cut,
        }
    }

    /// Nobody who sends requests was told that the port closes, because nobody sends any more.
    pub fn hurried(&self) -> bool {
        !self.0.announced.load(Ordering::Acquire)
    }

    /// Waits until the phase is at least `phase`.
    pub async fn reached(&self, phase: Phase) {
        loop {
            let changed = self.0.changed.clone().notified_owned();
            if self.phase() >= phase {
                return;
            }
            changed.await;
        }
    }

    pub(super) fn watch(&self) -> Watch {
        let changed = self.0.changed.clone().notified_owned();
        Watch { closing: self.clone(), changed, seen: None }
    }
}

pin_project! {
    /// Registers a task for the next change of phase.
    pub(super) struct Watch {
        closing: Closing,
        #[pin]
        changed: OwnedNotified,
        seen: Option<Phase>,
    }
}

impl Watch {
    /// The phase now; the task will be woken when it changes.
    pub(super) fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Phase {
        let mut this = self.project();
        let mut phase = this.closing.phase();
        if *this.seen != Some(phase) {
            while this.changed.as_mut().poll(context).is_ready() {
                this.changed.set(this.closing.0.changed.clone().notified_owned());
            }
            phase = this.closing.phase();
            *this.seen = Some(phase);
        }
        phase
    }
}

pin_project! {
    /// An h2 stream that is also polled when the phase changes, and ended when its client does not read.
    struct Watched<F> {
        #[pin]
        stream: TaskLocalFuture<Pace, F>,
        #[pin]
        watch: Watch,
        lookout: Lookout,
    }
}

impl<F: Future> Future for Watched<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        let phase = this.watch.poll(context);
        if this.stream.poll(context).is_ready() {
            return Poll::Ready(());
        }
        this.lookout.poll(context, phase == Phase::Cut)
    }
}

/// Runs h2 streams, which hyper gives a task of their own: they have to hear of a change of phase too, and a stream whose
/// window stays closed is ended alone.
#[derive(Clone)]
pub(super) struct StreamExecutor {
    pub(super) closing: Closing,
    /// As [`super::server::Limits::patience`].
    pub(super) patience: Duration,
}

impl<F> Executor<F> for StreamExecutor
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn execute(&self, stream: F) {
        let pace = Pace::default();
        tokio::spawn(Watched {
            stream: pace.scope(stream),
            watch: self.closing.watch(),
            lookout: Lookout::new(pace, self.patience),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    #[tokio::test]
    async fn a_watching_task_is_polled_again_at_each_change_of_phase() {
        let closing = Closing::default();
        let watch = closing.watch();
        let (seen, mut phases) = tokio::sync::mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            tokio::pin!(watch);
            poll_fn(|context| {
                let phase = watch.as_mut().poll(context);
                seen.send(phase).unwrap();
                if phase == Phase::Cut { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
        });
        assert_eq!(phases.recv().await, Some(Phase::Open));
        closing.advance(Phase::Closing);
        assert_eq!(phases.recv().await, Some(Phase::Closing));
        closing.advance(Phase::Cut);
        assert_eq!(phases.recv().await, Some(Phase::Cut));
        closing.advance(Phase::Open);
        assert_eq!(closing.phase(), Phase::Cut);
        task.await.unwrap();
    }
}
