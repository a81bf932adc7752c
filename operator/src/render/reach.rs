//! Where the pods of a fleet connect to, as far as a `NetworkPolicy` can say it.
//!
//! Input: the compiled configuration and the fleet. Output: TCP ports of hosts outside, and namespaces of Services.
//! A Service's port is not the port of its pods, and policies see the latter: so a Service gives its namespace.

use std::collections::BTreeSet;

use hedgerow_config::GatewayConfig;
use hedgerow_crds::v1alpha1::GatewayFleetSpec;

use crate::domain::upstream::Upstream;

/// Ports and namespaces that pods may connect to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// TCP ports, whatever the address.
    pub ports: BTreeSet<u16>,
    /// Namespaces whose pods serve an endpoint.
    pub namespaces: BTreeSet<String>,
}

impl Reach {
    /// Where the routes of a configuration are, the fleet's proxy and its collector of traces.
    pub fn of(config: &GatewayConfig, spec: &GatewayFleetSpec) -> Self {
        let proxy = spec.egress.as_ref().and_then(|egress| egress.https_proxy.as_deref());
        let collector = spec.traces.as_ref().map(|traces| &*traces.endpoint);
        let endpoints = config.routes.iter().map(|route| route.endpoint.as_str());
        let mut reach = Self::default();
        for upstream in endpoints.chain(proxy).chain(collector).filter_map(Upstream::parse) {
            reach.ports.insert(upstream.port);
            let namespace = upstream.service_namespace(&config.fleet.namespace);
            reach.namespaces.extend(namespace.map(str::to_owned));
        }
        reach
    }
}
