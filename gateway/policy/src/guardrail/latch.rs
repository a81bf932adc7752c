//! What is remembered about a cohort between two looks. Plain public fields: the operator keeps it in status.

use std::time::Duration;

use super::evaluate::Reading;
use super::signal::Signal;
use crate::gate::Mode;
use crate::time::Moment;

/// Where a cohort stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum State {
    /// Decided and counted, nothing sent.
    #[default]
    Observing,
    /// Share growing.
    Ramping,
    /// On for every enrolled request.
    Active,
    /// Off after a breach, or by hand.
    Suspended,
    /// On for a small share, to see whether the breach is over.
    Trial,
    /// Switched off by its author.
    Disabled,
}

impl State {
    /// Stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Observing => "Observing",
            Self::Ramping => "Ramping",
            Self::Active => "Active",
            Self::Suspended => "Suspended",
            Self::Trial => "Trial",
            Self::Disabled => "Disabled",
        }
    }

    /// Whether hedges are sent.
    pub const fn hedges(self) -> bool {
        matches!(self, Self::Ramping | Self::Active | Self::Trial)
    }
}

/// A breach that suspended the cohort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trip {
    /// When.
    pub at: Moment,
    /// By which signal.
    pub signal: Signal,
}

/// A suspension by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Until when; `None` = until it is taken back.
    pub until: Option<Moment>,
}

/// What authors and people want.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// Mode after every `suspend` and fleet-wide switch.
    pub mode: Mode,
    /// Suspended by hand.
    pub hold: Option<Hold>,
    /// Identity of the latest request to resume; acted on once.
    pub resume: Option<u64>,
}

/// The memory of one cohort. Moments are Unix time. `Default` is a cohort that was just created.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latch {
    /// Where it stands.
    pub state: State,
    /// Since when.
    pub since: Moment,
    /// When it leaves by itself, if it does.
    pub until: Option<Moment>,
    /// Number of transitions so far; only grows.
    pub transition: u64,
    /// Trips of the UTC day `day`.
    pub trips_today: u32,
    /// Days since 1970.
    pub day: u64,
    /// Cooldown of the latest trip; zero = no trip lately, the next one takes the rules' own.
    pub cooldown: Duration,
    /// Share in percent while Ramping or in Trial.
    pub ramp_percent: u8,
    /// When the share last grew.
    pub ramped: Moment,
    /// The latest breach.
    pub last_trip: Option<Trip>,
    /// Suspended until a person resumes it.
    pub manual: bool,
    /// Suspended by hand and by nothing else.
    pub held: bool,
    /// The latest request to resume that was acted on.
    pub handled_resume: Option<u64>,
}

impl Latch {
    /// Share of enrolled requests that may be hedged, percent; what gateways use as the ramp.
    pub fn share_percent(&self) -> u8 {
        match self.state {
            State::Observing | State::Active => 100,
            State::Ramping | State::Trial => self.ramp_percent.min(100),
            State::Suspended | State::Disabled => 0,
        }
    }

    /// Whether hedges are sent.
    pub fn hedging(&self) -> bool {
        self.state.hedges()
    }
}

/// Why a cohort changed its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Its author changed the mode.
    ModeChanged,
    /// Suspended by hand.
    Held,
    /// The suspension by hand ended.
    HoldEnded,
    /// Resumed by hand.
    Resumed,
    /// A guardrail was breached.
    Tripped,
    /// Nothing could be seen for `blind.after`.
    Blinded,
    /// The cooldown is over.
    CooldownOver,
    /// The trial did not stay within the guardrails.
    TrialFailed,
    /// The trial stayed within the guardrails.
    TrialPassed,
    /// The ramp reached 100 %.
    RampFinished,
}

impl Cause {
    /// Stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ModeChanged => "ModeChanged",
            Self::Held => "Held",
            Self::HoldEnded => "HoldEnded",
            Self::Resumed => "Resumed",
            Self::Tripped => "Tripped",
            Self::Blinded => "Blinded",
            Self::CooldownOver => "CooldownOver",
            Self::TrialFailed => "TrialFailed",
            Self::TrialPassed => "TrialPassed",
            Self::RampFinished => "RampFinished",
        }
    }
}

/// One change of state: the only source of its Event, metric, log line and status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// Before.
    pub from: State,
    /// After.
    pub to: State,
    /// Why.
    pub cause: Cause,
    /// Its number.
    pub transition: u64,
    /// The reading behind a trip or a failed trial.
    pub reading: Option<Reading>,
    /// When.
    pub at: Moment,
}
