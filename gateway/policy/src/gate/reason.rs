//! Why a user action was not hedged. The names are a contract: they appear in the `x-hedgerow-hedge-reason`
//! header, in records, in `hedgerow_hedge_suppressed_total{reason}` and in status.

macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// Why a user action was not hedged, in the order in which the gates are asked.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Reason { $($(#[doc = $doc])+ $name,)+ }

        impl Reason {
            /// All reasons, in the order of the gates.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// Stable CamelCase name.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)+ }
            }
        }
    };
}

reasons! {
    /// The client already has a byte of one attempt.
    Committed,
    /// The pod is shutting down.
    Draining,
    /// No cohort matches.
    NoCohort,
    /// The cohort's mode is Disabled, or it is suspended.
    CohortDisabled,
    /// A guardrail suspends the cohort.
    GuardrailSuspended,
    /// No operator has watched for `blind.after`.
    Blind,
    /// Outside the enrolled share or the ramp.
    NotEnrolled,
    /// Attempts used up, another attempt in flight, or hedged before.
    NoAttemptsLeft,
    /// The class of the request must not be sent twice.
    Ineligible,
    /// The prompt is probably cached at the primary.
    WarmCache,
    /// No other usable failure domain.
    NoAlternate,
    /// A provider asked to slow down.
    Pushback,
    /// The clients retry by themselves.
    ClientRetrying,
    /// The alternate is at 80 % of its limit or above.
    AlternateBusy,
    /// The lane is shedding.
    LaneShedding,
    /// Buffered bodies are at half their ceiling.
    BodyMemory,
    /// The deadline leaves no room for the alternate's median.
    DeadlineTooClose,
    /// The action's spend ceiling.
    SpendCeiling,
    /// The hedge would probably lose.
    LowWinProbability,
    /// The firing is the normal case, not the tail.
    DelayNotInTail,
    /// Control group.
    Withheld,
    /// Left out to keep the duplicate target.
    Thinned,
    /// Would have fired, but the cohort only observes.
    Observe,
    /// The alternate has no free permit.
    RouteSaturated,
    /// The pod carries as many attempts as it may.
    PodFull,
    /// No budget.
    BudgetEmpty,
}
