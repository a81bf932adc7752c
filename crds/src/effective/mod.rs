//! The values in force where an object has none: the one place of defaults that the schema can't hold.
//!
//! Input: an object as stored (constant defaults already filled by the schema or by reading it).
//! Output: the cohort, model, reference or source with nothing left open. Two kinds of defaults live
//! here: those below a list's items (in the schema they would make GitOps tools report drift for ever)
//! and those that depend on another field. The compiler, `status.effective` and `render` all use these
//! functions, so they can't disagree.

mod cohort;
mod model;
mod reference;

pub use cohort::{EffectiveCohort, EffectiveObjective, cohort, cohorts};
pub use model::{EffectiveModel, EffectivePricing, model, models};
pub use reference::{quota_group, secret, tenant_source};

#[cfg(test)]
mod tests;
