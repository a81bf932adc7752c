//! What the gate is told. Plain values: whoever measures them is not this crate's business.

use std::time::Duration;

/// What a cohort's policy says about hedging.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Nothing is decided.
    Disabled,
    /// Everything is decided and counted, nothing is sent.
    #[default]
    Observe,
    /// Hedges are sent.
    Enforce,
}

impl Mode {
    /// Stable name, as in the resources.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Disabled => "Disabled",
            Self::Observe => "Observe",
            Self::Enforce => "Enforce",
        }
    }
}

/// The best usable alternate: another failure domain, inside the data boundary, allowed for the tenant, in
/// `hedgeTo`, breaker closed, credentials present.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Alternate {
    /// Its median first token, if known.
    pub p50: Option<Duration>,
    /// Attempts in flight over its limit, per mille; 0 without a limit.
    pub busy_per_mille: u16,
    /// It, or its quota group, asked to slow down.
    pub pushback: bool,
    /// Win probability at the primary's age, scaled by the pair's observed over predicted ratio, per mille.
    pub win_per_mille: Option<u16>,
    /// Hedges of this primary and alternate so far.
    pub pair_hedges: u32,
}

/// Everything that decides one firing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// A byte has been committed to the client.
    pub committed: bool,
    /// The pod is shutting down.
    pub draining: bool,
    /// The cohort's mode after both `suspend` fields.
    pub mode: Mode,
    /// A guardrail suspends the cohort.
    pub guardrail_suspended: bool,
    /// No operator heartbeat for `blind.after`, and `blind.action` is Suspend.
    pub blind: bool,
    /// The action's draw for `Enrol`.
    pub enrol_draw: u64,
    /// min(cohort's share, ramp), per mille.
    pub share_per_mille: u16,
    /// Attempts started so far, of any kind.
    pub attempts: u8,
    /// The policy's `maxAttempts`.
    pub max_attempts: u8,
    /// Attempts now in flight; a hedge needs exactly the primary.
    pub in_flight: u8,
    /// A hedge was launched before.
    pub hedged: bool,
    /// The class of the request may be sent twice.
    pub eligible: bool,
    /// Cached share of the cell's input tokens, per mille.
    pub cached_input_per_mille: u16,
    /// The cohort hedges warm prompts anyway.
    pub hedge_warm_cache: bool,
    /// The best usable alternate.
    pub alternate: Option<Alternate>,
    /// The cohort or the quota group of the primary is under pushback.
    pub pushback: bool,
    /// Client retries over originals of the last minute, per mille.
    pub client_retry_per_mille: u16,
    /// The lane is shedding.
    pub lane_shedding: bool,
    /// Buffered bytes over their ceiling, per mille.
    pub body_memory_per_mille: u16,
    /// Time to the deadline for launching and committing.
    pub remaining: Duration,
    /// The action's spend ceiling allows another attempt.
    pub within_spend: bool,
    /// The cell's delay is not in the tail.
    pub not_in_tail: bool,
    /// The action's draw for `Arm`.
    pub arm_draw: u64,
    /// Control group, percent of firings.
    pub holdout_percent: u8,
    /// q of the cell, per mille.
    pub send_per_mille: u16,
}

impl Default for Facts {
    /// Facts that pass every gate but the alternate, which has no neutral value.
    fn default() -> Self {
        Self {
            committed: false,
            draining: false,
            mode: Mode::Enforce,
            guardrail_suspended: false,
            blind: false,
            enrol_draw: 0,
            share_per_mille: 1_000,
            attempts: 1,
            max_attempts: 2,
            in_flight: 1,
            hedged: false,
            eligible: true,
            cached_input_per_mille: 0,
            hedge_warm_cache: false,
            alternate: None,
            pushback: false,
            client_retry_per_mille: 0,
            lane_shedding: false,
            body_memory_per_mille: 0,
            remaining: Duration::MAX,
            within_spend: true,
            not_in_tail: false,
            arm_draw: u64::MAX / 2,
            holdout_percent: 5,
            send_per_mille: 950,
        }
    }
}
