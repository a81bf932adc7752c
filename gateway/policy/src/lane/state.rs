//! The vocabulary: rule, request, permit, ticket, answers.

use std::time::Duration;

use crate::limiter::{self, Warm};
use crate::time::Moment;

/// One lane as its resource says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Higher is served first and shed last, 0..=1000.
    pub priority: u16,
    /// Share of the pod's `maxInFlight` that is served first, percent.
    pub guaranteed_percent: u8,
    /// Share of the pod's `maxInFlight` never exceeded, percent, 1..=100.
    pub ceiling_percent: u8,
    /// The adaptive limit.
    pub limiter: limiter::Rule,
    /// Share of the lane one tenant may hold, percent, 1..=100.
    pub tenant_max_share_percent: u8,
    /// Weights of tenants by hash; 1 for others.
    pub weights: Vec<(u64, u32)>,
    /// Hashes of tenants that are refused.
    pub deny: Vec<u64>,
    /// Longest wait in the queue; zero = shed at once.
    pub max_wait: Duration,
    /// Longest queue in percent of the limit; at least one place unless 0.
    pub max_depth_percent: u8,
    /// Least `Retry-After`.
    pub retry_after_min: Duration,
    /// Most `Retry-After`.
    pub retry_after_max: Duration,
}

impl Default for Rule {
    fn default() -> Self {
        Self {
            priority: 500,
            guaranteed_percent: 0,
            ceiling_percent: 100,
            limiter: limiter::Rule::default(),
            tenant_max_share_percent: 100,
            weights: Vec::new(),
            deny: Vec::new(),
            max_wait: Duration::from_millis(500),
            max_depth_percent: 25,
            retry_after_min: Duration::from_secs(1),
            retry_after_max: Duration::from_mins(1),
        }
    }
}

/// A lane of this pod; stable for the life of the [`super::Lanes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LaneId(pub(super) u16);

/// A place in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket {
    pub(super) lane: LaneId,
    pub(super) serial: u64,
}

/// One user action at the door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its lane.
    pub lane: LaneId,
    /// Keyed hash of its tenant; 0 when there are no tenants.
    pub tenant: u64,
    /// The client says this is a retry; it was counted before.
    pub returning: bool,
    /// Longest wait after which an answer could still be in time.
    pub patience: Duration,
}

/// One running user action. Give it back with [`super::Lanes::release`], exactly once.
#[must_use = "release it when the answer's body ends"]
#[derive(Debug, PartialEq, Eq)]
pub struct Permit {
    pub(super) lane: LaneId,
    pub(super) tenant: u64,
    pub(super) admitted: Moment,
    pub(super) waited: Duration,
}

impl Permit {
    /// The lane it counts in.
    pub fn lane(&self) -> LaneId {
        self.lane
    }

    /// When it was admitted.
    pub fn admitted(&self) -> Moment {
        self.admitted
    }

    /// How long it waited in the queue.
    pub fn waited(&self) -> Duration {
        self.waited
    }
}

/// The answer at the door.
#[derive(Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Run now.
    Admit(Permit),
    /// Wait for a wake with this ticket.
    Queue(Ticket),
    /// 429.
    Shed(Shed),
}

/// The answer to a ticket.
#[derive(Debug, PartialEq, Eq)]
pub enum Wake {
    /// Run now.
    Admitted(Ticket, Permit),
    /// 429.
    Shed(Ticket, Shed),
}

/// A refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shed {
    /// Why.
    pub reason: ShedReason,
    /// `Retry-After` in whole seconds, 1..=60 by default.
    pub retry_after: u32,
}

/// Why a user action was shed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShedReason {
    /// The lane is at its limit and has no queue.
    LaneFull,
    /// The pod is at its ceiling and the lane has no queue.
    PodFull,
    /// The tenant holds its share.
    TenantShare,
    /// The tenant is denied.
    TenantDenied,
    /// The lane's queue is full.
    QueueFull,
    /// Waited as long as allowed.
    QueueTimeout,
    /// The lane was removed while the request was on its way.
    LaneRetired,
}

impl ShedReason {
    /// All reasons.
    pub const ALL: [Self; 7] = [
        Self::LaneFull,
        Self::PodFull,
        Self::TenantShare,
        Self::TenantDenied,
        Self::QueueFull,
        Self::QueueTimeout,
        Self::LaneRetired,
    ];

    /// Stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LaneFull => "LaneFull",
            Self::PodFull => "PodFull",
            Self::TenantShare => "TenantShare",
            Self::TenantDenied => "TenantDenied",
            Self::QueueFull => "QueueFull",
            Self::QueueTimeout => "QueueTimeout",
            Self::LaneRetired => "LaneRetired",
        }
    }
}

/// A lane as metrics and `/state` see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// The adaptive limit.
    pub limit: u32,
    /// The smaller of limit and ceiling.
    pub effective_limit: u32,
    /// Running user actions.
    pub in_flight: u32,
    /// Waiting user actions.
    pub queued: u32,
    /// Something waits, or was shed for want of room in the last two seconds.
    pub shedding: bool,
    /// What a successor should start from.
    pub warm: Warm,
}
