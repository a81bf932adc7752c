//! Policies and lanes: what their matches may not say.

use super::{Invalid, repeated_headers};
use crate::domain::object::{Lane, Policy};

/// Problems of one policy.
pub fn policy(policy: &Policy) -> Vec<Invalid> {
    let cohorts = policy.spec.cohorts.iter().enumerate();
    cohorts
        .filter_map(|(index, cohort)| Some((index, cohort.match_.as_ref()?)))
        .flat_map(|(index, matches)| {
            repeated_headers(&format!("spec.cohorts[{index}].match.headers"), matches.headers.keys())
        })
        .collect()
}

/// Problems of one lane.
pub fn lane(lane: &Lane) -> Vec<Invalid> {
    lane.spec
        .match_
        .as_ref()
        .map(|matches| repeated_headers("spec.match.headers", matches.headers.keys()))
        .unwrap_or_default()
}
