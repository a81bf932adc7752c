//! What is remembered about one cohort between two looks: the latch and the words that belong to it.
//!
//! Status is the only memory. What it does not hold is derived on the safe side: a ramp step and a trial start their time
//! anew after a restart, and the cooldown follows from the number of trips.

use hedgerow_crds::{
    condition::Reason,
    v1alpha1::hedge_policy::{CohortState, CohortStatus, Evidence},
};
use hedgerow_policy::{
    guardrail::{Latch, Rules, State},
    time::Moment,
};

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
    /// Trips of the last 24 h.
    pub tripped_at: Vec<Moment>,
    /// Since when some short window has been at or over its limit without a break.
    pub over_since: Option<Moment>,
}

impl Standing {
    /// Continues from a status.
    pub fn restore(status: &CohortStatus, rules: &Rules, now: Moment) -> Self {
        let moment = |time: &k8s_openapi::apimachinery::pkg::apis::meta::v1::Time| figure::moment(time.0);
        let tripped_at: Vec<Moment> = status.tripped_at.iter().map(moment).collect();
        let today = now.as_secs() / DAY;
        let share = u8::try_from(status.share_percent_now.unwrap_or(0).clamp(0, 100)).unwrap_or(0);
        let state = state_of(status.state, share);
        let trips_today = tripped_at.iter().filter(|at| at.as_secs() / DAY == today).count();
        let doublings = u32::try_from(status.trips.saturating_sub(1).clamp(0, 30)).unwrap_or(0);
        let latch = Latch {
            state,
            since: status.since.as_ref().map_or(now, moment),
            until: status.until.as_ref().map(moment),
            transition: u64::try_from(status.transition).unwrap_or(0),
            trips_today: u32::try_from(trips_today).unwrap_or(u32::MAX),
            day: today,
            cooldown: rules.cooldown.saturating_mul(1 << doublings).min(rules.max_cooldown),
            ramp_percent: share,
            ramped: now,
            last_trip: None,
            manual: state == State::Suspended && status.until.is_none() && status.hold.is_none(),
            handled_resume: status.last_handled_resume.as_deref().map(hash),
            ..Latch::default()
        };
        Self {
            latch,
            reason: status.reason.as_deref().and_then(Reason::parse),
            message: status.message.clone().unwrap_or_default(),
            evidence: status.evidence.clone(),
            hold: status.hold.as_ref().map(|hold| moment(&hold.until)),
            last_handled_resume: status.last_handled_resume.clone(),
            tripped_at,
            over_since: None,
        }
    }
}

/// The latch's state behind a state of the status: the latter also has words for what is no state of a latch.
fn state_of(state: CohortState, share: u8) -> State {
    match state {
        CohortState::Observing => State::Observing,
        CohortState::Ramping => State::Ramping,
        CohortState::Active => State::Active,
        CohortState::Suspended => State::Suspended,
        CohortState::Trial => State::Trial,
        CohortState::Disabled | CohortState::Conflicted => State::Disabled,
        CohortState::InsufficientData if share >= 100 => State::Active,
        CohortState::InsufficientData if share > 0 => State::Ramping,
        CohortState::InsufficientData => State::Observing,
    }
}

/// Identity of a resume annotation's value.
pub(super) fn hash(value: &str) -> u64 {
    let digest = hedgerow_config::digest::digest(value.as_bytes());
    u64::from_str_radix(&digest[..16], 16).unwrap_or(0)
}
