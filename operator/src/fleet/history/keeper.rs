//! When a fleet's history is worth a write: it is not on the way of any decision, so it waits.
//!
//! Written after a pause, and only when it changed; before pods are replaced at once, because what they have counted goes
//! with them.

use std::time::Duration;

use hedgerow_policy::time::Moment;

use super::Saved;

/// The history as it is to be stored.
#[derive(Debug)]
pub struct Keeper {
    /// Shortest pause between two writes.
    every: Duration,
    bytes: Option<Vec<u8>>,
    saved: Option<Saved>,
    written: Moment,
}

impl Keeper {
    /// One that has nothing yet, and writes with at least this pause.
    pub fn new(every: Duration) -> Self {
        Self { every, bytes: None, saved: None, written: Moment::ZERO }
    }

    /// Bytes to store; none = nothing was ever worth it.
    pub fn bytes(&self) -> Option<&[u8]> {
        self.bytes.as_deref()
    }

    /// Goes on from what is stored.
    pub fn resume(&mut self, bytes: Vec<u8>, saved: Saved, now: Moment) {
        *self = Self { bytes: Some(bytes), saved: Some(saved), written: now, ..*self };
    }

    /// Whether it is time to ask for what there is to save.
    pub fn is_due(&self, now: Moment) -> bool {
        now.since(self.written) >= self.every
    }

    /// Takes what there is to save; true where it is to be written.
    pub fn take(&mut self, saved: Saved, now: Moment) -> bool {
        if saved.is_empty() {
            return false;
        }
        self.written = now;
        if self.saved.as_ref() == Some(&saved) {
            return false;
        }
        self.bytes = Some(saved.write());
        self.saved = Some(saved);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{domain::guardrail::fixture, fleet::history::History, scrape::Cumulative};

    fn spent(picos: u128, now: Moment) -> Saved {
        let mut pod = fixture::state("a", Vec::new());
        pod.pod.started_unix_ms = now.as_millis();
        pod.cohorts[0].total.cost.0 = picos;
        let mut history = History::default();
        history.observe([&pod], &Cumulative::default(), now);
        history.save()
    }

    #[test]
    fn it_is_written_when_something_changed_and_not_too_often() {
        let at = |seconds: u64| Moment::from_secs(1_000_000 + seconds);
        let mut keeper = Keeper::new(Duration::from_mins(5));
        assert!(keeper.is_due(at(0)));
        assert!(!keeper.take(History::default().save(), at(0)), "nothing is worth nothing");
        assert!(keeper.is_due(at(1)));
        assert!(keeper.take(spent(5, at(0)), at(2)));
        assert!(!keeper.is_due(at(301)) && keeper.is_due(at(302)));
        let bytes = keeper.bytes().map(<[u8]>::to_vec);
        assert!(!keeper.take(spent(5, at(0)), at(600)), "the same");
        assert_eq!(keeper.bytes().map(<[u8]>::to_vec), bytes);
        assert!(keeper.take(spent(6, at(0)), at(900)));
    }
}
