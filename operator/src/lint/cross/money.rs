//! Prices that are missing, budgets and objectives that cannot be met.

use hedgerow_crds::{
    Kind, effective,
    v1alpha1::hedge_policy::{DelayStrategy, Mode},
};

use super::{super::Finding, Fleet};
use crate::domain::Policy;

/// Findings of a fleet.
pub(super) fn check(fleet: &Fleet<'_>) -> Vec<Finding> {
    let mut findings = unpriced(fleet);
    for policy in &fleet.snapshot.policies {
        findings.extend(budget(fleet, policy));
        findings.extend(objectives(fleet, policy));
    }
    findings
}

/// Models without a price that some cohort may hedge.
fn unpriced(fleet: &Fleet<'_>) -> Vec<Finding> {
    let policies = &fleet.snapshot.policies;
    let hedged = |model: &str| {
        policies.iter().any(|policy| {
            policy.spec.cohorts.iter().any(|cohort| {
                let models = cohort.match_.iter().flat_map(|matches| &matches.models);
                let mut named = models.map(|named| &**named).peekable();
                effective::cohort(&policy.spec, cohort).mode != Mode::Disabled
                    && (named.peek().is_none() || named.any(|named| named == "*" || named == model))
            })
        })
    };
    let mut findings = Vec::new();
    for route in &fleet.snapshot.routes {
        for (index, model) in effective::models(&route.spec).iter().enumerate() {
            if model.pricing.is_none() && hedged(&model.name) {
                let message = format!(
                    "{} is unpriced, so extra spend is compared in tokens and action.maxSpendMicros admits no further attempt \
                     here: set pricing.inputMicrosPerMillion and outputMicrosPerMillion",
                    model.name
                );
                let path = format!("spec.models[{index}].pricing");
                findings.extend(fleet.warning(
                    Kind::ProviderRoute,
                    &route.name,
                    "cross/unpriced",
                    &path,
                    message,
                ));
            }
        }
    }
    findings
}

/// A budget that never lets the duplicate target be reached.
fn budget(fleet: &Fleet<'_>, policy: &Policy) -> Option<Finding> {
    let (ratio, target) = (policy.spec.budget.ratio_percent, policy.spec.duplicate_target_percent);
    if ratio >= target {
        return None;
    }
    let message = format!(
        "the budget ({ratio} % of originals, retries included) ends before duplicateTargetPercent ({target}) is reached: \
         raise ratioPercent to more than {target} or lower the target"
    );
    fleet.warning(
        Kind::HedgePolicy,
        &policy.name,
        "cross/budget-below-target",
        "spec.budget.ratioPercent",
        message,
    )
}

/// Objectives that are over before the first hedge may start.
fn objectives(fleet: &Fleet<'_>, policy: &Policy) -> Vec<Finding> {
    let delay = &policy.spec.delay;
    let (field, earliest) = match (delay.strategy, &delay.fixed) {
        (DelayStrategy::Fixed, Some(fixed)) => ("fixed", fixed),
        _ => ("min", &delay.min),
    };
    let late = policy.spec.cohorts.iter().enumerate().filter_map(|(index, cohort)| {
        let objective = cohort.objective.as_ref()?;
        (objective.first_token.parse()? <= earliest.parse()?).then_some((index, objective))
    });
    late.filter_map(|(index, objective)| {
        let message = format!(
            "hedges start after delay.{field} ({earliest}) at the earliest, which cannot help an objective of {}: lower \
             delay.{field} or relax the objective",
            objective.first_token
        );
        let path = format!("spec.cohorts[{index}].objective.firstToken");
        fleet.warning(Kind::HedgePolicy, &policy.name, "cross/objective-before-hedge", &path, message)
    })
    .collect()
}
