//! What is remembered about one cohort between two looks: the latch and the words that belong to it.
//!
//! Status is the only memory. What it does not hold is derived on the safe side: a ramp step and a trial start their time
//! anew after a restart, and the cooldown follows from the number of trips.

use std::{cmp::Ordering, collections::BTreeMap, time::Duration};

use hedgerow_crds::{
    condition::Reason,
    v1alpha1::hedge_policy::{CohortState, CohortStatus, Evidence},
};
use hedgerow_policy::{
    guardrail::{Context, Latch, Ratio, Rules, Signal, State, Trip},
    time::Moment,
};

use super::Base;
use crate::domain::figure;

/// Seconds of a day; days are UTC.
const DAY: u64 = 86_400;

/// One cohort's memory.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// The latch.
    pub latch: Latch,
    /// Reason of the latest transition.
    pub reason: Option<Reason>,
    /// What was said at the latest transition.
    pub message: String,
    /// The signals at the latest trip.
    pub evidence: Vec<Evidence>,
    /// Suspended by hand until then.
    pub hold: Option<Moment>,
    /// Value of the resume annotation that was last acted on.
    pub last_handled_resume: Option<String>,
    /// Trips of the current series; a clean hour ends it.
    pub trips: u32,
    /// Trips of the last 24 h.
    pub tripped_at: Vec<Moment>,
    /// What the bucket in which hedging began held by then.
    pub base: Base,
    /// Since when hedges are sent, trial and ramp included; none = not known to have been otherwise.
    pub hedging_since: Option<Moment>,
    /// What was usual when hedging was last switched on.
    pub usual: Usual,
    /// Since when a signal's short window, with enough data, has been on the wrong side of its limit without a break.
    pub over_since: BTreeMap<Signal, Moment>,
}

impl Standing {
    /// Whether what is stored counts more than this: its transition is further, or as far, and was decided by somebody else
    /// before ours was written. `known` = the transition that was stored when we last looked; what changes without it is an
    /// edit by hand, and no decision.
    pub fn yields_to(&self, stored: &CohortStatus, known: u64) -> bool {
        let Some(since) = &stored.since else { return false };
        let transition = u64::try_from(stored.transition).unwrap_or(0);
        let share = u8::try_from(stored.share_percent_now.unwrap_or(0)).unwrap_or(0);
        // Statuses hold whole seconds.
        let ours = state_of(stored.state, share) == self.latch.state
            && figure::moment(since.0).as_secs() == self.latch.since.as_secs();
        match transition.cmp(&self.latch.transition) {
            Ordering::Less => false,
            Ordering::Equal => transition > known && !ours,
            Ordering::Greater => true,
        }
    }

    /// Continues from a status.
    pub fn restore(status: &CohortStatus, rules: &Rules, now: Moment) -> Self {
        let moment = |time: &k8s_openapi::apimachinery::pkg::apis::meta::v1::Time| figure::moment(time.0);
        let tripped_at: Vec<Moment> = status.tripped_at.iter().map(moment).collect();
        let today = now.as_secs() / DAY;
        let share = u8::try_from(status.share_percent_now.unwrap_or(0).clamp(0, 100)).unwrap_or(0);
        let state = state_of(status.state, share);
        let trips_today = tripped_at.iter().filter(|at| at.as_secs() / DAY == today).count();
        let trips = u32::try_from(status.trips).unwrap_or(0);
        let reason = status.reason.as_deref().and_then(Reason::parse);
        let held = state == State::Suspended && reason == Some(Reason::Suspended);
        let until = status.until.as_ref().map(moment);
        let latch_since = status.since.as_ref().map_or(now, moment);
        let latch = Latch {
            state,
            since: latch_since,
            until,
            transition: u64::try_from(status.transition).unwrap_or(0),
            trips_today: u32::try_from(trips_today).unwrap_or(u32::MAX),
            day: today,
            cooldown: cooldown(rules, trips),
            ramp_percent: share,
            ramped: now,
            last_trip: last_trip(status, &tripped_at),
            manual: state == State::Suspended && until.is_none() && !held,
            held,
            handled_resume: status.last_handled_resume.as_deref().map(hash),
        };
        Self {
            latch,
            reason,
            message: status.message.clone().unwrap_or_default(),
            evidence: status.evidence.clone(),
            hold: status.hold.as_ref().map(|hold| moment(&hold.until)),
            last_handled_resume: status.last_handled_resume.clone(),
            trips,
            tripped_at,
            base: Base::default(),
            hedging_since: state.hedges().then_some(latch_since),
            usual: Usual::default(),
            over_since: BTreeMap::new(),
        }
    }
}

