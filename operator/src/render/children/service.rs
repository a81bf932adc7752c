//! Where clients connect.
//!
//! Traffic only: metrics and `/state` are per pod and are read from the pods.

use hedgerow_crds::v1alpha1::{GatewayFleetSpec, gateway_fleet::ServiceType};
use k8s_openapi::{
    api::core::v1::{Service, ServicePort, ServiceSpec},
    apimachinery::pkg::util::intstr::IntOrString,
};

use super::{Child, ChildKind, Identity};

/// Name of the traffic port, of Service and container alike.
pub(super) const PORT_NAME: &str = "http";

/// The object.
pub(super) fn child(identity: &Identity, spec: &GatewayFleetSpec) -> Child {
    let port = ServicePort {
        name: Some(PORT_NAME.to_owned()),
        port: spec.service.port,
        target_port: Some(IntOrString::String(PORT_NAME.to_owned())),
        protocol: Some("TCP".to_owned()),
        // For meshes and ingresses, which else take the port's name for it. Without TLS clients may speak either version.
        app_protocol: spec.tls.as_ref().map(|_| "https".to_owned()),
        ..ServicePort::default()
    };
    let object = Service {
        metadata: identity.annotated(ChildKind::Service, &spec.service.annotations),
        spec: Some(ServiceSpec {
            type_: Some(type_(spec.service.type_).to_owned()),
            selector: Some(identity.selection()),
            ports: Some(vec![port]),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    };
    Child::new(ChildKind::Service, identity, &object)
}

fn type_(type_: ServiceType) -> &'static str {
    match type_ {
        ServiceType::ClusterIp => "ClusterIP",
        ServiceType::NodePort => "NodePort",
        ServiceType::LoadBalancer => "LoadBalancer",
    }
}
