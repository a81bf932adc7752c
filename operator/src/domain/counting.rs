//! Arithmetic of counters that only grow: sums over pods, differences in time.
//!
//! A difference is `None` as soon as any counter fell: then the two readings are of different lives, and no part of the
//! difference can be trusted.

use std::collections::BTreeMap;

use hedgerow_config::{
    money::Picos,
    state::{CohortCounters, SpendState},
};

use super::spent::Spent;

/// Counters that can be added and subtracted field by field.
pub(crate) trait Counting: Sized {
    /// Adds another pod's counters.
    fn plus(&mut self, other: &Self);
    /// What happened since `earlier`; `None` when any counter fell.
    fn minus(&self, earlier: &Self) -> Option<Self>;
}

impl Counting for u64 {
    fn plus(&mut self, other: &Self) {
        *self = self.saturating_add(*other);
    }

    fn minus(&self, earlier: &Self) -> Option<Self> {
        self.checked_sub(*earlier)
    }
}

impl Counting for Picos {
    fn plus(&mut self, other: &Self) {
        *self += *other;
    }

    fn minus(&self, earlier: &Self) -> Option<Self> {
        self.0.checked_sub(earlier.0).map(Picos)
    }
}

impl<T: Counting + Clone + Default> Counting for BTreeMap<String, T> {
    fn plus(&mut self, other: &Self) {
        for (key, value) in other {
            self.entry(key.clone()).or_default().plus(value);
        }
    }

    fn minus(&self, earlier: &Self) -> Option<Self> {
        if earlier.keys().any(|key| !self.contains_key(key)) {
            return None;
        }
        self.iter()
            .map(|(key, value)| {
                let before = earlier.get(key).cloned().unwrap_or_default();
                Some((key.clone(), value.minus(&before)?))
            })
            .collect()
    }
}

/// Implements [`Counting`] field by field; a forgotten field does not compile.
macro_rules! fields {
    ($type:ident { $($field:ident),* $(,)? }) => {
        impl Counting for $type {
            fn plus(&mut self, other: &Self) {
                let Self { $($field),* } = other;
                $(self.$field.plus($field);)*
            }

            fn minus(&self, earlier: &Self) -> Option<Self> {
                let Self { $($field),* } = self;
                Some(Self { $($field: $field.minus(&earlier.$field)?),* })
            }
        }
    };
}

fields!(CohortCounters {
    originals,
    not_enrolled,
    hedges,
    wins,
    withheld,
    thinned,
    errors,
    objective_met,
    objective_measured,
    audited,
    late,
    cost,
    cost_without,
    cost_lost,
    cost_retries,
    cost_estimated,
    unpriced_tokens,
    unpriced_tokens_without,
    extra_by_route,
    answers,
    answers_ms,
    answers_tokens,
    slow_answers,
    slow_answers_ms,
    slow_answers_tokens,
});

fields!(Spent { cost, without, lost, retries, estimated });
fields!(SpendState { total, winners, losers, retries, estimated });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_and_the_earlier_reading_add_up_to_the_later_one() {
        let route = |n| BTreeMap::from([("east".to_owned(), Picos(n))]);
        let earlier =
            CohortCounters { originals: 3, cost: Picos(7), extra_by_route: route(1), ..Default::default() };
        let later =
            CohortCounters { originals: 5, cost: Picos(9), extra_by_route: route(4), ..Default::default() };
        let mut sum = earlier.clone();
        sum.plus(&later.minus(&earlier).unwrap());
        assert_eq!(sum, later);
    }

    #[test]
    fn one_counter_that_fell_spoils_the_whole_difference() {
        let earlier = CohortCounters { originals: 3, hedges: 1, ..Default::default() };
        let fell = CohortCounters { originals: 9, hedges: 0, ..Default::default() };
        assert_eq!(fell.minus(&earlier), None);
        let key_gone = CohortCounters { originals: 9, ..Default::default() };
        let had_key =
            CohortCounters { extra_by_route: BTreeMap::from([("a".into(), Picos(0))]), ..Default::default() };
        assert_eq!(key_gone.minus(&had_key), None);
    }
}
