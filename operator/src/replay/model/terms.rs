//! A policy's spec as the rules of `hedgerow_policy`: units change, nothing else.

use std::time::Duration;

use hedgerow_config::cohort::Mode;
use hedgerow_crds::{
    units::DurationText,
    v1alpha1::hedge_policy::{self, DelayStrategy, HedgePolicySpec},
};
use hedgerow_policy::{budget, delay, retry};
use serde_json::{Value, json};

/// A policy in `Enforce` with every default of the resource but `changes`; one cohort, and no ramp, because scenarios
/// begin when the ramp is long over.
///
/// # Panics
/// If `changes` does not fit the resource: scenarios are part of the program and every one is run by a test.
#[expect(clippy::panic, reason = "a scenario that does not fit the resource is a bug of the scenario")]
pub fn policy(changes: &Value) -> HedgePolicySpec {
    let mut spec = json!({
        "mode": "Enforce",
        "cohorts": [{ "name": "chat" }, { "name": "second" }],
        "ramp": { "startPercent": 100 },
    });
    merge(&mut spec, changes);
    serde_json::from_value(spec).unwrap_or_else(|error| panic!("the scenario's policy: {error}"))
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

/// Rules of one arm.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Mode.
    pub mode: Mode,
    /// Delay of streams.
    pub delay: delay::Rule,
    /// Budget, for one replica.
    pub budget: budget::Rule,
    /// Most attempts of a user action.
    pub max_attempts: u8,
    /// Back-off of retries.
    pub retry: retry::Rule,
    /// Seconds to the first token at most.
    pub deadline: Duration,
    /// Hedge although the prompt is cached.
    pub hedge_warm_cache: bool,
    /// First share of a ramp.
    pub start_percent: u32,
    /// Losers read to the end, percent.
    pub audit_percent: u16,
}

impl Terms {
    /// Of a spec. Fields that a route or cohort may override are those of the policy.
    pub fn of(spec: &HedgePolicySpec) -> Self {
        Self {
            mode: match spec.mode {
                hedge_policy::Mode::Disabled => Mode::Disabled,
                hedge_policy::Mode::Observe => Mode::Observe,
                hedge_policy::Mode::Enforce => Mode::Enforce,
            },
            delay: delay_rule(spec, true),
            budget: budget::Rule {
                ratio_percent: narrow(spec.budget.ratio_percent),
                cap: u32::try_from(spec.budget.cap).unwrap_or(0),
                retry_reserve_per_second: narrow(spec.budget.retry_reserve_per_second),
                replicas: 1,
            },
            max_attempts: narrow(spec.retry.max_attempts),
            retry: retry::Rule { base: span(&spec.retry.backoff_base), max: span(&spec.retry.backoff_max) },
            deadline: span(&spec.deadline.stream),
            hedge_warm_cache: spec
                .cohorts
                .first()
                .and_then(|cohort| cohort.hedge_warm_cache)
                .unwrap_or(false),
            start_percent: narrow(spec.ramp.start_percent),
            audit_percent: 2,
        }
    }
}

/// The delay rule of streams or of complete answers.
pub fn delay_rule(spec: &HedgePolicySpec, streaming: bool) -> delay::Rule {
    let strategy = match (spec.delay.strategy, &spec.delay.fixed) {
        (DelayStrategy::Fixed, Some(fixed)) => delay::Strategy::Fixed(span(fixed)),
        (DelayStrategy::Optimal, _) => delay::Strategy::Optimal,
        _ => delay::Strategy::Quantile,
    };
    delay::Rule {
        strategy,
        quantile_percent: narrow(spec.delay.quantile_percent),
        min: span(&spec.delay.min),
        max: span(&spec.delay.max),
        cold_start: span(&spec.delay.cold_start),
        streaming,
        duplicate_target_percent: narrow(spec.duplicate_target_percent),
        holdout_percent: narrow(spec.holdout_percent),
    }
}

fn span(text: &DurationText) -> Duration {
    text.parse().unwrap_or_default()
}

fn narrow<T: TryFrom<i32> + Default>(value: i32) -> T {
    T::try_from(value.max(0)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_of_the_resource_are_those_of_the_mechanisms() {
        let terms = Terms::of(&policy(&json!({})));
        assert_eq!(terms.delay, delay::Rule::default());
        assert_eq!(terms.budget, budget::Rule::default());
        assert_eq!(terms.retry, retry::Rule::default());
        assert_eq!((terms.mode, terms.max_attempts), (Mode::Enforce, 2));
    }
}
