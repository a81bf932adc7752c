//! Defaults that depend on another field: Secret names, quota groups, the source of tenants.

use crate::{
    default_secret_name,
    text::{HeaderName, ObjectName},
    v1alpha1::{
        DataRef, GatewayFleetSpec, ProviderRouteSpec,
        gateway_fleet::{ClientAuthType, TenantSource},
    },
};

/// The Secret key that a route authenticates with; `None` where it needs none.
pub fn secret(route: &ProviderRouteSpec) -> Option<DataRef> {
    let reference = route.auth.secret_ref.as_ref()?;
    let name = reference.name.clone().unwrap_or_else(|| ObjectName(default_secret_name(&route.gateway)));
    Some(DataRef { name, key: reference.key.clone() })
}

/// The group of routes that share provider limits. A route without one is alone in a group that no word
/// can name, since words have no slash.
pub fn quota_group(route_name: &str, route: &ProviderRouteSpec) -> String {
    match &route.quota_group {
        Some(group) => group.0.clone(),
        None => format!("route/{route_name}"),
    }
}

/// Where the tenant of a request comes from, with the header's name where it is one.
pub fn tenant_source(fleet: &GatewayFleetSpec) -> (TenantSource, Option<&HeaderName>) {
    match (&fleet.tenant_from, fleet.client_auth.type_) {
        (Some(from), _) => (from.type_, from.header.as_ref()),
        (None, ClientAuthType::ApiKeys) => (TenantSource::ApiKey, None),
        (None, ClientAuthType::None) => (TenantSource::None, None),
    }
}
