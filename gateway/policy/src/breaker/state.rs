//! The vocabulary: rule, passes, outcomes, states, causes.

use std::time::Duration;

use crate::time::Moment;

/// `spec.breaker` of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Failures in a row that open; 0 = off.
    pub consecutive_failures: u32,
    /// Failed share of the window that opens, percent; 0 = off.
    pub failure_percent: u8,
    /// Slow share of the window that ejects, percent; 0 = off.
    pub slow_percent: u8,
    /// First token beyond this percentage of the expected one is slow.
    pub slow_factor_percent: u16,
    /// Results below which shares say nothing.
    pub min_requests: u32,
    /// Span of the window.
    pub window: Duration,
    /// First back-off.
    pub open_for: Duration,
    /// Longest back-off.
    pub max_open_for: Duration,
}

impl Default for Rule {
    fn default() -> Self {
        Self {
            consecutive_failures: 5,
            failure_percent: 50,
            slow_percent: 50,
            slow_factor_percent: 300,
            min_requests: 20,
            window: Duration::from_secs(30),
            open_for: Duration::from_secs(5),
            max_open_for: Duration::from_mins(5),
        }
    }
}

/// Leave to send one attempt. Report its outcome once; a pass that is dropped votes nothing, and a probe's
/// lease then runs out as a failure.
#[must_use = "report the outcome of the attempt"]
#[derive(Debug, PartialEq, Eq)]
pub struct Pass {
    pub(super) generation: u64,
    pub(super) probe: bool,
}

impl Pass {
    /// Whether this attempt decides the recovery of its route.
    pub fn is_probe(&self) -> bool {
        self.probe
    }
}

/// Why a route may not be used now, and until when at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The provider asked to wait.
    Throttled(Moment),
    /// The breaker is open.
    Open(Moment),
    /// Quota or billing.
    Quota(Moment),
    /// Half-open, and its probe is in flight.
    ProbeInFlight(Moment),
}

impl Refusal {
    /// The moment up to which there is no point in asking again.
    pub fn until(self) -> Moment {
        match self {
            Self::Throttled(at) | Self::Open(at) | Self::Quota(at) | Self::ProbeInFlight(at) => at,
        }
    }
}

/// How an attempt ended, as far as its route is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A first token (or complete answer). `expected` is the cell's; `None` when unknown, and for hedges, which
    /// are sent for slow prompts and would make their route look slow.
    FirstToken {
        /// From the start of the attempt.
        elapsed: Duration,
        /// What is normal for such a request.
        expected: Option<Duration>,
    },
    /// Transport error, 5xx, broken contract.
    Failure,
    /// 429, 503 overload, 529: wait.
    Throttled {
        /// What the provider asked for.
        retry_after: Option<Duration>,
    },
    /// Out of quota or credit.
    QuotaExhausted {
        /// What the provider asked for.
        retry_after: Option<Duration>,
    },
    /// Cancelled by us or by the client before a first token.
    Cancelled {
        /// Age at the cancel.
        elapsed: Duration,
        /// What is normal; `None` for hedges.
        expected: Option<Duration>,
    },
    /// Says nothing about the route (the request's own fault, Passthrough credentials).
    NoVote,
}

/// State of a route for status and metrics, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Failing; refused.
    Open,
    /// Out of quota; refused.
    QuotaOpen,
    /// Probing.
    HalfOpen,
    /// Asked to wait; refused.
    Throttled,
    /// Probes passed; share growing.
    Recovering,
    /// Late; weight lowered.
    Slow,
    /// Normal.
    Closed,
}

impl State {
    /// All states.
    pub const ALL: [Self; 7] = [
        Self::Open,
        Self::QuotaOpen,
        Self::HalfOpen,
        Self::Throttled,
        Self::Recovering,
        Self::Slow,
        Self::Closed,
    ];

    /// Stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "Open",
            Self::QuotaOpen => "QuotaOpen",
            Self::HalfOpen => "HalfOpen",
            Self::Throttled => "Throttled",
            Self::Recovering => "Recovering",
            Self::Slow => "Slow",
            Self::Closed => "Closed",
        }
    }
}

/// Why a state changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Failures in a row.
    Consecutive,
    /// Failed share of the window.
    Ratio,
    /// Slow share of the window.
    Slow,
    /// The provider asked to wait.
    Throttle,
    /// Quota or billing.
    Quota,
    /// The back-off is over.
    BackoffOver,
    /// A probe failed.
    ProbeFailed,
    /// A probe never reported.
    LeaseExpired,
    /// Enough probes passed.
    ProbesPassed,
    /// The recovery ramp reached its end.
    RampFinished,
    /// First tokens are as expected again.
    FastAgain,
}

impl Cause {
    /// Stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Consecutive => "Consecutive",
            Self::Ratio => "Ratio",
            Self::Slow => "Slow",
            Self::Throttle => "Throttle",
            Self::Quota => "Quota",
            Self::BackoffOver => "BackoffOver",
            Self::ProbeFailed => "ProbeFailed",
            Self::LeaseExpired => "LeaseExpired",
            Self::ProbesPassed => "ProbesPassed",
            Self::RampFinished => "RampFinished",
            Self::FastAgain => "FastAgain",
        }
    }
}

/// One change of state, with its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Before.
    pub from: State,
    /// After.
    pub to: State,
    /// Why.
    pub cause: Cause,
}
