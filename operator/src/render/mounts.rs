//! Which Secrets and ConfigMaps the pods of a fleet mount.
//!
//! Input: a snapshot. Output: names. Every object that any route of the fleet or the fleet itself refers to is mounted as
//! a whole, whether it exists or not and whether the route is valid or not: so a key that comes later, or a mistake in
//! another field, restarts no pod. What the installation does not allow is not mounted.

use std::collections::BTreeSet;

use hedgerow_crds::{default_secret_name, effective};

use crate::domain::Snapshot;

/// Names of objects in the fleet's namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mounts {
    /// Secrets.
    pub secrets: BTreeSet<String>,
    /// `ConfigMap`s with certificate authorities.
    pub config_maps: BTreeSet<String>,
}

impl Mounts {
    /// What the pods of a fleet mount.
    pub fn of(snapshot: &Snapshot) -> Self {
        let spec = snapshot.spec();
        let mut mounts = Self::default();
        let fleet = [&spec.client_auth.secret_name, &spec.tls.as_ref().map(|tls| tls.secret_name.clone())];
        let named = fleet.into_iter().flatten().chain(&spec.secrets).map(ToString::to_string);
        let mut secrets: BTreeSet<_> = named.chain([default_secret_name(&snapshot.fleet)]).collect();
        let egress = spec.egress.as_ref().and_then(|egress| egress.ca_config_map.as_ref());
        mounts.config_maps.extend(egress.map(ToString::to_string));
        for route in &snapshot.routes {
            secrets.extend(effective::secret(&route.spec).map(|reference| reference.name.to_string()));
            let tls = route.spec.tls.as_ref();
            secrets.extend(tls.and_then(|tls| tls.ca_secret_ref.as_ref()).map(|ca| ca.name.to_string()));
            let maps = tls.and_then(|tls| tls.ca_config_map_ref.as_ref());
            mounts.config_maps.extend(maps.map(|ca| ca.name.to_string()));
        }
        secrets.retain(|name| snapshot.tenancy.allows_secret(name));
        Self { secrets, ..mounts }
    }
}
