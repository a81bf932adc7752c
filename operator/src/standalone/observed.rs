//! Hedges that were only decided, kept apart from hedges that were sent.
//!
//! Gateways count both in the same counters, so that a policy can be judged before it is enforced; people must not read
//! the one as the other. Input: the counters of every cohort and which cohorts only observe, look by look. Output: what was
//! counted while a cohort observed, and the rest.

use std::collections::BTreeMap;

use hedgerow_config::state::CohortCounters;

use crate::{domain::counting::Counting as _, scrape::CohortCumulative};

/// Counters by cohort.
type Counters = BTreeMap<String, CohortCounters>;

/// What was counted while cohorts observed.
#[derive(Debug, Default)]
pub(super) struct Observed {
    last: Counters,
    sum: Counters,
}

impl Observed {
    /// Takes in the counters of a look.
    pub(super) fn take(
        &mut self,
        counted: &BTreeMap<String, CohortCumulative>,
        observes: impl Fn(&str) -> bool,
    ) {
        for (name, cohort) in counted {
            let before = self.last.insert(name.clone(), cohort.total.clone()).unwrap_or_default();
            if observes(name)
                && let Some(fresh) = cohort.total.minus(&before)
            {
                self.sum.entry(name.clone()).or_default().plus(&fresh);
            }
        }
    }

    /// What was counted while `cohort` observed.
    pub(super) fn of(&self, cohort: &str) -> CohortCounters {
        self.sum.get(cohort).cloned().unwrap_or_default()
    }

    /// What of `total` was counted while hedges were sent.
    pub(super) fn sent(&self, cohort: &str, total: &CohortCounters) -> CohortCounters {
        self.sum.get(cohort).map_or_else(|| total.clone(), |sum| total.minus(sum).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(originals: u64, hedges: u64) -> BTreeMap<String, CohortCumulative> {
        let total = CohortCounters { originals, hedges, ..CohortCounters::default() };
        BTreeMap::from([("chat".to_owned(), CohortCumulative { total, ..CohortCumulative::default() })])
    }

    #[test]
    fn what_was_only_decided_is_never_among_what_was_sent() {
        let mut observed = Observed::default();
        for (originals, hedges, observes) in
            [(100, 3, true), (200, 6, true), (300, 10, false), (400, 15, true)]
        {
            observed.take(&counted(originals, hedges), |_| observes);
        }
        let seen = observed.of("chat");
        assert_eq!((seen.originals, seen.hedges), (300, 11));
        let sent = observed.sent("chat", &counted(400, 15)["chat"].total);
        assert_eq!((sent.originals, sent.hedges), (100, 4));
        assert_eq!(observed.sent("other", &seen), seen, "a cohort that never observed sent everything");
    }
}
