//! Who the pods are to the API server: nobody with any right. No token is mounted; annotations serve the workload
//! identity of clouds, where authors want it.

use hedgerow_crds::v1alpha1::GatewayFleetSpec;
use k8s_openapi::api::core::v1::ServiceAccount;

use super::{Child, ChildKind, Identity};

/// The object.
pub(super) fn child(identity: &Identity, spec: &GatewayFleetSpec) -> Child {
    let object = ServiceAccount {
        automount_service_account_token: Some(false),
        metadata: identity.annotated(ChildKind::ServiceAccount, &spec.template.service_account_annotations),
        ..ServiceAccount::default()
    };
    Child::new(ChildKind::ServiceAccount, identity, &object)
}
