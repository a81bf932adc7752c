//! Spans that wait for the collector.
//!
//! Inputs: the spans of settled user actions. Outputs: batches. Invariants: pushing never waits; at most [`LIMIT`] spans
//! wait, the rest is dropped and counted, a user action's spans together; a closed queue takes nothing and gives what it
//! has.
//!
//! Numbers: `OTEL_BSP_MAX_QUEUE_SIZE` and `OTEL_BSP_MAX_EXPORT_BATCH_SIZE` of OpenTelemetry's specification by default;
//! a batch is sent after a second instead of five, so that a trace is there when somebody looks for it.

use std::{
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use opentelemetry_proto::tonic::trace::v1::Span;
use prometheus_client::metrics::counter::Counter;
use tokio::{sync::Notify, time::timeout};

/// Most spans that wait: about 4 MiB.
pub(super) const LIMIT: usize = 2_048;
/// Most spans of one batch.
pub(super) const BATCH: usize = 512;
const COLLECT: Duration = Duration::from_secs(1);

/// Spans that wait. One task takes them.
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    /// A batch is there, or the queue was closed.
    changed: Notify,
    dropped: Counter,
}

#[derive(Default)]
struct Waiting {
    spans: Vec<Span>,
    /// Taken and neither delivered nor given up.
    in_hand: usize,
    closed: bool,
}

impl Queue {
    /// Empty; `dropped` counts what is lost.
    pub(super) fn new(dropped: Counter) -> Self {
        Self { waiting: Mutex::default(), changed: Notify::new(), dropped }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes all of `spans`, or drops and counts them.
    pub(super) fn push(&self, spans: Vec<Span>) {
        let mut waiting = self.waiting();
        let before = waiting.spans.len();
        if waiting.closed || before + spans.len() > LIMIT {
            drop(waiting);
            self.dropped.inc_by(spans.len() as u64);
            return;
        }
        waiting.spans.extend(spans);
        let full = before < BATCH && waiting.spans.len() >= BATCH;
        drop(waiting);
        if before == 0 || full {
            self.changed.notify_one();
        }
    }

    /// Takes nothing any more.
    pub(super) fn close(&self) {
        self.waiting().closed = true;
        self.changed.notify_one();
    }

    /// Waits until it is closed.
    pub(super) async fn closed(&self) {
        self.until(|waiting| waiting.closed).await;
    }

    /// The next batch: what there is a second after its first span, or at once when it is full or the last. `None` = the
    /// queue is closed and empty. The batch is in hand until [`Queue::settle`].
    pub(super) async fn next(&self) -> Option<Vec<Span>> {
        self.until(|waiting| waiting.closed || !waiting.spans.is_empty()).await;
        let full = self.until(|waiting| waiting.closed || waiting.spans.len() >= BATCH);
        // A batch that is not full after a second is sent as it is.
        let _ = timeout(COLLECT, full).await;
        let mut waiting = self.waiting();
        let rest = if waiting.spans.len() > BATCH { waiting.spans.split_off(BATCH) } else { Vec::new() };
        let batch = mem::replace(&mut waiting.spans, rest);
        waiting.in_hand = batch.len();
        (!batch.is_empty()).then_some(batch)
    }

    /// The batch is delivered, but for `lost` spans.
    pub(super) fn settle(&self, lost: u64) {
        self.waiting().in_hand = 0;
        self.dropped.inc_by(lost);
    }

    /// Spans that are neither delivered nor given up.
    pub(super) fn left(&self) -> u64 {
        let waiting = self.waiting();
        (waiting.spans.len() + waiting.in_hand) as u64
    }

    async fn until(&self, holds: impl Fn(&Waiting) -> bool) {
        while !holds(&self.waiting()) {
            // A notice between the look and the wait is kept for it.
            self.changed.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(count: usize) -> Vec<Span> {
        vec![Span::default(); count]
    }

    #[tokio::test(start_paused = true)]
    async fn a_batch_is_what_there_is_after_a_second_and_at_most_512() {
        let queue = Queue::new(Counter::default());
        queue.push(spans(2));
        let start = queue.next();
        let (batch, ()) = tokio::join!(start, async {
            tokio::time::sleep(COLLECT / 2).await;
            queue.push(spans(3));
        });
        assert_eq!(batch.unwrap().len(), 5);
        queue.push(spans(BATCH + 1));
        assert_eq!(timeout(Duration::ZERO, queue.next()).await.unwrap().unwrap().len(), BATCH, "at once");
        queue.close();
        assert_eq!(queue.next().await.unwrap().len(), 1);
        queue.settle(0);
        assert!(queue.next().await.is_none());
    }

    #[tokio::test]
    async fn what_does_not_fit_or_comes_too_late_is_counted_whole() {
        let dropped = Counter::default();
        let queue = Queue::new(dropped.clone());
        queue.push(spans(LIMIT - 1));
        queue.push(spans(2));
        assert_eq!((queue.left(), dropped.get()), (LIMIT as u64 - 1, 2));
        let batch = queue.next().await.unwrap();
        assert_eq!(queue.left(), LIMIT as u64 - 1, "in hand is not delivered");
        queue.settle(batch.len() as u64);
        assert_eq!((queue.left(), dropped.get()), ((LIMIT - 1 - BATCH) as u64, 2 + BATCH as u64));
        queue.close();
        queue.push(spans(1));
        assert_eq!(dropped.get(), 3 + BATCH as u64);
    }
}
