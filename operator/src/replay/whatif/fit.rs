//! The first reading: curves of every cohort and route.

use std::{collections::BTreeMap, time::Duration};

use hedgerow_policy::{latency::Counts, time::Moment};

use super::rows::Row;

/// Cohorts, and routes of one, beyond which names are [`OTHER`].
const MOST: usize = 64;
/// All that came when there were enough names.
const OTHER: &str = "other";

/// What the first reading found.
#[derive(Default)]
pub struct Fit {
    /// By name.
    pub cohorts: BTreeMap<String, Cohort>,
    /// Attempts, by weight.
    pub attempts: u64,
    /// First and last time.
    pub span: Option<(Moment, Moment)>,
}

/// One cohort.
#[derive(Default)]
pub struct Cohort {
    /// By name.
    pub routes: BTreeMap<String, Route>,
    /// Originals.
    pub originals: u64,
    /// Those that ended in an error.
    pub errors: u64,
    /// Streams among the answered.
    pub streams: u64,
    /// Answered.
    pub answered: u64,
    /// Hedges in the records, and those that won.
    pub hedges: (u64, u64),
    /// Seconds of the slowest answers that went by after the first token, and all of their seconds.
    pub generation: (f64, f64),
}

/// One route of a cohort.
#[derive(Default)]
pub struct Route {
    /// First tokens, or whole answers of what does not stream.
    pub counts: Counts,
    /// Originals.
    pub originals: u64,
    /// Input and output tokens of answered ones, and how many those are.
    pub tokens: (u64, u64, u64),
    /// Model that was asked for most recently.
    pub model: String,
}

impl Fit {
    /// One row.
    pub fn add(&mut self, row: &Row) {
        let weight = u64::from(row.weight);
        self.attempts += weight;
        let (first, last) = self.span.unwrap_or((row.at, row.at));
        self.span = Some((first.min(row.at), last.max(row.at)));
        let full = self.cohorts.len() >= MOST && !self.cohorts.contains_key(&row.cohort);
        let name = if full { OTHER } else { row.cohort.as_str() };
        if !self.cohorts.contains_key(name) {
            self.cohorts.insert(name.to_owned(), Cohort::default());
        }
        if let Some(cohort) = self.cohorts.get_mut(name) {
            cohort.add(row, weight);
        }
    }
}

impl Fit {
    /// The cohort that rows of this one were added to.
    pub fn place<'a>(&self, cohort: &'a str) -> &'a str {
        if self.cohorts.contains_key(cohort) { cohort } else { OTHER }
    }
}

impl Cohort {
    /// The route that rows of this one were added to.
    pub fn place<'a>(&self, route: &'a str) -> &'a str {
        if self.routes.contains_key(route) { route } else { OTHER }
    }

    fn add(&mut self, row: &Row, weight: u64) {
        if let Some(won) = row.hedge {
            self.hedges.0 += weight;
            self.hedges.1 += if won { weight } else { 0 };
            return;
        }
        self.originals += weight;
        self.errors += if row.good || row.censored { 0 } else { weight };
        let full = self.routes.len() >= MOST && !self.routes.contains_key(&row.route);
        let name = if full { OTHER } else { row.route.as_str() };
        if !self.routes.contains_key(name) {
            self.routes.insert(name.to_owned(), Route::default());
        }
        let Some(route) = self.routes.get_mut(name) else { return };
        route.originals += weight;
        let seen = waited(row);
        for _ in 0..weight {
            if row.good { route.counts.event(seen) } else { route.counts.censor(seen) }
        }
        if row.good {
            self.answered += weight;
            self.streams += if row.stream { weight } else { 0 };
            route.tokens.0 += row.input * weight;
            route.tokens.1 += row.output * weight;
            route.tokens.2 += weight;
            route.model.clone_from(&row.model);
            let first = row.first_token.unwrap_or(row.total);
            // The slow end, cheaply: each answer counts by the square of its length.
            let length = row.total.as_secs_f64();
            let share =
                if length > 0.0 { row.total.saturating_sub(first).as_secs_f64() / length } else { 0.0 };
            self.generation.0 += length * length * share * weight as f64;
            self.generation.1 += length * length * weight as f64;
        }
    }

    /// Whether most answers stream.
    pub fn streaming(&self) -> bool {
        self.streams * 2 >= self.answered
    }
}

/// What hedging is about: first tokens of streams, whole answers of the rest.
pub fn waited(row: &Row) -> Duration {
    if row.stream { row.first_token.unwrap_or(row.total) } else { row.total }
}
