//! The questions: one scenario a file, with its model, its arms, and the numbers that must come out.
//!
//! Source of S1 to S12 and of their acceptance numbers: the project's notes on resilience, section 4(h). A number that is
//! not theirs says where it comes from. What a scenario assumes is written at its head.

mod s01_straggler_tail;
mod s02_optimum;
mod s03_slow_region;
mod s04_outage;
mod s05_pushback;
mod s06_capacity;
mod s07_floods;
mod s08_retry_after;
mod s09_restart;
mod s10_guardrail;
mod s11_ignored_cancels;
mod s12_incident;
mod s13_no_gain;
mod s14_cold_cache;
mod s15_counterfactual;
mod s16_extra_spend;
mod sampled;
mod table;
#[cfg(test)]
mod tests;

pub use self::table::Table;
use super::{
    Figures, Results,
    engine::{self, Run},
    model::{Arm, Model},
};

/// A world with its arms.
pub struct Case {
    /// Name.
    pub name: &'static str,
    /// World.
    pub model: Model,
    /// What is compared.
    pub arms: Vec<Arm>,
}

/// A question.
pub struct Scenario {
    /// Name; begins with its number.
    pub name: &'static str,
    /// In one sentence.
    pub about: &'static str,
    /// Its worlds.
    pub cases: fn() -> Vec<Case>,
    /// What runs an arm under a seed: the engine, or a smaller world of the scenario's own.
    pub run: fn(&Model, &Arm, u64) -> Run,
    /// Figures of its own, of one run.
    pub figures: fn(&Case, &Arm, &Run, &mut Figures),
    /// What must come out.
    pub accept: fn(&Results) -> Vec<Acceptance>,
    /// A table of its own, if it has one.
    pub table: Option<fn(&Results) -> Table>,
}

/// A number that must come out.
#[derive(Clone, Debug, PartialEq)]
pub struct Acceptance {
    /// What is measured, with its unit.
    pub what: String,
    /// Its limit in words.
    pub limit: String,
    /// What was measured.
    pub value: f64,
    /// Whether it is within.
    pub holds: bool,
}

impl Acceptance {
    /// `value` must be at most `limit`.
    pub fn at_most(what: impl Into<String>, value: f64, limit: f64) -> Self {
        Self { what: what.into(), limit: format!("at most {limit}"), value, holds: value <= limit }
    }

    /// `value` must be at least `limit`.
    pub fn at_least(what: impl Into<String>, value: f64, limit: f64) -> Self {
        Self { what: what.into(), limit: format!("at least {limit}"), value, holds: value >= limit }
    }

    /// `value` must lie between.
    pub fn between(what: impl Into<String>, value: f64, low: f64, high: f64) -> Self {
        let holds = (low..=high).contains(&value);
        Self { what: what.into(), limit: format!("{low} to {high}"), value, holds }
    }
}

/// All scenarios, in their order.
pub const ALL: &[Scenario] = &[
    s01_straggler_tail::SCENARIO,
    s02_optimum::SCENARIO,
    s03_slow_region::SCENARIO,
    s04_outage::SCENARIO,
    s05_pushback::SCENARIO,
    s06_capacity::SCENARIO,
    s07_floods::SCENARIO,
    s08_retry_after::SCENARIO,
    s09_restart::SCENARIO,
    s10_guardrail::SCENARIO,
    s11_ignored_cancels::SCENARIO,
    s12_incident::SCENARIO,
    s13_no_gain::SCENARIO,
    s14_cold_cache::SCENARIO,
    s15_counterfactual::SCENARIO,
    s16_extra_spend::SCENARIO,
];

/// The scenarios that a name or its beginning means; all for `all`.
pub fn find(name: &str) -> Vec<&'static Scenario> {
    ALL.iter().filter(|scenario| name == "all" || scenario.name.starts_with(name)).collect()
}

/// The engine.
fn simulate(model: &Model, arm: &Arm, seed: u64) -> Run {
    engine::run(model, arm, seed)
}
