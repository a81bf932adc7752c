//! What happened to one cohort in one span of time. Plain sums: tallies of pods, buckets and lives add up.

use std::ops::AddAssign;

/// Counters of one cohort. Money is in 1e-12 of the currency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Enrolled user actions, client retries aside: the base of most rates.
    pub originals: u64,
    /// Those of them that ended in an error.
    pub originals_errors: u64,
    /// Timer firings that passed every gate that consumes nothing.
    pub firings: u64,
    /// Hedges sent (in `Observe`: that would have been sent).
    pub hedges: u64,
    /// Hedges whose answer was committed.
    pub hedge_wins: u64,
    /// Firings withheld as control group.
    pub withheld: u64,
    /// Firings thinned.
    pub thinned: u64,
    /// Losers read to the end.
    pub audited: u64,
    /// Audited losers that completed.
    pub late: u64,
    /// Originals that missed their objective.
    pub deadline_misses: u64,
    /// Cost of primaries.
    pub primaries_cost: u128,
    /// Cost of hedges.
    pub hedges_cost: u128,
    /// Cost of losers, of either kind.
    pub losers_cost: u128,
    /// Cost of retries.
    pub retries_cost: u128,
    /// Estimated cost of the primaries alone.
    pub primaries_alone_cost: u128,
    /// Attempts without a price.
    pub unpriced: u64,
    /// Tokens of primaries and hedges without a price.
    pub tokens_total: u64,
    /// Estimated tokens of those primaries alone.
    pub tokens_alone: u64,
    /// Whole answers by primaries whose tokens are known.
    pub answers: u64,
    /// How long they took, in milliseconds.
    pub answers_ms: u64,
    /// Tokens that they hold.
    pub answers_tokens: u64,
    /// Those of them that took at least the armed delay.
    pub slow_answers: u64,
    /// How long those took, in milliseconds.
    pub slow_answers_ms: u64,
    /// Tokens that those hold.
    pub slow_answers_tokens: u64,
}

impl AddAssign<&Self> for Tally {
    fn add_assign(&mut self, rhs: &Self) {
        macro_rules! add {
            ($($field:ident)+) => { $(self.$field = self.$field.saturating_add(rhs.$field);)+ };
        }
        add!(originals originals_errors firings hedges hedge_wins withheld thinned audited late deadline_misses);
        add!(primaries_cost hedges_cost losers_cost retries_cost primaries_alone_cost);
        add!(unpriced tokens_total tokens_alone);
        add!(answers answers_ms answers_tokens slow_answers slow_answers_ms slow_answers_tokens);
    }
}
