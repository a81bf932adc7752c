//! What a provider says is left of its rate limits, heeded before the first 429.
//!
//! Most answers tell how much of the account's limit is left and when it is whole again (`x-ratelimit-remaining-*`,
//! `anthropic-ratelimit-*`). Inputs: starts of attempts, what answers told. Outputs: whether one more fits, and how much
//! of what is left is used. Both vendors refill continuously, so what is left grows by (limit - left) / reset.
//!
//! Invariants: an answer speaks of the moment at which its own attempt started, so everything that was started since is
//! taken off; an older answer never replaces a newer one; nothing told is no limit; and what was told is forgotten when its
//! reset has come, at the latest after [`LONGEST`]. Limits are the account's: a pod takes its share of what is left, and
//! the whole of it for one attempt that is larger.
//!
//! Refuses: to read headers, to take a number without its limit and its reset for one, and to judge where else an attempt
//! could go: a caller that has no other place asks the provider all the same, who may have miscounted.

use std::time::Duration;

use crate::time::Moment;

/// Nothing that was told counts for longer: as long as the longest pushback that is heeded.
pub const LONGEST: Duration = Duration::from_mins(5);

/// One limit of an account, as an answer tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// The whole limit, above 0.
    pub limit: u64,
    /// What is left of it.
    pub left: u64,
    /// Until it is whole again.
    pub reset: Duration,
}

/// What one answer tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Requests.
    pub requests: Option<Left>,
    /// Tokens.
    pub tokens: Option<Left>,
}

/// Where an attempt stands among those that were started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    at: Moment,
    requests: u64,
    tokens: u64,
}

/// Of one route and model in one pod.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quota {
    requests: Counter,
    tokens: Counter,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counter {
    /// Started ever, wrapping.
    started: u64,
    told: Option<Told>,
}

#[derive(Clone, Copy, Debug)]
struct Told {
    left: Left,
    at: Moment,
    /// Started up to and with the attempt whose answer it was.
    started: u64,
}

impl Quota {
    /// Whether one more attempt of `tokens` fits into one of `shares` equal parts of what is left.
    pub fn fits(&self, now: Moment, tokens: u64, shares: u32) -> bool {
        self.requests.fits(now, 1, shares) && self.tokens.fits(now, tokens, shares)
    }

    /// How much of this pod's part of what was left is used, in 1/1000; 0 where nothing is known.
    pub fn used_per_mille(&self, now: Moment, shares: u32) -> u16 {
        self.requests.used_per_mille(now, shares).max(self.tokens.used_per_mille(now, shares))
    }

    /// What is left by now of what was told, less what was started since, and when it is whole again; nothing of a limit
    /// that nobody told or that has been forgotten.
    pub fn left(&self, now: Moment) -> Report {
        Report { requests: self.requests.left(now), tokens: self.tokens.left(now) }
    }

    /// An attempt is started.
    pub fn start(&mut self, now: Moment, tokens: u64) -> Mark {
        self.requests.started = self.requests.started.wrapping_add(1);
        self.tokens.started = self.tokens.started.wrapping_add(tokens);
        Mark { at: now, requests: self.requests.started, tokens: self.tokens.started }
    }

    /// The answer to the attempt of `mark`.
    pub fn report(&mut self, mark: Mark, report: &Report) {
        self.requests.report(mark.at, mark.requests, report.requests);
        self.tokens.report(mark.at, mark.tokens, report.tokens);
    }
}

impl Counter {
    fn report(&mut self, at: Moment, started: u64, left: Option<Left>) {
        let Some(left) = left.filter(|left| left.limit > 0 && !left.reset.is_zero()) else { return };
        if self.told.is_none_or(|told| told.at <= at) {
            self.told = Some(Told { left, at, started });
        }
    }

    /// (Started since the answer's attempt, what is left by now); `None` = nothing is known.
    fn since(&self, now: Moment) -> Option<(u64, u64)> {
        let told = self.told?;
        let (elapsed, reset) = (now.since(told.at), told.left.reset.min(LONGEST));
        if elapsed >= reset {
            return None;
        }
        let missing = u128::from(told.left.limit.saturating_sub(told.left.left));
        let refilled = missing * elapsed.as_nanos() / told.left.reset.as_nanos().max(1);
        let left = told.left.left.saturating_add(u64::try_from(refilled).unwrap_or(u64::MAX));
        Some((self.started.wrapping_sub(told.started), left))
    }

    fn left(&self, now: Moment) -> Option<Left> {
        let (started, left) = self.since(now)?;
        let told = self.told?;
        Some(Left {
            limit: told.left.limit,
            left: left.min(told.left.limit).saturating_sub(started),
            reset: told.left.reset.saturating_sub(now.since(told.at)),
        })
    }

    fn fits(&self, now: Moment, more: u64, shares: u32) -> bool {
        self.since(now).is_none_or(|(started, left)| {
            let part = left / u64::from(shares.max(1));
            started.saturating_add(more) <= if started == 0 { left } else { part }
        })
    }

