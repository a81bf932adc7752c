//! Adds outcomes up by class and slice of time, with exact quantiles.
//!
//! Times are kept as they are (8 bytes per answer) and sorted when asked for: exact at any window, and smaller
//! than a histogram per slice. An outcome belongs to the slice in which it should have started.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use super::outcome::{Outcome, Verdict};

/// Outcomes, added up.
#[derive(Debug)]
pub struct Tally {
    slice: Duration,
    classes: HashMap<Arc<str>, BTreeMap<u64, Slice>>,
}

#[derive(Debug, Default)]
struct Slice {
    counts: Counts,
    /// Tens of microseconds.
    first_token: Vec<u32>,
    total: Vec<u32>,
}

/// How many there were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// User actions.
    pub requests: u64,
    /// Complete answers of one attempt.
    pub answered: u64,
    /// Shed at the end of their tries.
    pub shed: u64,
    /// Neither answered nor shed.
    pub failed: u64,
    /// With a hedge, as the gateway says.
    pub hedged: u64,
    /// With more than one try of the client.
    pub retried: u64,
    /// Whose tokens come from two attempts. Must be 0.
    pub mixed: u64,
}

/// A window of the tally.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// How many there were.
    pub counts: Counts,
    /// From the intended start to the first token, of answered actions.
    pub first_token: Quantiles,
    /// From the intended start to the end, of answered actions.
    pub total: Quantiles,
}

/// A sorted sample.
#[derive(Debug, Clone, Default)]
pub struct Quantiles(Vec<u32>);

impl Tally {
    /// An empty tally with slices of this width, at least 1 ms.
    pub fn new(slice: Duration) -> Self {
        Self { slice: slice.max(Duration::from_millis(1)), classes: HashMap::new() }
    }

    /// Adds one outcome.
    pub fn record(&mut self, outcome: &Outcome) {
        let at = self.index(outcome.intended);
        let slice = self.classes.entry(Arc::clone(&outcome.class)).or_default().entry(at).or_default();
        let counts = &mut slice.counts;
        counts.requests += 1;
        counts.hedged += u64::from(outcome.gateway.hedged);
        counts.retried += u64::from(outcome.tries > 1);
        counts.mixed += u64::from(outcome.integrity.mixed);
        match outcome.verdict {
            Verdict::Answered => {
                counts.answered += 1;
                slice.total.push(tens(outcome.end));
                slice.first_token.extend(outcome.first_token.map(tens));
            }
            Verdict::Shed => counts.shed += 1,
            Verdict::Failed(_) => counts.failed += 1,
        }
    }

    /// The outcomes of a class (or of all) that should have started from `from` up to, not including, `to`,
    /// both cut down to whole slices.
    pub fn summary(&self, class: Option<&str>, from: Duration, to: Duration) -> Summary {
        let mut sum = Summary::default();
        let classes = self.classes.iter().filter(|(name, _)| class.is_none_or(|wanted| wanted == &***name));
        for (_, slices) in classes {
            if self.index(from) >= self.index(to) {
                continue;
            }
            for slice in slices.range(self.index(from)..self.index(to)).map(|(_, slice)| slice) {
                sum.counts.add(&slice.counts);
                sum.first_token.0.extend_from_slice(&slice.first_token);
                sum.total.0.extend_from_slice(&slice.total);
            }
        }
        sum.first_token.0.sort_unstable();
        sum.total.0.sort_unstable();
        sum
    }

    /// Everything so far.
    pub fn all(&self, class: Option<&str>) -> Summary {
        self.summary(class, Duration::ZERO, Duration::MAX)
    }

    /// Names of the classes seen, sorted.
    pub fn classes(&self) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = self.classes.keys().cloned().collect();
        names.sort();
        names
    }

    fn index(&self, at: Duration) -> u64 {
        u64::try_from(at.as_nanos() / self.slice.as_nanos()).unwrap_or(u64::MAX)
    }
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.answered += other.answered;
        self.shed += other.shed;
        self.failed += other.failed;
        self.hedged += other.hedged;
        self.retried += other.retried;
        self.mixed += other.mixed;
    }
}

impl Quantiles {
    /// The smallest sample that at least this share (0 to 1) of the samples do not exceed; absent without samples.
    pub fn at(&self, share: f64) -> Option<Duration> {
        let rank = (share.clamp(0.0, 1.0) * self.0.len() as f64).ceil() as usize;
        self.0.get(rank.saturating_sub(1)).map(|tens| Duration::from_micros(u64::from(*tens) * 10))
    }

    /// Number of samples.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

/// Tens of microseconds; up to 11 hours.
fn tens(time: Duration) -> u32 {
    u32::try_from(time.as_micros() / 10).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::outcome::Failure;

    fn outcome(class: &str, second: u64, first_ms: u64, verdict: Verdict) -> Outcome {
        Outcome {
            first_token: Some(Duration::from_millis(first_ms)),
            end: Duration::from_millis(first_ms * 2),
            verdict,
            ..Outcome::not_started(&class.into(), 0, Duration::from_millis(second * 1000 + 500))
        }
    }

    #[test]
    fn quantiles_are_exact() {
        let mut tally = Tally::new(Duration::from_secs(1));
        for ms in (1..=100).rev() {
            tally.record(&outcome("a", ms % 7, ms, Verdict::Answered));
        }
        let all = tally.all(Some("a"));
        let ms = |share| all.first_token.at(share).map(|t| t.as_millis());
        assert_eq!([ms(0.0), ms(0.5), ms(0.99), ms(1.0)], [Some(1), Some(50), Some(99), Some(100)]);
        assert_eq!(all.total.at(0.5), Some(Duration::from_millis(100)));
        assert_eq!(tally.all(Some("b")).first_token.at(0.5), None);
    }

    #[test]
    fn windows_and_classes_are_apart_and_failures_have_no_latency() {
        let mut tally = Tally::new(Duration::from_secs(1));
        tally.record(&outcome("a", 0, 10, Verdict::Answered));
        tally.record(&outcome("a", 5, 20, Verdict::Answered));
        tally.record(&outcome("b", 5, 30, Verdict::Shed));
        tally.record(&outcome("b", 5, 30, Verdict::Failed(Failure::Truncated)));
        let late = tally.summary(None, Duration::from_secs(5), Duration::from_secs(6));
        assert_eq!(late.counts, Counts { requests: 3, answered: 1, shed: 1, failed: 1, ..Counts::default() });
        assert_eq!(late.first_token.count(), 1);
        assert_eq!(tally.all(Some("a")).counts.requests, 2);
        assert_eq!(tally.classes().len(), 2);
        assert_eq!(
            tally.summary(None, Duration::from_secs(6), Duration::from_secs(5)).counts,
            Counts::default()
        );
    }
}
