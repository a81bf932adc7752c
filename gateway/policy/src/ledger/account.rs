//! Roles of attempts, the spend ceiling of one user action, and extra spend.

use super::money::{Cost, Usage};

/// Why an attempt was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The first.
    Primary,
    /// Started while the primary was in flight.
    Hedge,
    /// Started after an attempt had failed.
    Retry,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Primary, Self::Hedge, Self::Retry];

    /// Stable name in records and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::Hedge => "hedge",
            Self::Retry => "retry",
        }
    }
}

/// What became of an attempt, as its cost is booked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Its answer was committed.
    Winner,
    /// Lost a race, or failed without being replaced.
    Loser,
    /// Uncommitted and replaced by a retry, or an uncommitted retry.
    Retry,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 3] = [Self::Winner, Self::Loser, Self::Retry];

    /// Stable name in records and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Winner => "winner",
            Self::Loser => "loser",
            Self::Retry => "retry",
        }
    }
}

/// How well a usage is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Basis {
    /// Reported by the provider for the whole attempt.
    Exact,
    /// Input in full plus the output that was seen; the provider may bill more.
    LowerBound,
    /// Estimated from bytes and limits.
    Estimated,
    /// Nothing is known.
    Unknown,
}

impl Basis {
    /// All bases, best first.
    pub const ALL: [Self; 4] = [Self::Exact, Self::LowerBound, Self::Estimated, Self::Unknown];

    /// Stable name in records and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::LowerBound => "lowerBound",
            Self::Estimated => "estimated",
            Self::Unknown => "unknown",
        }
    }
}

/// One attempt as it is booked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Booked {
    /// Why it was started.
    pub kind: Kind,
    /// What became of it.
    pub role: Role,
    /// Its tokens.
    pub usage: Usage,
    /// How well they are known.
    pub basis: Basis,
    /// Its cost; `None` on an unpriced route.
    pub cost: Option<Cost>,
}

/// The role of an attempt that has ended.
pub fn role(kind: Kind, committed: bool, replaced_by_retry: bool) -> Role {
    match (committed, kind) {
        (true, _) => Role::Winner,
        (false, Kind::Retry) => Role::Retry,
        (false, _) if replaced_by_retry => Role::Retry,
        (false, _) => Role::Loser,
    }
}

/// Whether one more attempt fits the action's ceiling. Without a ceiling always; with one, an attempt whose
/// cost is not known does not.
pub fn within_ceiling(spent: Cost, next: Option<Cost>, ceiling: Option<Cost>) -> bool {
    match (ceiling, next) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(ceiling), Some(next)) => spent + next <= ceiling,
    }
}

/// One user action's contribution to the guardrail on extra spend. Sum both over a window, then compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtraSpend {
    /// Cost of primaries and hedges as booked.
    pub actual: Cost,
    /// Estimated cost of the primaries alone.
    pub alone: Cost,
    /// The same two in tokens, for when a route is unpriced.
    pub tokens: (u64, u64),
    /// Attempts without a price; above 0 the money sums are not comparable.
    pub unpriced: u64,
}

/// What hedging added to one user action: primaries and hedges against the primary alone, retries excluded.
/// `alone_usage` and `alone_cost` are what the primary would have used and cost to its end. A hedge that wins on
/// a dearer or cold-cache route is seen, not only losers (measured: losers 9.8 %, true extra spend 26.5 %).
pub fn extra_spend(attempts: &[Booked], alone_usage: &Usage, alone_cost: Option<Cost>) -> ExtraSpend {
    let mut sums = ExtraSpend { tokens: (0, alone_usage.total()), ..ExtraSpend::default() };
    for attempt in attempts.iter().filter(|attempt| attempt.kind != Kind::Retry) {
        sums.tokens.0 = sums.tokens.0.saturating_add(attempt.usage.total());
        match attempt.cost {
            Some(cost) => sums.actual += cost,
            None => sums.unpriced += 1,
        }
    }
    match alone_cost {
        Some(cost) => sums.alone = cost,
        None => sums.unpriced += 1,
    }
    sums
}
