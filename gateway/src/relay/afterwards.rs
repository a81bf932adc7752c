//! Books an answer after its last bytes have been handed to the kernel.
//!
//! Why: hyper drops a body as soon as it has taken its last frame, and writes that frame only then. Booking in that moment
//! (ledger, counters, records) kept the client waiting for 4 us at the median on a core that was idle before, where nothing
//! is in a cache, and longer for the one in ten of whom records are written.
//!
//! Inputs: the attempt of a body that is over, its places in lane and route already given back. Output: its drop, which books
//! it and its user action and ends their being in flight: when the task that polled the body has written what it could
//! ([`super::pace::Lookout`]), when the next request of the same connection begins, or at the latest when the task ends.
//! Invariants: at most one attempt waits; what waits is never lost, because whoever drops the slot drops its content; when
//! nothing is in flight, all is booked. Outside a task that looks after its bodies the slot goes with the body, so that
//! nothing waits. Refuses: a task or a queue of its own.

use std::sync::{Mutex, PoisonError};

use crate::race::attempt::Attempt;

/// Where one task keeps what is to be booked.
#[derive(Default)]
pub struct Afterwards(Mutex<Option<Box<Attempt>>>);

impl Afterwards {
    /// Leaves an attempt to be booked; one that waits already is booked now.
    pub fn leave(&self, attempt: Attempt) {
        drop(self.replace(Some(Box::new(attempt))));
    }

    /// Books what waits.
    pub fn book(&self) {
        drop(self.replace(None));
    }

    /// What waited; it is dropped without the lock.
    fn replace(&self, next: Option<Box<Attempt>>) -> Option<Box<Attempt>> {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), next)
    }
}

impl std::fmt::Debug for Afterwards {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Afterwards").finish_non_exhaustive()
    }
}
