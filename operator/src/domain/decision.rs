//! Mode and latch of a cohort -> the decision that gateways obey.
//!
//! The mode is what authors ask for; the latch is what the operator has decided from measurements and keeps in status.
//! Both go into one [`Decision`]. Invariant: a stricter mode wins at once, even before the latch has followed it.

use std::collections::BTreeMap;

use hedgerow_config::cohort::{Decision, DecisionState, Mode};
use hedgerow_crds::{
    effective,
    v1alpha1::{
        GatewayFleetSpec, HedgePolicySpec,
        gateway_fleet::Hedging,
        hedge_policy::{self, Cohort},
    },
};
use hedgerow_policy::guardrail::{Latch, State};

/// Reason of a cohort that is off by hand.
pub const BY_HAND: &str = "Suspended";

/// Whose latch it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CohortKey {
    /// `HedgePolicy`.
    pub policy: String,
    /// Cohort.
    pub cohort: String,
}

/// The latches of a fleet. A cohort without one has just been created.
pub type Latches = BTreeMap<CohortKey, Latch>;

/// The mode in force: the cohort's own or its policy's, off where either is suspended, and at most `Observe` where the
/// fleet forbids hedging, so that people still see what it would do.
pub fn mode(fleet: Option<&GatewayFleetSpec>, policy: &HedgePolicySpec, cohort: &Cohort) -> Mode {
    let forbidden = fleet.is_some_and(|fleet| fleet.hedging == Hedging::Forbidden);
    match effective::cohort(policy, cohort).mode {
        hedge_policy::Mode::Disabled => Mode::Disabled,
        hedge_policy::Mode::Observe => Mode::Observe,
        hedge_policy::Mode::Enforce if forbidden => Mode::Observe,
        hedge_policy::Mode::Enforce => Mode::Enforce,
    }
}

/// What goes into `gateway.json`. `start_percent` is where a ramp starts that no latch knows of yet.
pub fn decision(mode: Mode, latch: Option<&Latch>, start_percent: u32) -> Decision {
    let transition = latch.map_or(0, |latch| latch.transition);
    let plain = |state, hedging_percent| Decision { state, hedging_percent, transition, reason: None };
    match (mode, latch) {
        (Mode::Disabled, _) => plain(DecisionState::Disabled, 0),
        (Mode::Observe, None) => plain(DecisionState::Observing, 100),
        (Mode::Enforce, None) => plain(DecisionState::Ramping, start_percent),
        (mode, Some(latch)) => {
            let state = match (mode, state(latch.state)) {
                // The author went back to observing; the latch follows with its next step.
                (Mode::Observe, hedging) if hedging.hedges() => DecisionState::Observing,
                (_, state) => state,
            };
            Decision {
                state,
                hedging_percent: match state {
                    DecisionState::Observing => 100,
                    _ => u32::from(latch.share_percent()),
                },
                transition,
                reason: reason(latch),
            }
        }
    }
}

fn state(state: State) -> DecisionState {
    match state {
        State::Observing => DecisionState::Observing,
        State::Ramping => DecisionState::Ramping,
        State::Active => DecisionState::Active,
        State::Suspended => DecisionState::Suspended,
        State::Trial => DecisionState::Trial,
        State::Disabled => DecisionState::Disabled,
    }
}

/// Why a cohort is off or on trial: its latest trip, else somebody's hand.
fn reason(latch: &Latch) -> Option<String> {
    match latch.state {
        State::Suspended | State::Trial => {
            let trip = latch.last_trip.as_ref().filter(|_| !latch.held);
            Some(trip.map_or(BY_HAND, |trip| trip.signal.reason()).to_owned())
        }
        _ => None,
    }
}
