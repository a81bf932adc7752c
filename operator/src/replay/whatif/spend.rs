//! What requests cost, and what a duplicate adds.
//!
//! Whichever leg loses has paid its input and no output, so a duplicate costs the mean input of its cohort.

use hedgerow_policy::ledger::{self, Prices, Usage};

use super::{
    fit::{Cohort, Route},
    terms::Given,
};

/// Mean costs of a cohort's originals: 1e-12 of the currency each, or tokens where a price is missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spend {
    /// Of a whole original.
    pub original: f64,
    /// Of its input.
    pub input: f64,
    /// No prices.
    pub in_tokens: bool,
}

impl Spend {
    /// Of a cohort. One route without a price is enough for tokens: sums of both would say nothing.
    pub fn of(cohort: &Cohort, given: &Given) -> Self {
        let priced = |(name, route): (&String, &Route)| -> Option<(f64, f64)> {
            let prices: Prices = given.price(name, &route.model)?;
            let of = |input: u64, output: u64| {
                ledger::cost(&Usage { input_uncached: input, output, ..Usage::default() }, &prices).0 as f64
            };
            Some((of(route.tokens.0, route.tokens.1), of(route.tokens.0, 0)))
        };
        let sums: Option<Vec<(f64, f64)>> = cohort.routes.iter().map(priced).collect();
        let sums = sums.filter(|sums| !sums.is_empty());
        let in_tokens = sums.is_none();
        let sums = sums.unwrap_or_else(|| {
            let of = |route: &Route| ((route.tokens.0 + route.tokens.1) as f64, route.tokens.0 as f64);
            cohort.routes.values().map(of).collect()
        });
        let answered = cohort.answered.max(1) as f64;
        let sum = sums.iter().fold((0.0, 0.0), |(all, input), pair| (all + pair.0, input + pair.1));
        Self { original: sum.0 / answered, input: sum.1 / answered, in_tokens }
    }

    /// Extra spend of a share of duplicates, as a share of what the primaries cost.
    pub fn extra(&self, duplicates: f64) -> f64 {
        if self.original > 0.0 { duplicates * self.input / self.original } else { 0.0 }
    }

    /// An amount for so many originals: units of the currency, or tokens.
    pub fn amount(&self, originals: f64) -> f64 {
        originals * self.original / if self.in_tokens { 1.0 } else { 1e12 }
    }
}
