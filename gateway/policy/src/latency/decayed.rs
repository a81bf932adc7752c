//! Recent samples: exponential decay in ticks of 30 s.
//!
//! `acc = 0.7 acc + delta` gives a half-life of 58 s without the cliff of rotating two histograms, where the
//! estimate jumps at each rotation and is empty after two idle periods. A tick without samples still decays.

use std::time::Duration;

use super::bucket::BUCKETS;
use super::counts::Counts;

/// Time between two ticks.
pub const TICK: Duration = Duration::from_secs(30);
/// Share of the past that survives a tick.
pub const KEEP: f64 = 0.7;
/// Below this an old sample is forgotten, so that an idle cell becomes empty instead of denormal.
const FORGOTTEN: f64 = 1e-6;

/// Weighted samples of one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Decayed {
    pub(super) events: Box<[f64]>,
    pub(super) censored: Box<[f64]>,
}

impl Decayed {
    /// No samples.
    pub fn new() -> Self {
        Self { events: vec![0.0; BUCKETS].into(), censored: vec![0.0; BUCKETS].into() }
    }

    /// One tick: everything old loses weight, `delta` enters with weight 1.
    pub fn tick(&mut self, delta: &Counts) {
        let step = |acc: &mut [f64], delta: &[u64]| {
            for (acc, delta) in acc.iter_mut().zip(delta) {
                *acc = *acc * KEEP + *delta as f64;
                if *acc < FORGOTTEN {
                    *acc = 0.0;
                }
            }
        };
        step(&mut self.events, &delta.events);
        step(&mut self.censored, &delta.censored);
    }

    /// Adds counters with a weight, without decay (warm start: weight 0.5).
    pub fn add(&mut self, counts: &Counts, weight: f64) {
        for (acc, n) in self.events.iter_mut().zip(&counts.events) {
            *acc += *n as f64 * weight;
        }
        for (acc, n) in self.censored.iter_mut().zip(&counts.censored) {
            *acc += *n as f64 * weight;
        }
    }

    /// Adds another cell's samples with a weight.
    pub fn merge(&mut self, other: &Self, weight: f64) {
        for (acc, n) in self.events.iter_mut().zip(&other.events) {
            *acc += n * weight;
        }
        for (acc, n) in self.censored.iter_mut().zip(&other.censored) {
            *acc += n * weight;
        }
    }

    /// Sum of all weights, events and censored: the effective number of samples.
    pub fn samples(&self) -> f64 {
        self.events.iter().chain(&self.censored).sum()
    }

    /// Buckets that hold events, ascending.
    pub fn events(&self) -> impl Iterator<Item = (u16, f64)> {
        sparse(&self.events)
    }

    /// Buckets that hold censored samples, ascending.
    pub fn censored(&self) -> impl Iterator<Item = (u16, f64)> {
        sparse(&self.censored)
    }
}

impl Default for Decayed {
    fn default() -> Self {
        Self::new()
    }
}

impl From<&Counts> for Decayed {
    fn from(counts: &Counts) -> Self {
        let mut decayed = Self::new();
        decayed.add(counts, 1.0);
        decayed
    }
}

fn sparse(dense: &[f64]) -> impl Iterator<Item = (u16, f64)> {
    dense
        .iter()
        .enumerate()
        .filter(|(_, weight)| **weight > 0.0)
        .map(|(bucket, weight)| (bucket as u16, *weight))
}
