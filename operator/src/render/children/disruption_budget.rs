//! How many pods may leave at once: one, whatever their number. A pod that is not ready may always be evicted, else a
//! broken fleet would keep nodes from being drained.

use k8s_openapi::{
    api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec},
    apimachinery::pkg::util::intstr::IntOrString,
};

use super::{Child, ChildKind, Identity};

/// The object.
pub(super) fn child(identity: &Identity) -> Child {
    let object = PodDisruptionBudget {
        metadata: identity.metadata(ChildKind::DisruptionBudget),
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int(1)),
            selector: Some(identity.selector()),
            unhealthy_pod_eviction_policy: Some("AlwaysAllow".to_owned()),
            ..PodDisruptionBudgetSpec::default()
        }),
        ..PodDisruptionBudget::default()
    };
    Child::new(ChildKind::DisruptionBudget, identity, &object)
}