    fn used_per_mille(&self, now: Moment, shares: u32) -> u16 {
        self.since(now).map_or(0, |(started, left)| {
            let part = u128::from(left / u64::from(shares.max(1)));
            // Of nothing everything is used.
            let used = (u128::from(started) * 1_000).checked_div(part).unwrap_or(1_000);
            u16::try_from(used).unwrap_or(u16::MAX)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn left(limit: u64, left: u64, reset: u64) -> Left {
        Left { limit, left, reset: Duration::from_secs(reset) }
    }

    fn requests(limit: u64, left: u64, reset: u64) -> Report {
        Report { requests: Some(self::left(limit, left, reset)), tokens: None }
    }

    const START: Moment = Moment::from_secs(100);

    #[test]
    fn what_nobody_told_is_no_limit() {
        let mut quota = Quota::default();
        for _ in 0..10_000 {
            assert!(quota.fits(START, 1_000_000, 3));
            quota.start(START, 1_000_000);
        }
        assert_eq!(quota.used_per_mille(START, 3), 0);
    }

    #[test]
    fn what_is_left_is_shared_and_starts_since_the_answers_own_are_taken_off() {
        let mut quota = Quota::default();
        let mark = quota.start(START, 0);
        // Two more are on their way when the first answer comes: 60 left, 20 for each of three pods.
        quota.start(START, 0);
        quota.start(START, 0);
        quota.report(mark, &requests(500, 60, 60));
        let mut fitted = 0;
        while quota.fits(START, 0, 3) {
            quota.start(START, 0);
            fitted += 1;
        }
        assert_eq!((fitted, quota.used_per_mille(START, 3)), (18, 1_000));
        assert!(quota.fits(START, 0, 1), "the whole account has 40 more");
    }

    #[test]
    fn it_refills_until_its_reset_and_is_then_forgotten() {
        let mut quota = Quota::default();
        let mark = quota.start(START, 0);
        quota.report(mark, &requests(60, 0, 60));
        for _ in 0..10 {
            quota.start(START, 0);
        }
        let at = |seconds| START + Duration::from_secs(seconds);
        assert!(!quota.fits(at(5), 0, 1), "5 have come back and 10 were started");
        assert!(quota.fits(at(11), 0, 1));
        assert!(quota.fits(at(60), 0, 1_000));
        assert_eq!(quota.used_per_mille(at(60), 1), 0);
    }

    #[test]
    fn what_is_left_is_what_was_told_and_came_back_less_what_was_started() {
        let mut quota = Quota::default();
        assert_eq!(quota.left(START), Report::default());
        let mark = quota.start(START, 500);
        quota.report(mark, &Report { requests: Some(left(60, 10, 50)), tokens: None });
        quota.start(START, 500);
        let at = |seconds| START + Duration::from_secs(seconds);
        assert_eq!(quota.left(START), Report { requests: Some(left(60, 9, 50)), tokens: None });
        assert_eq!(quota.left(at(10)), Report { requests: Some(left(60, 19, 40)), tokens: None });
        for _ in 0..100 {
            quota.start(START, 0);
        }
        assert_eq!(quota.left(at(10)), Report { requests: Some(left(60, 0, 40)), tokens: None });
        assert_eq!(quota.left(at(50)), Report::default(), "nobody knows");
    }

    #[test]
    fn a_count_that_is_wrong_for_ever_is_believed_for_five_minutes() {
        let mut quota = Quota::default();
        let mark = quota.start(START, 0);
        quota.report(mark, &requests(10, 0, 7 * 24 * 3_600));
        assert!(!quota.fits(START, 0, 1));
        assert_eq!(quota.used_per_mille(START, 1), 1_000, "no hedge goes there");
        assert!(quota.fits(START + LONGEST, 0, 1));
    }

    #[test]
    fn a_part_below_one_is_one_while_anything_is_left() {
        let mut quota = Quota::default();
        let mark = quota.start(START, 0);
        quota.report(mark, &requests(500, 2, 60));
        assert!(quota.fits(START, 0, 3));
        quota.start(START, 0);
        assert!(!quota.fits(START, 0, 3));
    }

    #[test]
    fn tokens_are_counted_as_tokens() {
        let mut quota = Quota::default();
        let mark = quota.start(START, 700);
        quota.report(mark, &Report { requests: None, tokens: Some(left(90_000, 9_000, 60)) });
        quota.start(START, 4_000);
        assert_eq!(quota.used_per_mille(START, 1), 444);
        assert!(quota.fits(START, 5_000, 1) && !quota.fits(START, 5_001, 1));
    }

    #[test]
    fn an_answer_that_was_overtaken_changes_nothing() {
        let mut quota = Quota::default();
        let (early, late) = (quota.start(START, 0), quota.start(START + Duration::from_secs(1), 0));
        quota.report(late, &requests(100, 10, 60));
        quota.report(early, &requests(100, 90, 60));
        quota.start(START, 0);
        assert_eq!(quota.used_per_mille(START + Duration::from_secs(1), 1), 100);
        quota.report(late, &requests(0, 0, 60));
        quota.report(late, &requests(100, 0, 0));
        assert_eq!(
            quota.used_per_mille(START + Duration::from_secs(1), 1),
            100,
            "no limit, no reset: nothing told"
        );
    }

    proptest! {
        #[test]
        fn no_number_breaks_it(
            limit in any::<u64>(), left in any::<u64>(), reset in 0_u64..=u64::MAX, tokens in any::<u64>(),
            shares in any::<u32>(), elapsed in any::<u64>(),
        ) {
            let told = Some(Left { limit, left, reset: Duration::from_nanos(reset) });
            let mut quota = Quota::default();
            let mark = quota.start(Moment::ZERO, tokens);
            quota.report(mark, &Report { requests: told, tokens: told });
            let now = Moment::from_nanos(elapsed);
            let fits = quota.fits(now, tokens, shares);
            prop_assert!(fits || limit > 0 && reset > 0);
            quota.start(now, tokens);
            quota.used_per_mille(now, shares);
            let known = quota.left(now).requests;
            prop_assert!(known.is_none_or(|known| known.left <= known.limit));
        }
    }
}
