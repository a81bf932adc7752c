//! May this firing hedge?
//!
//! One pure function over plain facts. All gates are asked in the order of the contract, the first refusal is
//! the recorded reason, and every gate that consumes something (route permit, then budget) comes after this
//! function said [`Verdict::Fire`]. The control group is drawn last, so that control and hedge arm are the
//! same population: enrolled requests that every other gate would have let through.
//!
//! In `Observe` everything is decided and counted; what would have fired is refused as [`Reason::Observe`], so
//! nothing is consumed and nothing is sent.
//!
//! "Win probability at least 0.2" replaces the natural-looking "residual median above the alternate's median",
//! which refuses hedges that cut p99 (lognormal: 2.41 -> 2.14 s).

mod facts;
mod reason;
mod returning;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use facts::{Alternate, Facts, Mode};
pub use reason::Reason;
pub use returning::Returning;

use crate::draw::{chance, thousandth};

/// Cached-input share of the cell above which a hedge would pay for a cold prompt, per mille.
pub const WARM_CACHE_PER_MILLE: u16 = 300;
/// Client retries among originals of the last minute above which the clients already hedge for themselves.
pub const CLIENT_RETRY_PER_MILLE: u16 = 100;
/// Utilisation of the alternate from which a hedge would compete with its primaries.
pub const BUSY_PER_MILLE: u16 = 800;
/// Buffered bytes, as a share of their ceiling, from which bodies are not sent twice.
pub const BODY_MEMORY_PER_MILLE: u16 = 500;
/// Win probability below which a hedge is waste.
pub const WIN_PER_MILLE: u16 = 200;
/// Hedges of a pair below which its win probability is not yet trusted to refuse.
pub const LEARNING_HEDGES: u32 = 50;
/// What must be left of the deadline beyond the alternate's median.
pub const DEADLINE_MARGIN: Duration = Duration::from_millis(250);
/// Attempts of one user action, whatever a policy says.
pub const MOST_ATTEMPTS: u8 = 3;

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Fire, or why not.
    pub verdict: Verdict,
    /// The win probability was not asked because the pair has too few hedges.
    pub learning: bool,
}

/// Fire or the first reason not to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Take the route permit, then the budget, then launch.
    Fire,
    /// Do not hedge this user action.
    Refuse(Reason),
}

/// Which arm of the experiment a firing belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// Withheld on purpose.
    Control,
    /// May hedge.
    Hedge,
    /// Not hedged so that the cell keeps its duplicate target.
    Thinned,
}

/// Whether a user action belongs to the enrolled share (per mille) of its cohort.
pub fn enrolled(enrol_draw: u64, share_per_mille: u16) -> bool {
    chance(enrol_draw, share_per_mille)
}

/// The arm of one firing: the first `holdout` percent of draws are the control group, the next `send_per_mille`
/// thousandths hedge, the rest is thinned.
pub fn arm(draw: u64, holdout_percent: u8, send_per_mille: u16) -> Arm {
    let (at, holdout) = (thousandth(draw), 10 * u16::from(holdout_percent.min(100)));
    if at < holdout {
        Arm::Control
    } else if at < holdout.saturating_add(send_per_mille) {
        Arm::Hedge
    } else {
        Arm::Thinned
    }
}

/// Asks all gates that consume nothing, in order.
pub fn decide(facts: &Facts) -> Decision {
    let mut learning = false;
    let verdict = standing(facts)
        .and_then(|()| request(facts))
        .and_then(|()| alternate(facts))
        .and_then(|alternate| {
            learning = alternate.pair_hedges < LEARNING_HEDGES;
            worth(facts, &alternate, learning)
        })
        .and_then(|()| draw(facts));
    Decision { verdict: verdict.map_or_else(Verdict::Refuse, |()| Verdict::Fire), learning }
}

/// Is anybody allowed to hedge here at all?
fn standing(facts: &Facts) -> Result<(), Reason> {
    refuse_if(facts.committed, Reason::Committed)?;
    refuse_if(facts.draining, Reason::Draining)?;
    refuse_if(facts.mode == Mode::Disabled, Reason::CohortDisabled)?;
    refuse_if(facts.guardrail_suspended, Reason::GuardrailSuspended)?;
    refuse_if(facts.blind, Reason::Blind)
}

/// Is this user action a candidate?
fn request(facts: &Facts) -> Result<(), Reason> {
    refuse_if(!enrolled(facts.enrol_draw, facts.share_per_mille), Reason::NotEnrolled)?;
    let spent =
        facts.attempts >= facts.max_attempts.min(MOST_ATTEMPTS) || facts.in_flight != 1 || facts.hedged;
    refuse_if(spent, Reason::NoAttemptsLeft)?;
    refuse_if(!facts.eligible, Reason::Ineligible)?;
    let warm = facts.cached_input_per_mille > WARM_CACHE_PER_MILLE && !facts.hedge_warm_cache;
    refuse_if(warm, Reason::WarmCache)
}

/// Is there somewhere to send it, now?
fn alternate(facts: &Facts) -> Result<Alternate, Reason> {
    let alternate = facts.alternate.ok_or(Reason::NoAlternate)?;
    refuse_if(facts.pushback || alternate.pushback, Reason::Pushback)?;
    refuse_if(facts.client_retry_per_mille > CLIENT_RETRY_PER_MILLE, Reason::ClientRetrying)?;
    refuse_if(alternate.busy_per_mille >= BUSY_PER_MILLE, Reason::AlternateBusy)?;
    refuse_if(facts.lane_shedding, Reason::LaneShedding)?;
    refuse_if(facts.body_memory_per_mille >= BODY_MEMORY_PER_MILLE, Reason::BodyMemory)?;
    Ok(alternate)
}

/// Would it help, in time and within what the user pays?
fn worth(facts: &Facts, alternate: &Alternate, learning: bool) -> Result<(), Reason> {
    let needed = alternate.p50.unwrap_or(Duration::ZERO) + DEADLINE_MARGIN;
    refuse_if(facts.remaining < needed, Reason::DeadlineTooClose)?;
    refuse_if(!facts.within_spend, Reason::SpendCeiling)?;
    let hopeless = alternate.win_per_mille.is_some_and(|win| win < WIN_PER_MILLE);
    refuse_if(hopeless && !learning, Reason::LowWinProbability)?;
    refuse_if(facts.not_in_tail, Reason::DelayNotInTail)
}

/// The one draw.
fn draw(facts: &Facts) -> Result<(), Reason> {
    match arm(facts.arm_draw, facts.holdout_percent, facts.send_per_mille) {
        Arm::Control => Err(Reason::Withheld),
        Arm::Thinned => Err(Reason::Thinned),
        Arm::Hedge => refuse_if(facts.mode == Mode::Observe, Reason::Observe),
    }
}

fn refuse_if(refused: bool, reason: Reason) -> Result<(), Reason> {
    if refused { Err(reason) } else { Ok(()) }
}
