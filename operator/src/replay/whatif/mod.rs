//! `hedgerow replay --from FILE`: what hedging would have made of one's own traffic.
//!
//! Inputs: attempt records (our JSON lines, or a CSV) and, if there are any, policies and routes for bounds, guardrails and
//! prices. Output: per cohort a table over delays, what it is that makes the tail, and a recommendation. The file is read
//! twice, once for the curves and once, in its own time, for the guardrails; memory depends on the number of cohorts and
//! routes and not on that of rows.
//!
//! Delays, thinning, prediction and guardrails are `hedgerow_policy`'s. Legs are taken as independent; where the records
//! hold hedges, their wins say how far that is true.
//!
//! Refuses: to guess. A row that cannot be read is counted and its place is told; without prices spend is in tokens.

mod answer;
mod course;
mod csv;
mod diagnosis;
mod fit;
mod forecast;
mod guard;
mod lines;
mod progress;
mod recommendation;
mod records;
pub mod report;
mod rows;
mod spend;
mod terms;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, path::Path};

pub use answer::Answer;
pub use csv::HeaderError;
pub use progress::Progress;
pub use rows::{Row, RowsError, Skipped};
pub use terms::Given;

/// Reads `from` and finds what would have been; on the way it tells `tell` how far it is.
///
/// # Errors
/// The file cannot be read at all, or is no such file.
pub fn whatif(from: &Path, given: &Given, tell: &mut dyn FnMut(&Progress)) -> Result<Answer, RowsError> {
    let mut fit = fit::Fit::default();
    let skipped = rows::read(from, 1, &mut |row| fit.add(row), tell)?;
    let mut forecasts: Vec<_> =
        fit.cohorts.iter().map(|(name, cohort)| forecast::Forecast::of(name, cohort, given)).collect();
    let mut guards: BTreeMap<&str, guard::Guard<'_>> = fit
        .cohorts
        .iter()
        .zip(&forecasts)
        .map(|((name, cohort), forecast)| (name.as_str(), guard::Guard::of(cohort, forecast, fit.span)))
        .collect();
    let mut judge = |row: &Row| {
        if let Some(guard) = guards.get_mut(fit.place(&row.cohort)) {
            guard.add(row);
        }
    };
    rows::read(from, 2, &mut judge, tell)?;
    for (forecast, guard) in forecasts.iter_mut().zip(guards.values()) {
        guard.tell(forecast);
    }
    Ok(Answer::of(&fit, forecasts, skipped, given))
}
