//! What a candidate or leader does about the record that it sees.
//!
//! Pure: how long the record was seen unchanged is an argument, so that no clock of another machine matters.

use std::time::Duration;

/// Pause where there would be none: what has expired may be taken by another candidate first.
const SHORTEST: Duration = Duration::from_millis(100);

/// What the Lease says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Who leads; empty = nobody.
    pub holder: String,
    /// How long it lasts without a renewal.
    pub lasts: Duration,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Write oneself into it.
    Take,
    /// Write the time into it.
    Renew,
    /// Somebody else leads.
    Follow,
}

/// Decides for `identity`. `seen` is the record and for how long it has been seen unchanged; `None` = there is no Lease.
pub fn evaluate(seen: Option<(&Record, Duration)>, identity: &str) -> Step {
    match seen {
        None => Step::Take,
        // Also after a restart of the container: the process that wrote it is gone.
        Some((record, _)) if record.holder == identity => Step::Renew,
        Some((record, unchanged)) if record.holder.is_empty() || unchanged >= record.lasts => Step::Take,
        Some(_) => Step::Follow,
    }
}

/// When to look again: after `retry`, or as soon as a record that somebody else has left behind expires.
pub fn pause(seen: Option<(&Record, Duration)>, identity: &str, retry: Duration) -> Duration {
    match seen {
        Some((record, unchanged)) if !record.holder.is_empty() && record.holder != identity => {
            record.lasts.saturating_sub(unchanged).clamp(SHORTEST.min(retry), retry)
        }
        _ => retry,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_taken_only_when_nobody_can_hold_it() {
        let lasts = Duration::from_secs(10);
        let seen = |holder: &str, unchanged: u64| {
            let record = Record { holder: holder.to_owned(), lasts };
            evaluate(Some((&record, Duration::from_secs(unchanged))), "me")
        };
        for (step, expected) in [
            (evaluate(None, "me"), Step::Take),
            (seen("", 0), Step::Take),
            (seen("me", 0), Step::Renew),
            (seen("me", 100), Step::Renew),
            (seen("other", 0), Step::Follow),
            (seen("other", 9), Step::Follow),
            (seen("other", 10), Step::Take),
            (seen("other", 100), Step::Take),
        ] {
            assert_eq!(step, expected);
        }
    }

    #[test]
    fn of_two_candidates_that_see_the_same_record_neither_leads_before_it_expires() {
        let record = Record { holder: "gone".to_owned(), lasts: Duration::from_secs(10) };
        for unchanged in 0..10 {
            let step = evaluate(Some((&record, Duration::from_secs(unchanged))), "me");
            assert_eq!(step, Step::Follow, "{unchanged} s");
        }
    }

    #[test]
    fn a_candidate_looks_again_when_the_record_expires() {
        let retry = Duration::from_secs(2);
        let after = |holder: &str, unchanged_ms: u64| {
            let record = Record { holder: holder.to_owned(), lasts: Duration::from_secs(10) };
            pause(Some((&record, Duration::from_millis(unchanged_ms))), "me", retry).as_millis()
        };
        for (paused, expected) in [
            (pause(None, "me", retry).as_millis(), 2_000),
            (after("me", 9_999), 2_000),
            (after("", 9_999), 2_000),
            (after("other", 0), 2_000),
            (after("other", 9_500), 500),
            (after("other", 9_999), 100),
            (after("other", 60_000), 100),
        ] {
            assert_eq!(paused, expected);
        }
    }
}
