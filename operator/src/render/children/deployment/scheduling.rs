//! Where the pods run.
//!
//! Affinity, tolerations and topology spread are Kubernetes' own words, which authors write and the API server judges:
//! they are passed on as they are, also fields that this program has never heard of.

use hedgerow_crds::v1alpha1::gateway_fleet::{Template, Verbatim};
use k8s_openapi::api::core::v1::TopologySpreadConstraint;
use serde_json::Value;

use super::super::Identity;

/// Across zones and nodes, where possible; pods of another template do not count, else a roll would crowd one node.
pub(super) fn default_spread(identity: &Identity) -> Vec<TopologySpreadConstraint> {
    ["topology.kubernetes.io/zone", "kubernetes.io/hostname"]
        .into_iter()
        .map(|key| TopologySpreadConstraint {
            max_skew: 1,
            topology_key: key.to_owned(),
            when_unsatisfiable: "ScheduleAnyway".to_owned(),
            label_selector: Some(identity.selector()),
            match_label_keys: Some(vec!["pod-template-hash".to_owned()]),
            ..TopologySpreadConstraint::default()
        })
        .collect()
}

/// Adds what authors wrote to a pod's spec.
pub(super) fn pass_on(pod: &mut Value, template: &Template) {
    if let Some(Verbatim(affinity)) = &template.affinity {
        pod["affinity"] = affinity.clone().into();
    }
    for (field, items) in
        [("tolerations", &template.tolerations), ("topologySpreadConstraints", &template.topology_spread)]
    {
        if !items.is_empty() {
            pod[field] = items.iter().map(|Verbatim(item)| Value::from(item.clone())).collect();
        }
    }
}
