//! What came of a file: the one value that the terminal, JSON and the page tell, so that they cannot disagree.

use std::collections::BTreeSet;

use hedgerow_policy::time::Moment;

use super::{fit::Fit, forecast::Forecast, rows::Skipped, terms::Given};

/// The whole answer.
pub struct Answer {
    /// Attempts, by weight.
    pub attempts: u64,
    /// First and last time.
    pub span: Option<(Moment, Moment)>,
    /// Names of routes.
    pub routes: BTreeSet<String>,
    /// Cohorts in the order of their names.
    pub cohorts: Vec<Forecast>,
    /// What was left out.
    pub skipped: Skipped,
    /// Currency of amounts.
    pub currency: String,
    /// Whether there are any prices; without, spend is in tokens.
    pub priced: bool,
}

impl Answer {
    /// Puts together what both readings found.
    pub fn of(fit: &Fit, cohorts: Vec<Forecast>, skipped: Skipped, given: &Given) -> Self {
        let routes = fit.cohorts.values().flat_map(|cohort| cohort.routes.keys().cloned()).collect();
        let (currency, priced) = (given.currency.clone(), !given.prices.is_empty());
        Self { attempts: fit.attempts, span: fit.span, routes, cohorts, skipped, currency, priced }
    }
}
