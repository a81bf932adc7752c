//! A scenario under many seeds: every arm of every case once per seed, on as many threads as asked for.
//!
//! Runs share nothing, and results are put where they belong by number, so threads change nothing but the time it takes.
//! Spread: the median over the seeds with its 95 % interval from order statistics (no assumption about the distribution);
//! below six seeds the interval is the whole range.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use super::{
    engine::Run,
    figures::Figures,
    scenario::{Acceptance, Case, Scenario, Table},
};

/// What came of one arm of one case.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Case.
    pub case: &'static str,
    /// Arm.
    pub arm: &'static str,
    /// Figures by seed.
    pub seeds: Vec<Figures>,
}

/// What came of a scenario.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// Arms of cases, in their order.
    pub rows: Vec<Row>,
    /// Acceptance numbers.
    pub accept: Vec<Acceptance>,
    /// The scenario's own table.
    pub table: Option<Table>,
    /// First seed's run of each row, for pictures.
    pub pictured: Vec<Run>,
    /// Tries simulated.
    pub tries: u64,
}

/// A median with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Lower end.
    pub low: f64,
    /// Median.
    pub at: f64,
    /// Upper end.
    pub high: f64,
}

/// Runs a scenario under seeds 1 to `seeds`.
pub fn conduct(scenario: &Scenario, seeds: u64, threads: usize) -> Results {
    let cases = (scenario.cases)();
    let jobs: Vec<(usize, usize, u64)> = cases
        .iter()
        .enumerate()
        .flat_map(|(case, of)| {
            (0..of.arms.len()).flat_map(move |arm| (1..=seeds).map(move |seed| (case, arm, seed)))
        })
        .collect();
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(jobs.len())));
    thread::scope(|scope| {
        for _ in 0..threads.clamp(1, jobs.len().max(1)) {
            scope.spawn(|| {
                while let Some((case, arm, seed)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)).copied() {
                    let result = one(scenario, &cases[case], arm, seed);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push(((case, arm, seed), result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(job, _)| *job);
    gather(scenario, &cases, done)
}

type Done = ((usize, usize, u64), (Figures, Run));

fn one(scenario: &Scenario, case: &Case, arm: usize, seed: u64) -> (Figures, Run) {
    let mut run = (scenario.run)(&case.model, &case.arms[arm], seed);
    let mut figures = Figures::of(&run);
    (scenario.figures)(case, &case.arms[arm], &run, &mut figures);
    figures.set("tries", run.sum(run.spans.len()).tries as f64);
    figures.set("leaks", run.leaks as f64);
    if seed > 1 {
        // Only the first is drawn.
        run = Run::default();
    }
    (figures, run)
}

fn gather(scenario: &Scenario, cases: &[Case], done: Vec<Done>) -> Results {
    let mut results = Results::default();
    for ((case, arm, seed), (figures, run)) in done {
        results.tries += figures.get("tries") as u64;
        if seed == 1 {
            let (case, arm) = (cases[case].name, cases[case].arms[arm].name);
            results.rows.push(Row { case, arm, seeds: Vec::new() });
            results.pictured.push(run);
        }
        if let Some(row) = results.rows.last_mut() {
            row.seeds.push(figures);
        }
    }
    results.accept = (scenario.accept)(&results);
    results.table = scenario.table.map(|table| table(&results));
    let leaks: f64 = results.rows.iter().flat_map(|row| &row.seeds).map(|figures| figures.get("leaks")).sum();
    results.accept.push(Acceptance::at_most("permits that nobody holds when a run ends", leaks, 0.0));
    results
}

impl Results {
    /// A figure of an arm over the seeds; not numbers if there is no such arm.
    pub fn spread(&self, case: &str, arm: &str, figure: &str) -> Spread {
        self.rows
            .iter()
            .find(|row| row.case == case && row.arm == arm)
            .map_or(Spread { low: f64::NAN, at: f64::NAN, high: f64::NAN }, |row| row.spread(figure))
    }

    /// Its median.
    pub fn median(&self, case: &str, arm: &str, figure: &str) -> f64 {
        self.spread(case, arm, figure).at
    }

    /// Its largest value.
    pub fn worst(&self, case: &str, arm: &str, figure: &str) -> f64 {
        self.each(case, arm, figure).fold(f64::NAN, f64::max)
    }

    /// Its smallest value.
    pub fn least(&self, case: &str, arm: &str, figure: &str) -> f64 {
        self.each(case, arm, figure).fold(f64::NAN, f64::min)
    }

    /// Its mean.
    pub fn mean(&self, case: &str, arm: &str, figure: &str) -> f64 {
        let (sum, count) = self.each(case, arm, figure).fold((0.0, 0.0), |(sum, n), x| (sum + x, n + 1.0));
        sum / count
    }

    fn each(&self, case: &str, arm: &str, figure: &str) -> impl Iterator<Item = f64> {
        let row = self.rows.iter().find(move |row| row.case == case && row.arm == arm);
        row.into_iter().flat_map(|row| &row.seeds).map(move |figures| figures.get(figure))
    }

    /// Whether every acceptance number holds.
    pub fn good(&self) -> bool {
        self.accept.iter().all(|acceptance| acceptance.holds)
    }
}

impl Row {
    /// A figure over the seeds.
    pub fn spread(&self, figure: &str) -> Spread {
        let mut values: Vec<f64> = self.seeds.iter().map(|figures| figures.get(figure)).collect();
        values.sort_unstable_by(f64::total_cmp);
        spread(&values)
    }
}

/// Median and its interval of sorted values.
fn spread(sorted: &[f64]) -> Spread {
    let n = sorted.len();
    let at = |place: usize| sorted.get(place).copied().unwrap_or(f64::NAN);
    let median = if n % 2 == 1 { at(n / 2) } else { f64::midpoint(at((n / 2).wrapping_sub(1)), at(n / 2)) };
    let skip = outside(n);
    Spread { low: at(skip), at: median, high: at(n.wrapping_sub(skip + 1)) }
}

/// How many values on either side lie outside the 95 % interval of the median: the largest k with
/// `P(Binomial(n, 1/2) <= k) <= 0.025`, 0 if there is none.
fn outside(n: usize) -> usize {
    let (mut term, mut sum) = (0.5_f64.powi(n as i32), 0.0);
    for k in 0..n {
        sum += term;
        if sum > 0.025 {
            return k.saturating_sub(1);
        }
        term *= (n - k) as f64 / (k + 1) as f64;
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_median_is_that_of_the_tables() {
        // Order statistics of a median, 95 %: none below n = 6; the 6th and 15th of 20.
        for (n, skipped) in [(1, 0), (3, 0), (5, 0), (6, 0), (9, 1), (20, 5)] {
            assert_eq!(outside(n), skipped, "{n}");
        }
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(spread(&values), Spread { low: 6.0, at: 10.5, high: 15.0 });
        assert_eq!(spread(&[4.0]), Spread { low: 4.0, at: 4.0, high: 4.0 });
    }
}
