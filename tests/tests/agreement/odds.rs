//! What the simulator expects of one run, and how far one run may be from it by chance.
//!
//! If the simulator is right, a run over sockets is one more draw of what its seeds draw. Compared are counts: calls that
//! waited longer than the simulator's p50, p95 and p99 (over all seeds together), and hedges; and the share of hedges that
//! won. A count k is compared as 2 sqrt(k + 3/8), which is near normal with a spread that hardly depends on k (Anscombe
//! 1948), so small counts at p99 are held as strictly as large ones at p50. Mean and standard deviation s over n seeds hold
//! everything that makes one run differ from another: arrivals, draws, what was learnt when. Allowed is
//! mean +- Z s sqrt(1 + 1/n), the last factor because the mean is of n seeds only. At Z = 4.5 a normal value lies outside
//! in 7 of 10^6 cases; five values are compared, so an innocent run fails once in about 30,000.

use std::fmt::Write as _;

use hedgerow::replay::{engine, figures::percentile, model::Arm};

use crate::{sockets::Found, world};

/// The percentiles.
pub const QUANTILES: [(&str, f64); 3] = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)];
const SEEDS: u64 = 100;
const Z: f64 = 4.5;

/// What runs of an arm come to.
pub struct Expected {
    /// Percentiles over all seeds, in seconds.
    pub at: [f64; 3],
    /// Calls of a run that wait longer.
    pub longer: [Spread; 3],
    /// Hedges of a run.
    pub hedges: Spread,
    /// Share of a run's hedges that win.
    pub won: Spread,
    /// Calls of all runs, sorted by how long they waited.
    waited: Vec<f32>,
}

/// Mean and standard deviation over the seeds.
#[derive(Clone, Copy)]
pub struct Spread {
    mean: f64,
    deviation: f64,
    /// They are of the roots of counts.
    rooted: bool,
}

impl Spread {
    fn of(values: &[f64], rooted: bool) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self { mean, deviation: (squares / (n - 1.0)).sqrt(), rooted }
    }

    fn counts(counts: impl Iterator<Item = f64>) -> Self {
        Self::of(&counts.map(|count| 2.0 * (count + 0.375).sqrt()).collect::<Vec<_>>(), true)
    }

    /// Least and most that chance allows one run.
    pub fn bounds(&self) -> (f64, f64) {
        let wide = Z * self.deviation * (1.0 + 1.0 / SEEDS as f64).sqrt();
        let back = |value: f64| if self.rooted { (value.max(0.0) / 2.0).powi(2) - 0.375 } else { value };
        (back(self.mean - wide), back(self.mean + wide))
    }
}

impl Expected {
    /// Of an arm in the world.
    pub fn of(arm: &Arm) -> Self {
        let model = world::model();
        let runs: Vec<engine::Run> = (1..=SEEDS).map(|seed| engine::run(&model, arm, seed)).collect();
        assert!(runs.iter().all(|run| run.unfinished == 0 && run.sum(0).answered == run.sum(0).calls));
        let mut waited: Vec<f32> =
            runs.iter().flat_map(|run| &run.samples).map(|sample| sample.waited).collect();
        waited.sort_unstable_by(f32::total_cmp);
        let at = QUANTILES.map(|(_, p)| percentile(&waited, p));
        let longer = |at: f64| {
            let of =
                |run: &engine::Run| run.samples.iter().filter(|call| f64::from(call.waited) > at).count();
            Spread::counts(runs.iter().map(|run| of(run) as f64))
        };
        let hedges = || runs.iter().map(|run| run.sum(0).hedges as f64);
        let won: Vec<f64> =
            runs.iter().zip(hedges()).map(|(run, hedges)| run.sum(0).wins as f64 / hedges).collect();
        Self {
            at,
            longer: at.map(longer),
            hedges: Spread::counts(hedges()),
            won: Spread::of(&won, false),
            waited,
        }
    }

    /// Calls of a run that wait longer than so many seconds, on average.
    pub fn mean_longer(&self, seconds: f64) -> f64 {
        let least = self.waited.partition_point(|waited| f64::from(*waited) <= seconds);
        (self.waited.len() - least) as f64 / SEEDS as f64
    }

    /// Both, for people.
    pub fn beside(&self, found: &Found) -> String {
        let calls = self.waited.len() as f64 / SEEDS as f64;
        let mut text = format!(
            "late by {:.3} s; calls {} (simulator {calls:.0}); hedges {} (allowed {:.0?}); won {:.3} (allowed {:.3?})",
            found.late,
            found.waited.len(),
            found.hedges,
            self.hedges.bounds(),
            found.wins as f64 / found.hedges as f64,
            self.won.bounds(),
        );
        for (place, (name, p)) in QUANTILES.into_iter().enumerate() {
            let (at, bounds) = (self.at[place], self.longer[place].bounds());
            let _ = write!(
                text,
                "\n{name} {:.3} s (simulator {at:.3} s); longer than the simulator's {:.0} (allowed {bounds:.0?})",
                percentile(&found.waited, p),
                found.longer(at),
            );
        }
        text
    }
}
