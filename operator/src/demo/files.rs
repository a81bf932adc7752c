//! The files of `crds/examples/demo/`, held in the binary so that the demo needs no checkout beside it, and the figures of
//! them that pictures and traffic are drawn to.

use anyhow::Context as _;
use hedgerow_crds::v1alpha1::{HedgePolicy, PriorityLane};
use serde::de::DeserializeOwned;

use super::report::Limits;

const POLICY: &str = include_str!("../../../crds/examples/demo/policy.yaml");
const BATCH: &str = include_str!("../../../crds/examples/demo/batch.yaml");

/// Name and text of every file.
pub(crate) const FILES: &[(&str, &str)] = &[
    ("region-a.yaml", include_str!("../../../crds/examples/demo/region-a.yaml")),
    ("region-b.yaml", include_str!("../../../crds/examples/demo/region-b.yaml")),
    ("policy.yaml", POLICY),
    ("interactive.yaml", include_str!("../../../crds/examples/demo/interactive.yaml")),
    ("batch.yaml", BATCH),
];

/// Where the policy's guardrails trip, in percent.
pub(crate) fn limits() -> anyhow::Result<Limits> {
    let rails = parse::<HedgePolicy>(POLICY)?.spec.guardrails;
    Ok(Limits {
        duplicates: f64::from(rails.duplicate_rate.trip_percent),
        extra: f64::from(rails.extra_spend.trip_percent),
    })
}

/// Most requests of the batch lane that one gateway serves at a time.
pub(crate) fn batch_slots() -> anyhow::Result<f64> {
    Ok(parse::<PriorityLane>(BATCH)?.spec.concurrency.max as f64)
}

fn parse<K: DeserializeOwned>(text: &str) -> anyhow::Result<K> {
    serde_saphyr::from_str(text).context("a file of the demo cannot be read")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_those_of_the_files() {
        let limits = limits().unwrap();
        assert!(POLICY.contains(&format!("tripPercent: {}\n", limits.duplicates)));
        assert!(POLICY.contains(&format!("tripPercent: {}\n", limits.extra)));
        assert!(BATCH.contains(&format!("  max: {}\n", batch_slots().unwrap())));
    }
}
