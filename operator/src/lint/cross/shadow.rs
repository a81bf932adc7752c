//! Lanes and cohorts that match nothing, because something earlier in the order takes it all.

use std::collections::BTreeMap;

use hedgerow_crds::{
    Kind,
    v1alpha1::{hedge_policy::CohortMatch, priority_lane::LaneMatch},
};

use super::{super::Finding, Fleet};
use crate::domain::order;

/// Findings of a fleet.
pub(super) fn check(fleet: &Fleet<'_>) -> Vec<Finding> {
    let mut findings = lanes(fleet);
    findings.extend(cohorts(fleet));
    findings
}

/// Lanes are tried by priority; the fallback lane takes only what the others leave.
fn lanes(fleet: &Fleet<'_>) -> Vec<Finding> {
    let order: Vec<_> = order::lanes(&fleet.snapshot.lanes)
        .into_iter()
        .filter_map(|lane| Some((lane, lane.spec.match_.as_ref()?)))
        .collect();
    let hidden = order.iter().enumerate().filter_map(|(at, (lane, matches))| {
        let (first, _) = order[..at].iter().find(|(_, earlier)| lane_covers(earlier, matches))?;
        Some((lane, first))
    });
    hidden
        .filter_map(|(lane, first)| {
            let message = format!(
                "matches nothing: every request that it names is taken by lane {} first: lower the priority of {} or narrow \
                 one of the two",
                first.name, first.name
            );
            fleet.warning(Kind::PriorityLane, &lane.name, "cross/shadowed", "spec.match", message)
        })
        .collect()
}

/// Cohorts are tried in the order of policies, then as written; one without a match takes everything.
fn cohorts(fleet: &Fleet<'_>) -> Vec<Finding> {
    let everything = CohortMatch::default();
    let mut order = Vec::new();
    for policy in order::policies(&fleet.snapshot.policies) {
        for (index, cohort) in policy.spec.cohorts.iter().enumerate() {
            order.push((policy, index, cohort, cohort.match_.as_ref().unwrap_or(&everything)));
        }
    }
    let mut findings = Vec::new();
    for (at, (policy, index, cohort, matches)) in order.iter().enumerate() {
        // The same name twice is a conflict, which has its own finding.
        let first = order[..at]
            .iter()
            .find(|(_, _, earlier, taken)| earlier.name != cohort.name && cohort_covers(taken, matches));
        if let Some((winner, _, earlier, _)) = first {
            let message = format!(
                "cohort {} matches nothing: every request that it names is taken by cohort {} of policy {} first: move it \
                 up or narrow the other",
                cohort.name, earlier.name, winner.name
            );
            let path = format!("spec.cohorts[{index}].name");
            findings.extend(fleet.warning(Kind::HedgePolicy, &policy.name, "cross/shadowed", &path, message));
        }
    }
    findings
}

fn lane_covers(earlier: &LaneMatch, later: &LaneMatch) -> bool {
    list_covers(&earlier.tenants, &later.tenants)
        && models_cover(&earlier.models, &later.models)
        && list_covers(&earlier.operations, &later.operations)
        && headers_cover(&earlier.headers, &later.headers)
}

fn cohort_covers(earlier: &CohortMatch, later: &CohortMatch) -> bool {
    list_covers(&earlier.tenants, &later.tenants)
        && models_cover(&earlier.models, &later.models)
        && list_covers(&earlier.operations, &later.operations)
        && headers_cover(&earlier.headers, &later.headers)
        && option_covers(earlier.stream, later.stream)
        && option_covers(earlier.tools, later.tools)
        && bound_covers(earlier.input_tokens_below, later.input_tokens_below)
        && bound_covers(earlier.max_output_tokens_below, later.max_output_tokens_below)
}

/// An empty list takes everything.
fn list_covers<T: PartialEq>(earlier: &[T], later: &[T]) -> bool {
    earlier.is_empty() || (!later.is_empty() && later.iter().all(|item| earlier.contains(item)))
}

/// A list with `*` takes everything too.
fn models_cover<T: PartialEq + AsRef<str>>(earlier: &[T], later: &[T]) -> bool {
    earlier.iter().any(|model| model.as_ref() == "*") || list_covers(earlier, later)
}

fn option_covers<T: PartialEq + Copy>(earlier: Option<T>, later: Option<T>) -> bool {
    earlier.is_none() || earlier == later
}

/// Below a larger number lies more.
fn bound_covers(earlier: Option<i64>, later: Option<i64>) -> bool {
    match (earlier, later) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(earlier), Some(later)) => earlier >= later,
    }
}

/// Fewer headers take more. Names in any case.
fn headers_cover<V: PartialEq>(earlier: &BTreeMap<String, V>, later: &BTreeMap<String, V>) -> bool {
    earlier.iter().all(|(name, value)| {
        later.iter().any(|(other, needed)| other.eq_ignore_ascii_case(name) && needed == value)
    })
}
