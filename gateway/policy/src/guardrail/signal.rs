//! The signals and their values.

/// What a guardrail measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Signal {
    /// Hedges over enrolled originals.
    DuplicateRate,
    /// (Cost of primaries and hedges - cost of primaries alone) / the latter.
    ExtraSpend,
    /// Wins over hedges.
    WinRate,
    /// Completed over audited losers.
    LateCompletions,
    /// Errors over enrolled originals.
    ErrorRate,
    /// Gain at the 99th percentile.
    TailGain,
    /// Rise of the median first token.
    MedianShift,
    /// What losers have cost today, over the day's ceiling.
    DailySpend,
}

impl Signal {
    /// All signals, in the order in which they are judged: the first that trips is the reason.
    pub const ALL: [Self; 8] = [
        Self::DuplicateRate,
        Self::ExtraSpend,
        Self::WinRate,
        Self::LateCompletions,
        Self::ErrorRate,
        Self::TailGain,
        Self::MedianShift,
        Self::DailySpend,
    ];

    /// Stable name, as the field in the resource.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DuplicateRate => "duplicateRate",
            Self::ExtraSpend => "extraSpend",
            Self::WinRate => "winRate",
            Self::LateCompletions => "lateCompletions",
            Self::ErrorRate => "errorRate",
            Self::TailGain => "tailGain",
            Self::MedianShift => "medianShift",
            Self::DailySpend => "dailySpend",
        }
    }

    /// Reason of the condition when it trips.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::DuplicateRate => "DuplicateRateExceeded",
            Self::ExtraSpend => "ExtraSpendExceeded",
            Self::WinRate => "WinRateTooLow",
            Self::LateCompletions => "LateCompletions",
            Self::ErrorRate => "ErrorRateExceeded",
            Self::TailGain => "NoTailGain",
            Self::MedianShift => "MedianShifted",
            Self::DailySpend => "DailySpendReached",
        }
    }

    /// Whether being *below* the threshold is the breach.
    pub const fn is_minimum(self) -> bool {
        matches!(self, Self::WinRate | Self::TailGain)
    }
}

/// A measured share, exact. A denominator of 0 is "nothing measured".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ratio {
    /// Numerator.
    pub num: u128,
    /// Denominator.
    pub den: u128,
}

impl Ratio {
    /// From two counters.
    pub fn of(num: impl Into<u128>, den: impl Into<u128>) -> Self {
        Self { num: num.into(), den: den.into() }
    }

    /// A part of a whole from two counters: at most all of it, though a window may know of the end of more things than begun
    /// in it (a hedge that was sent before it and wins in it).
    pub fn share(part: impl Into<u128>, whole: impl Into<u128>) -> Self {
        let whole = whole.into();
        Self { num: part.into().min(whole), den: whole }
    }

    /// In thousandths, rounded half up, for display; 0 when nothing was measured.
    pub fn per_mille(self) -> u32 {
        let scaled = self.num.saturating_mul(1_000).saturating_add(self.den / 2);
        scaled.checked_div(self.den).map_or(0, |value| u32::try_from(value).unwrap_or(u32::MAX))
    }

    /// Whether the exact value is `per_mille` or above; never when nothing was measured.
    pub fn at_least(self, per_mille: u32) -> bool {
        self.den > 0 && self.num.saturating_mul(1_000) >= self.den.saturating_mul(u128::from(per_mille))
    }

    /// Whether the exact value is below `per_mille`; never when nothing was measured.
    pub fn below(self, per_mille: u32) -> bool {
        self.den > 0 && !self.at_least(per_mille)
    }
}
