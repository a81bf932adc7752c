//! Who may connect to the pods, and where the pods may connect to.
//!
//! In: traffic from whom `clientAuth` admits, the admin port from inside the cluster (the operator reads `/state`,
//! Prometheus reads metrics; it serves nothing secret). Out: names, and the ports of the endpoints anywhere but at the
//! metadata addresses of the clouds. A policy cannot name hosts; which hosts routes may use is `tenancy`'s matter.

use std::collections::BTreeMap;

use hedgerow_crds::v1alpha1::{
    GatewayFleetSpec,
    gateway_fleet::{ClientAuth, ClientAuthType},
};
use k8s_openapi::{
    api::networking::v1::{
        IPBlock, NetworkPolicy, NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicyPeer,
        NetworkPolicyPort, NetworkPolicySpec,
    },
    apimachinery::pkg::{
        apis::meta::v1::{LabelSelector, LabelSelectorRequirement},
        util::intstr::IntOrString,
    },
};

use super::{super::Reach, ADMIN_PORT, Child, ChildKind, Identity, TRAFFIC_PORT};

/// Label that Kubernetes puts on every namespace.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";
/// IPv4 metadata services: AWS, GCP, Azure and others (link-local), Azure's wire server, Alibaba, Oracle.
const METADATA_V4: [&str; 4] = ["169.254.0.0/16", "168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32"];
/// IPv6 metadata services: link-local, AWS.
const METADATA_V6: [&str; 2] = ["fe80::/10", "fd00:ec2::/32"];
/// Every namespace, in `allowFrom`.
const ALL: &str = "*";

/// The object.
pub(super) fn child(identity: &Identity, spec: &GatewayFleetSpec, reach: &Reach) -> Child {
    let object = NetworkPolicy {
        metadata: identity.metadata(ChildKind::NetworkPolicy),
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(identity.selector()),
            policy_types: Some(vec!["Ingress".to_owned(), "Egress".to_owned()]),
            ingress: Some(vec![traffic(&spec.client_auth), admin()]),
            egress: Some(egress(reach)),
        }),
    };
    Child::new(ChildKind::NetworkPolicy, identity, &object)
}

fn traffic(auth: &ClientAuth) -> NetworkPolicyIngressRule {
    let all = auth.allow_from.iter().any(|namespace| *namespace == ALL);
    let from = match auth.type_ {
        // Also from outside the cluster: keys decide, not addresses.
        ClientAuthType::ApiKeys if all || auth.allow_from.is_empty() => None,
        ClientAuthType::None if all => Some(vec![every_namespace()]),
        _ => {
            let own = NetworkPolicyPeer {
                pod_selector: Some(LabelSelector::default()),
                ..NetworkPolicyPeer::default()
            };
            let named = (!auth.allow_from.is_empty())
                .then(|| namespaces(auth.allow_from.iter().map(ToString::to_string).collect()));
            Some([own].into_iter().chain(named).collect())
        }
    };
    NetworkPolicyIngressRule { from, ports: Some(vec![port("TCP", TRAFFIC_PORT)]) }
}

fn admin() -> NetworkPolicyIngressRule {
    NetworkPolicyIngressRule {
        from: Some(vec![every_namespace()]),
        ports: Some(vec![port("TCP", ADMIN_PORT)]),
    }
}

fn egress(reach: &Reach) -> Vec<NetworkPolicyEgressRule> {
    // To anywhere: the resolver of a node may have a link-local address.
    let names = NetworkPolicyEgressRule { to: None, ports: Some(vec![port("UDP", 53), port("TCP", 53)]) };
    // A rule without ports would admit all of them.
    let outside = (!reach.ports.is_empty()).then(|| NetworkPolicyEgressRule {
        to: Some(vec![block("0.0.0.0/0", &METADATA_V4), block("::/0", &METADATA_V6)]),
        ports: Some(reach.ports.iter().map(|number| port("TCP", *number)).collect()),
    });
    let inside = (!reach.namespaces.is_empty()).then(|| NetworkPolicyEgressRule {
        to: Some(vec![namespaces(reach.namespaces.iter().cloned().collect())]),
        ports: None,
    });
    [names].into_iter().chain(outside).chain(inside).collect()
}

fn port(protocol: &str, number: u16) -> NetworkPolicyPort {
    NetworkPolicyPort {
        protocol: Some(protocol.to_owned()),
        port: Some(IntOrString::Int(i32::from(number))),
        ..NetworkPolicyPort::default()
    }
}

fn block(cidr: &str, except: &[&str]) -> NetworkPolicyPeer {
    let except = Some(except.iter().map(|&network| network.to_owned()).collect());
    NetworkPolicyPeer {
        ip_block: Some(IPBlock { cidr: cidr.to_owned(), except }),
        ..NetworkPolicyPeer::default()
    }
}

fn every_namespace() -> NetworkPolicyPeer {
    NetworkPolicyPeer { namespace_selector: Some(LabelSelector::default()), ..NetworkPolicyPeer::default() }
}

fn namespaces(mut names: Vec<String>) -> NetworkPolicyPeer {
    names.sort();
    let selector = match names.as_slice() {
        [one] => LabelSelector {
            match_labels: Some(BTreeMap::from([(NAMESPACE_NAME.to_owned(), one.clone())])),
            ..LabelSelector::default()
        },
        _ => LabelSelector {
            match_expressions: Some(vec![LabelSelectorRequirement {
                key: NAMESPACE_NAME.to_owned(),
                operator: "In".to_owned(),
                values: Some(names),
            }]),
            ..LabelSelector::default()
        },
    };
    NetworkPolicyPeer { namespace_selector: Some(selector), ..NetworkPolicyPeer::default() }
}
