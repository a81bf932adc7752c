//! Writes records as JSON lines without ever making a request wait.
//!
//! Inputs: records. Output: lines on a sink, written by one thread of its own, in the order of the calls. Invariants:
//! a record is written whole or not at all; when [`LIMIT`] bytes are pending (the reader of stdout is slow or gone),
//! records are dropped and counted; at shutdown what is pending is flushed, within a bound. Refuses: blocking, and
//! knowing what a record means.
//!
//! Numbers: serde into a kept buffer costs 1 us a record where a tracing layer costs 5 (`data-plane-experiments` E13);
//! lines are collected for 20 ms, so that a busy pod makes 50 writes a second and not one per record; 4 MiB are about
//! 6,000 records, more than a second of what one core can serve.

use std::{
    cell::RefCell,
    io::Write,
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
    time::Duration,
};

use prometheus_client::metrics::counter::Counter;
use serde::Serialize;

/// Most pending bytes.
pub const LIMIT: usize = 4 * 1024 * 1024;
const COLLECT: Duration = Duration::from_millis(20);
const FLUSH_WITHIN: Duration = Duration::from_secs(2);

thread_local! {
    /// One line is built here, then copied under the lock.
    static LINE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Takes records; cheap to clone.
#[derive(Clone)]
pub struct RecordWriter(Option<Arc<Queue>>);

struct Queue {
    pending: Mutex<Pending>,
    changed: Condvar,
    dropped: Counter,
}

#[derive(Default)]
struct Pending {
    lines: Vec<u8>,
    closed: bool,
    /// The sink failed for good.
    broken: bool,
}

/// Ends the writer's thread; keep it until the last record.
#[must_use = "without it pending records are lost at exit"]
pub struct Flush {
    queue: Arc<Queue>,
    done: mpsc::Receiver<()>,
}

impl RecordWriter {
    /// To any sink; `dropped` counts records that were lost.
    pub fn to(sink: impl Write + Send + 'static, dropped: Counter) -> (Self, Flush) {
        let queue = Arc::new(Queue { pending: Mutex::default(), changed: Condvar::new(), dropped });
        let (ended, done) = mpsc::channel();
        let writer = queue.clone();
        let run = move || {
            writer.run(sink);
            // Nobody may be waiting.
            let _ = ended.send(());
        };
        if let Err(error) = thread::Builder::new().name("records".to_owned()).spawn(run) {
            tracing::error!(%error, "no thread for records: none will be written");
            queue.lock().broken = true;
        }
        (Self(Some(queue.clone())), Flush { queue, done })
    }

    /// To nowhere.
    pub fn discard() -> Self {
        Self(None)
    }

    /// Queues one record, or drops and counts it. Never blocks longer than a copy of one line.
    pub fn try_write(&self, record: &impl Serialize) {
        let Some(queue) = &self.0 else { return };
        LINE.with_borrow_mut(|line| {
            line.clear();
            if serde_json::to_writer(&mut *line, record).is_ok() {
                line.push(b'\n');
                queue.push(line);
            } else {
                queue.dropped.inc();
            }
        });
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, line: &[u8]) {
        let mut pending = self.lock();
        if pending.broken || pending.closed || pending.lines.len() + line.len() > LIMIT {
            drop(pending);
            self.dropped.inc();
            return;
        }
        let first = pending.lines.is_empty();
        pending.lines.extend_from_slice(line);
        drop(pending);
        if first {
            self.changed.notify_one();
        }
    }

    fn run(&self, mut sink: impl Write) {
        let mut batch = Vec::new();
        loop {
            let closed = self.next(&mut batch);
            if let Err(error) = sink.write_all(&batch).and_then(|()| sink.flush()) {
                tracing::error!(%error, "records cannot be written any more");
                let mut pending = self.lock();
                pending.broken = true;
                pending.lines = Vec::new();
                return;
            }
            if closed {
                return;
            }
        }
    }

    /// Waits for lines and takes them; `true` when these are the last.
    fn next(&self, batch: &mut Vec<u8>) -> bool {
        batch.clear();
        let mut pending = self.lock();
        while pending.lines.is_empty() && !pending.closed {
            pending = self.changed.wait(pending).unwrap_or_else(PoisonError::into_inner);
        }
        if !pending.closed {
            let waited = self.changed.wait_timeout_while(pending, COLLECT, |p| !p.closed);
            pending = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        mem::swap(&mut pending.lines, batch);
        pending.closed
    }
}

impl Flush {
    /// Writes what is pending and ends the thread; later records are dropped. Waits at most two seconds.
    pub fn finish(self) {
        self.queue.lock().closed = true;
        self.queue.changed.notify_all();
        if self.done.recv_timeout(FLUSH_WITHIN).is_err() {
            tracing::warn!("the reader of the records is too slow: some are lost");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Takes nothing until its gate opens.
    struct Gate(mpsc::Receiver<()>);

    impl Write for Gate {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn every_record_is_one_line_in_order_and_all_are_there_after_finish() {
        let (sink, dropped) = (Sink::default(), Counter::default());
        let (records, flush) = RecordWriter::to(sink.clone(), dropped.clone());
        for number in 0..1000 {
            records.try_write(&number);
        }
        flush.finish();
        records.try_write(&"late");
        let text = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
        assert!(text.lines().enumerate().all(|(at, line)| line == at.to_string()));
        assert_eq!((text.lines().count(), dropped.get()), (1000, 1));
    }

    #[test]
    fn a_reader_that_does_not_read_costs_records_and_not_time() {
        let (open, gate) = mpsc::channel();
        let dropped = Counter::default();
        let (records, flush) = RecordWriter::to(Gate(gate), dropped.clone());
        let long = "x".repeat(LIMIT / 4);
        for _ in 0..20 {
            records.try_write(&long);
        }
        // At most one batch is with the writer and one is pending.
        assert!(dropped.get() >= 20 - 8, "{}", dropped.get());
        drop(open);
        flush.finish();
    }
}
