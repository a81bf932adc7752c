//! The files of `crds/examples/demo/`, held in the binary so that the demo needs no checkout beside it, and the figures of
//! them that pictures and traffic are drawn to.

use anyhow::Context as _;
use hedgerow_crds::v1alpha1::{HedgePolicy, PriorityLane};
use serde::de::DeserializeOwned;

use super::report::Limits;

const POLICY: &str = include_str!("../../../crds/examples/demo/policy.yaml");
const GREEDY: &str = include_str!("../../../crds/examples/demo/greedy.yaml");
const BATCH: &str = include_str!("../../../crds/examples/demo/batch.yaml");

/// Name and text of every file.
pub(crate) const FILES: &[(&str, &str)] = &[
    ("region-a.yaml", include_str!("../../../crds/examples/demo/region-a.yaml")),
    ("region-b.yaml", include_str!("../../../crds/examples/demo/region-b.yaml")),
    ("policy.yaml", POLICY),
    ("greedy.yaml", GREEDY),
    ("interactive.yaml", include_str!("../../../crds/examples/demo/interactive.yaml")),
    ("batch.yaml", BATCH),
];

/// Where the guardrails of each cohort trip.
pub(crate) fn limits() -> anyhow::Result<Vec<Limits>> {
    let mut limits = Vec::new();
    for text in [POLICY, GREEDY] {
        let spec = parse::<HedgePolicy>(text)?.spec;
        limits.extend(spec.cohorts.into_iter().map(|cohort| Limits {
            cohort: cohort.name.to_string(),
            duplicates: f64::from(spec.guardrails.duplicate_rate.trip_percent),
            extra: f64::from(spec.guardrails.extra_spend.trip_percent),
        }));
    }
    Ok(limits)
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
        for (limits, text) in limits().unwrap().iter().zip([POLICY, GREEDY]) {
            for part in [
                format!("name: {}\n", limits.cohort),
                format!("tripPercent: {}\n", limits.duplicates),
                format!("tripPercent: {}\n", limits.extra),
            ] {
                assert!(text.contains(&part), "{part}");
            }
        }
        assert!(BATCH.contains(&format!("  max: {}\n", batch_slots().unwrap())));
    }
}
