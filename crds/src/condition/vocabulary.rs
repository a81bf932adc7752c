//! The words of conditions: types, reasons, statuses.
//!
//! They are stable: scripts wait for them and alerts name them. Which reasons a type may carry is part
//! of the vocabulary.

/// An enum of unit variants whose text is the variant's name.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$vdoc])* $variant),* }

        impl $name {
            /// All of them, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The word as it stands in the object.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant)),* }
            }

            /// The value of a word; `None` for one that this version does not know.
            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.as_str() == word)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words! {
    /// Type of a condition.
    ConditionType {
        /// The spec is valid and in force; true is good.
        Accepted,
        /// Every referenced Secret key exists; true is good.
        ResolvedRefs,
        /// Every ready pod runs this generation; true is good.
        Programmed,
        /// The route answers normally; true is good. Routes only.
        Healthy,
        /// Some cohort is suspended or in trial; true is bad. Policies only.
        GuardrailBreached,
        /// The first failing one of the others, GuardrailBreached and Healthy aside.
        Ready,
        /// A new generation is rolling out (kstatus); present only when true.
        Reconciling,
        /// Nothing will change without an edit (kstatus); present only when true.
        Stalled,
    }
}

words! {
    /// Reason of a condition.
    Reason {
        /// The spec is in force.
        Accepted,
        /// Part of the spec is in force; the message names what is not.
        PartiallyAccepted,
        /// The spec is invalid.
        Invalid,
        /// Another object has precedence.
        Conflicted,
        /// The fleet has its largest number of routes.
        FleetFull,
        /// The installation does not allow this Secret's name.
        SecretNotAllowed,
        /// The installation does not allow this endpoint.
        EndpointNotAllowed,
        /// All references exist.
        ResolvedRefs,
        /// A Secret, or a ConfigMap with authorities, is missing or empty.
        SecretNotFound,
        /// It lacks the key.
        SecretKeyMissing,
        /// No pod is ready, so nothing can be said.
        NoReadyPods,
        /// The pods run this generation.
        Programmed,
        /// The pods are being brought to this generation.
        Reconciling,
        /// The fleet has no route.
        NoRoutes,
        /// The gateways refused the configuration.
        Rejected,
        /// The API server refused a child object.
        ChildRejected,
        /// The pods do not come up.
        RolloutFailed,
        /// A foreign object has the name of a child.
        NameConflict,
        /// The compiled configuration does not fit into a ConfigMap.
        ConfigTooLarge,
        /// The route answers normally.
        Healthy,
        /// The route's breaker is open.
        BreakerOpen,
        /// The provider told us to slow down.
        Throttled,
        /// The route is slower than its peers and gets less traffic.
        Slow,
        /// The account's quota is used up.
        QuotaExhausted,
        /// The provider refuses the credentials.
        CredentialsRejected,
        /// Switched off by its author.
        Suspended,
        /// No request came lately.
        NoTraffic,
        /// The pods could not be read.
        ScrapeFailed,
        /// Too many hedges for the enrolled requests.
        DuplicateRateExceeded,
        /// Hedging adds too much to spend.
        ExtraSpendExceeded,
        /// Too few hedges win.
        WinRateTooLow,
        /// Too many losers complete after they were cancelled.
        LateCompletions,
        /// Errors rose with hedging.
        ErrorRateExceeded,
        /// Hedging does not shorten the tail.
        NoTailGain,
        /// The median rose.
        MedianShifted,
        /// The day's spend ceiling is reached.
        DailySpendReached,
        /// Nobody watched the guardrails for too long.
        Blind,
        /// Every guardrail is within its limits.
        WithinLimits,
        /// Too little traffic for a verdict.
        InsufficientData,
        /// Hedging is switched off.
        SwitchedOff,
        /// Everything that matters is true.
        Ready,
    }
}

words! {
    /// Status of a condition.
    ConditionStatus {
        /// It holds.
        True,
        /// It does not hold.
        False,
        /// It cannot be told.
        Unknown,
    }
}

impl ConditionType {
    /// Reasons that this type may carry; `Ready`, `Reconciling` and `Stalled` repeat those of others.
    pub fn reasons(self) -> &'static [Reason] {
        use Reason as R;
        match self {
            Self::Accepted => &[
                R::Accepted,
                R::PartiallyAccepted,
                R::Invalid,
                R::Conflicted,
                R::FleetFull,
                R::SecretNotAllowed,
                R::EndpointNotAllowed,
            ],
            Self::ResolvedRefs => &[R::ResolvedRefs, R::SecretNotFound, R::SecretKeyMissing, R::NoReadyPods],
            Self::Programmed => &[
                R::Programmed,
                R::Reconciling,
                R::NoReadyPods,
                R::NoRoutes,
                R::Rejected,
                R::ChildRejected,
                R::RolloutFailed,
                R::NameConflict,
                R::ConfigTooLarge,
            ],
            Self::Healthy => &[
                R::Healthy,
                R::BreakerOpen,
                R::Throttled,
                R::Slow,
                R::QuotaExhausted,
                R::CredentialsRejected,
                R::Suspended,
                R::NoTraffic,
                R::ScrapeFailed,
            ],
            Self::GuardrailBreached => &[
                R::DuplicateRateExceeded,
                R::ExtraSpendExceeded,
                R::WinRateTooLow,
                R::LateCompletions,
                R::ErrorRateExceeded,
                R::NoTailGain,
                R::MedianShifted,
                R::DailySpendReached,
                R::Blind,
                R::WithinLimits,
                R::InsufficientData,
                R::ScrapeFailed,
                R::SwitchedOff,
            ],
            Self::Ready | Self::Reconciling | Self::Stalled => Reason::ALL,
        }
    }
}

impl Reason {
    /// Whether nothing will change without an edit, so that kstatus should read the object as failed.
    pub fn stalls(self) -> bool {
        matches!(
            self,
            Self::Invalid
                | Self::Conflicted
                | Self::FleetFull
                | Self::SecretNotAllowed
                | Self::EndpointNotAllowed
                | Self::Rejected
                | Self::NameConflict
                | Self::ConfigTooLarge
        )
    }
}
