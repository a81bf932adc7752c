//! `spec.guardrails` and `spec.ramp` of a policy.

use std::time::Duration;

/// A limit that trips from `trip_percent` on and re-arms below `rearm_percent`. A trip of 0 = off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Maximum {
    /// Trips at this value or above.
    pub trip_percent: u8,
    /// Re-arms below this value.
    pub rearm_percent: u8,
}

/// Least share of hedges that must win.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WinRate {
    /// Trips below this; 0 = off.
    pub min_percent: u8,
    /// Hedges below which nothing is said.
    pub min_hedges: u64,
}

/// Errors of enrolled requests against what is normal for the cohort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorRate {
    /// Trips at this multiple of the baseline, in percent; 0 = off.
    pub factor_percent: u16,
    /// And at least this many points above it.
    pub min_points: u8,
}

/// How the hedging share grows when it is switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ramp {
    /// First share in percent; 100 = no ramp. A trial runs at this share.
    pub start_percent: u8,
    /// Growth of a step in percent of the share.
    pub grow_percent: u16,
    /// Time between steps.
    pub every: Duration,
}

impl Ramp {
    /// The share after one more step: at least one point more, at most 100.
    pub fn grow(&self, share: u8) -> u8 {
        let grown = u32::from(share) * (100 + u32::from(self.grow_percent)) / 100;
        grown.max(u32::from(share) + 1).min(100) as u8
    }
}

/// Who brings hedging back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// A trial after the cooldown.
    #[default]
    Automatic,
    /// A person.
    Manual,
}

/// What a pod does when nobody watches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlindAction {
    /// No hedges until the heartbeat is back.
    #[default]
    Suspend,
    /// Go on.
    Continue,
}

/// Everything a cohort is held to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Long window; the short one is a fifth of it, at least 10 s.
    pub window: Duration,
    /// Enrolled requests below which nothing is said.
    pub min_requests: u64,
    /// Hedges over enrolled originals.
    pub duplicate_rate: Maximum,
    /// Extra spend over the cost of the primaries alone.
    pub extra_spend: Maximum,
    /// Wins over hedges.
    pub win_rate: WinRate,
    /// Completed over audited losers: trips at this percentage; 0 = off.
    pub late_completions: u8,
    /// Errors against the baseline.
    pub error_rate: ErrorRate,
    /// Least gain at the 99th percentile, percent; 0 = off.
    pub tail_gain_min_percent: u8,
    /// Rise of the median first token against its baseline, percent; 0 = off.
    pub median_shift_trip_percent: u16,
    /// What losers of the cohort may cost in a UTC day, in micro-units; `None` = no ceiling.
    pub daily_spend_micros: Option<u64>,
    /// Who brings hedging back.
    pub recovery: Recovery,
    /// Time from a first trip to its trial.
    pub cooldown: Duration,
    /// Longest cooldown.
    pub max_cooldown: Duration,
    /// Longest trial.
    pub trial_for: Duration,
    /// Hedges that end a trial earlier.
    pub trial_hedges: u64,
    /// The trip of this number in a UTC day stays until resumed by hand.
    pub max_trips_per_day: u32,
    /// How hedging grows when it is switched on.
    pub ramp: Ramp,
    /// Silence of the operator from which a pod acts alone.
    pub blind_after: Duration,
    /// What it then does.
    pub blind_action: BlindAction,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            window: Duration::from_mins(5),
            min_requests: 200,
            duplicate_rate: Maximum { trip_percent: 8, rearm_percent: 6 },
            extra_spend: Maximum { trip_percent: 6, rearm_percent: 4 },
            win_rate: WinRate { min_percent: 20, min_hedges: 50 },
            late_completions: 0,
            error_rate: ErrorRate { factor_percent: 200, min_points: 2 },
            tail_gain_min_percent: 5,
            median_shift_trip_percent: 50,
            daily_spend_micros: None,
            recovery: Recovery::Automatic,
            cooldown: Duration::from_mins(1),
            max_cooldown: Duration::from_mins(30),
            trial_for: Duration::from_mins(5),
            trial_hedges: 100,
            max_trips_per_day: 6,
            ramp: Ramp { start_percent: 25, grow_percent: 50, every: Duration::from_mins(15) },
            blind_after: Duration::from_mins(30),
            blind_action: BlindAction::Suspend,
        }
    }
}

impl Rules {
    /// The short window.
    pub fn short_window(&self) -> Duration {
        (self.window / 5).max(Duration::from_secs(10))
    }

    /// Shortest time in a state, trips and people aside.
    pub fn dwell(&self) -> Duration {
        self.cooldown.min(Duration::from_mins(1))
    }
}
