//! Policies and lanes: what their matches may not say.

use hedgerow_config::lane::DEFAULT as BUILT_IN;

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
    let Some(matches) = &lane.spec.match_ else { return Vec::new() };
    let mut found = repeated_headers("spec.match.headers", matches.headers.keys());
    if lane.name == BUILT_IN {
        let message = "the lane named default takes what no other lane takes: remove its match or rename it";
        found.push(Invalid::new("spec.match", message));
    }
    found
}
