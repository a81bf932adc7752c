//! What the fleet's configuration made of each object: the source of `Accepted`, and of what lint and `render` say.

use hedgerow_crds::{Kind, condition::Reason};

/// The outcome for one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Kind.
    pub kind: Kind,
    /// `metadata.name`.
    pub name: String,
    /// Generation that was judged.
    pub generation: i64,
    /// How much of it is in force.
    pub acceptance: Acceptance,
    /// Why, in one word: a reason of the condition `Accepted`.
    pub reason: Reason,
    /// Why, in a sentence that says what to do.
    pub message: String,
    /// The field that decided, for example `spec.match`; empty when everything is in force.
    pub field: String,
    /// Why it cannot be in force although it was accepted, as far as that is known without pods: `NoRoutes`.
    pub not_programmed: Option<(Reason, String)>,
    /// Cohorts that another policy has.
    pub conflicts: Vec<Conflict>,
}

/// How much of an object is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acceptance {
    /// All of it: `Accepted=True`.
    Whole,
    /// Some of it: `Accepted=True` with `PartiallyAccepted`.
    Partly,
    /// Nothing: `Accepted=False`.
    No,
}

/// A cohort name that a policy earlier in the order has already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The cohort.
    pub cohort: String,
    /// The policy that keeps it.
    pub winner: String,
}

impl Verdict {
    /// Everything is in force.
    pub(crate) fn whole(kind: Kind, name: &str, generation: i64) -> Self {
        Self {
            kind,
            name: name.to_owned(),
            generation,
            acceptance: Acceptance::Whole,
            reason: Reason::Accepted,
            message: String::new(),
            field: String::new(),
            not_programmed: None,
            conflicts: Vec::new(),
        }
    }

    /// Nothing is in force, because of one field.
    pub(super) fn refuse(self, reason: Reason, field: &str, message: String) -> Self {
        Self { acceptance: Acceptance::No, reason, message, field: field.to_owned(), ..self }
    }

    /// Whether any of it is in force.
    pub fn accepted(&self) -> bool {
        self.acceptance != Acceptance::No
    }
}
