//! The one order in which policies and lanes are asked.
//!
//! Higher priority first, then by name, never by age: the same files give the same order in every cluster, and
//! re-creating an object does not change who wins.

use super::object::{Lane, Policy};

/// Policies in matching order.
pub fn policies(policies: &[Policy]) -> Vec<&Policy> {
    let mut sorted: Vec<_> = policies.iter().collect();
    sorted.sort_by(|a, b| b.spec.priority.cmp(&a.spec.priority).then_with(|| a.name.cmp(&b.name)));
    sorted
}

/// Lanes in matching order.
pub fn lanes(lanes: &[Lane]) -> Vec<&Lane> {
    let mut sorted: Vec<_> = lanes.iter().collect();
    sorted.sort_by(|a, b| b.spec.priority.cmp(&a.spec.priority).then_with(|| a.name.cmp(&b.name)));
    sorted
}
