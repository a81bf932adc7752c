//! Why a delay is what it is: the steps that changed it, as a set.

/// One step that changed the delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Step {
    /// No sample anywhere: the cold-start delay.
    ColdStart,
    /// The quantile lies beyond the samples; their end was used.
    BeyondSamples,
    /// Raised to `min`.
    ClampedToMin,
    /// Shortened to `max`.
    ClampedToMax,
    /// Shortened to 1.5 times the best alternate's p95.
    CappedByAlternate,
    /// Wanted to fall by more than 25 %.
    SlewedDown,
    /// Wanted to rise by more than 25 %.
    SlewedUp,
    /// Held within 0.5 to 2 times the 24 h baseline.
    HeldByBaseline,
}

impl Step {
    const ALL: [Self; 8] = [
        Self::ColdStart,
        Self::BeyondSamples,
        Self::ClampedToMin,
        Self::ClampedToMax,
        Self::CappedByAlternate,
        Self::SlewedDown,
        Self::SlewedUp,
        Self::HeldByBaseline,
    ];

    /// Stable name for status and records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ColdStart => "ColdStart",
            Self::BeyondSamples => "BeyondSamples",
            Self::ClampedToMin => "ClampedToMin",
            Self::ClampedToMax => "ClampedToMax",
            Self::CappedByAlternate => "CappedByAlternate",
            Self::SlewedDown => "SlewedDown",
            Self::SlewedUp => "SlewedUp",
            Self::HeldByBaseline => "HeldByBaseline",
        }
    }
}

/// The set of steps that changed a delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trail(u8);

impl Trail {
    /// Records a step.
    pub(super) fn add(&mut self, step: Step) {
        self.0 |= 1 << step as u8;
    }

    /// Whether a step changed the delay.
    pub const fn has(self, step: Step) -> bool {
        self.0 & (1 << step as u8) != 0
    }

    /// Names of the steps, in the order in which they are applied.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Step::ALL.into_iter().filter(move |step| self.has(*step)).map(Step::as_str)
    }
}