/// What was measured while no hedges were sent. What has not gone away without hedges is not their doing, so a trial must
/// not fail for it, and hedging must not end for it again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usual {
    /// Enrolled originals that ended in an error.
    pub errors: Option<Ratio>,
    /// Median first token with primaries alone.
    pub median: Option<Duration>,
}

impl Usual {
    /// The same context where what is normal is at least this.
    pub fn raise(&self, context: &Context) -> Context {
        let more = |errors: Ratio| match self.errors {
            Some(usual) if usual.per_mille() > errors.per_mille() => usual,
            _ => errors,
        };
        Context {
            error_baseline: context.error_baseline.map(more),
            median: context.median.map(|(now, normal)| (now, self.median.unwrap_or_default().max(normal))),
            ..context.clone()
        }
    }
}

/// The cooldown of the latest of `trips` trips.
fn cooldown(rules: &Rules, trips: u32) -> Duration {
    match trips.checked_sub(1) {
        None => Duration::ZERO,
        Some(doublings) => rules.cooldown.saturating_mul(1 << doublings.min(30)).min(rules.max_cooldown),
    }
}

/// The breach behind a suspension or trial; its reason is that of the status.
fn last_trip(status: &CohortStatus, tripped_at: &[Moment]) -> Option<Trip> {
    let reason = status.reason.as_deref()?;
    let signal = Signal::ALL.into_iter().find(|signal| signal.reason() == reason)?;
    tripped_at.last().map(|at| Trip { at: *at, signal })
}

/// The latch's state behind a state of the status: the latter also has words for what is no state of a latch.
fn state_of(state: CohortState, share: u8) -> State {
    match state {
        CohortState::Ramping => State::Ramping,
        CohortState::Active => State::Active,
        CohortState::Suspended => State::Suspended,
        CohortState::Trial => State::Trial,
        CohortState::Disabled | CohortState::Conflicted => State::Disabled,
        CohortState::InsufficientData if share >= 100 => State::Active,
        CohortState::InsufficientData if share > 0 => State::Ramping,
        CohortState::Observing | CohortState::InsufficientData => State::Observing,
    }
}

/// Identity of a resume annotation's value.
pub(super) fn hash(value: &str) -> u64 {
    let digest = hedgerow_config::digest::digest(value.as_bytes());
    u64::from_str_radix(&digest[..16], 16).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(state: &str, transition: i64, since: &str) -> CohortStatus {
        let status =
            serde_json::json!({ "name": "chat", "state": state, "transition": transition, "since": since });
        serde_json::from_value(status).unwrap()
    }

    #[test]
    fn of_two_decisions_the_further_one_counts_and_of_equals_the_one_that_was_written() {
        let (early, late) = ("2026-11-30T06:00:00Z", "2026-11-30T06:00:07Z");
        let since = figure::moment(early.parse().unwrap()) + Duration::from_millis(400);
        let latch = Latch { state: State::Suspended, since, transition: 5, ..Latch::default() };
        let ours = Standing { latch, ..Standing::default() };
        for (what, status, known, yields) in [
            ("what was there before", stored("Active", 4, early), 4, false),
            ("another leader's next decision", stored("Active", 6, late), 5, true),
            ("another leader's, before ours was written", stored("Trial", 8, late), 4, true),
            ("our own, of which the answer was lost", stored("Suspended", 5, early), 4, false),
            ("another one of the same number", stored("Suspended", 5, late), 4, true),
            ("another one of the same number and second", stored("Ramping", 5, early), 4, true),
            ("an edit of what we wrote", stored("Active", 5, late), 5, false),
            ("an edit that goes back", stored("Active", 1, late), 5, false),
        ] {
            assert_eq!(ours.yields_to(&status, known), yields, "{what}");
        }
        let no_decision = CohortStatus { since: None, ..stored("Conflicted", 9, late) };
        assert!(!ours.yields_to(&no_decision, 5));
    }
}
