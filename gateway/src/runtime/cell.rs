//! One latency cell (cohort x route x model x streaming x input band): what is recorded, and the delay learnt from it.
//!
//! Inputs: first tokens and ends of attempts. Outputs: [`Learnt`], recomputed by `runtime::learning`, read through an
//! `ArcSwap` without a lock. Primaries and hedges are recorded apart, because hedges are only sent for slow prompts.
//! Counts are cumulative and never decay here; a new generation starts when the route's endpoint, api or upstream model
//! changes.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwapOption;
use hedgerow_config::state::CellKey;
pub use hedgerow_policy::learning::{CellId, Learnt};
use hedgerow_policy::{
    experience::Races,
    latency::Recorder,
    learning::{Counted, Memory},
    ledger::InputRatio,
    time::Moment,
};

/// Upper ends of the input bands in estimated tokens; more is band 3 (research: same size, same curve).
const BANDS: [u64; 3] = [1_000, 8_000, 32_000];

/// Input band of an estimate in tokens.
pub fn band(tokens: u64) -> u8 {
    BANDS.iter().position(|end| tokens <= *end).map_or(3, |place| place as u8)
}

/// One cell.
pub struct CellRuntime {
    /// Its long name.
    pub key: CellKey,
    /// Its short name.
    pub id: CellId,
    /// Grows when the cell starts again from zero.
    pub generation: u64,
    /// Identity of endpoint, api and upstream model.
    pub identity: String,
    /// Primaries.
    pub primary: Recorder,
    /// Hedges.
    pub hedge: Recorder,
    /// Hedges sent to this cell.
    pub hedges: AtomicU64,
    /// Hedges sent to this cell that won.
    pub wins: AtomicU64,
    /// Sum of the win probabilities that were predicted for them, in 1/1000.
    pub predicted: AtomicU64,
    /// Text bytes per input token.
    pub ratio: InputRatio,
    /// Output tokens of whole answers, in the buckets of milliseconds (one token = one millisecond).
    pub output: Recorder,
    /// What was learnt last.
    pub learnt: ArcSwapOption<Learnt>,
    /// Samples with memory; only the tick writes.
    pub memory: Mutex<Memory>,
    /// When the cell was last used, in nanoseconds of the monotonic clock.
    pub used: AtomicU64,
    input_total: AtomicU64,
    input_cached: AtomicU64,
    waiting: Mutex<Waiting>,
}

/// Starts of attempts that have no first token yet.
#[derive(Default)]
struct Waiting {
    starts: Vec<Option<Moment>>,
    free: Vec<u32>,
}

impl CellRuntime {
    /// An empty cell.
    pub fn new(key: CellKey, id: CellId, generation: u64, identity: String) -> Self {
        Self {
            key,
            id,
            generation,
            identity,
            primary: Recorder::new(),
            hedge: Recorder::new(),
            hedges: AtomicU64::new(0),
            wins: AtomicU64::new(0),
            predicted: AtomicU64::new(0),
            ratio: InputRatio::default(),
            output: Recorder::new(),
            learnt: ArcSwapOption::empty(),
            memory: Mutex::default(),
            used: AtomicU64::new(0),
            input_total: AtomicU64::new(0),
            input_cached: AtomicU64::new(0),
            waiting: Mutex::default(),
        }
    }

    /// Notes that an attempt waits for its first token.
    pub fn wait(self: &Arc<Self>, now: Moment) -> Wait {
        self.used.store(now.as_nanos(), Ordering::Relaxed);
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let place = waiting.free.pop().unwrap_or_else(|| {
            waiting.starts.push(None);
            (waiting.starts.len() - 1) as u32
        });
        if let Some(start) = waiting.starts.get_mut(place as usize) {
            *start = Some(now);
        }
        Wait { cell: self.clone(), place }
    }

    /// Ages of the attempts that have no first token yet.
    pub fn ages(&self, now: Moment) -> Vec<Duration> {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.starts.iter().flatten().map(|start| now.since(*start)).collect()
    }

    /// Counts the input of an answer with exact usage: the totals halve now and then, so that the share follows change.
    pub fn input(&self, total: u64, cached: u64) {
        let seen = self.input_total.fetch_add(total, Ordering::Relaxed) + total;
        self.input_cached.fetch_add(cached, Ordering::Relaxed);
        if seen > 4_000_000 {
            self.input_total.store(seen / 2, Ordering::Relaxed);
            let cached = self.input_cached.load(Ordering::Relaxed);
            self.input_cached.store(cached / 2, Ordering::Relaxed);
        }
    }

    /// Cached share of the cell's input tokens in 1/1000.
    pub fn cached_per_mille(&self) -> u16 {
        let total = self.input_total.load(Ordering::Relaxed);
        let cached = self.input_cached.load(Ordering::Relaxed).min(total);
        (cached * 1_000).checked_div(total).map_or(0, |share| share as u16)
    }

    /// Everything that was counted since the cell began.
    pub fn counted(&self) -> Counted {
        let races = Races {
            hedges: self.hedges.load(Ordering::Relaxed),
            wins: self.wins.load(Ordering::Relaxed),
            predicted: self.predicted.load(Ordering::Relaxed),
        };
        Counted { primary: self.primary.counts(), hedge: self.hedge.counts(), races }
    }

    /// What is normal for this cell.
    pub fn expected(&self) -> Option<Duration> {
        self.learnt.load().as_ref().and_then(|learnt| learnt.expected)
    }
}

/// Membership of one attempt in the in-flight ages; dropping ends it.
#[must_use = "dropping it ends the wait"]
pub struct Wait {
    cell: Arc<CellRuntime>,
    place: u32,
}

impl Drop for Wait {
    fn drop(&mut self) {
        let mut waiting = self.cell.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(start) = waiting.starts.get_mut(self.place as usize) {
            *start = None;
        }
        waiting.free.push(self.place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell() -> Arc<CellRuntime> {
        let key = CellKey { cohort: "c".into(), route: "r".into(), model: "m".into(), stream: true, band: 0 };
        let id = CellId { cohort: 1, route: 1, model: 1, stream: true, band: 0 };
        Arc::new(CellRuntime::new(key, id, 0, String::new()))
    }

    #[test]
    fn ages_are_those_of_waiting_attempts_only() {
        let cell = cell();
        let first = cell.wait(Moment::from_secs(1));
        let second = cell.wait(Moment::from_secs(2));
        drop(first);
        let third = cell.wait(Moment::from_secs(4));
        let mut ages = cell.ages(Moment::from_secs(5));
        ages.sort();
        assert_eq!(ages, [Duration::from_secs(1), Duration::from_secs(3)]);
        drop((second, third));
        assert!(cell.ages(Moment::from_secs(5)).is_empty());
        assert_eq!(cell.waiting.lock().unwrap().starts.len(), 2);
    }

    #[test]
    fn bands_end_at_1k_8k_and_32k_tokens() {
        for (tokens, expected) in [(0, 0), (1_000, 0), (1_001, 1), (8_000, 1), (32_000, 2), (32_001, 3)] {
            assert_eq!(band(tokens), expected, "{tokens}");
        }
    }
}
