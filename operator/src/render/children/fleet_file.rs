//! The `ConfigMap` with `fleet.json`: what the fleet measured. Outside the digest; gateways reload it and never need it.

use std::collections::BTreeMap;

use hedgerow_config::fleet_file::FILE;
use k8s_openapi::api::core::v1::ConfigMap;

use super::{Child, ChildKind, Identity};

/// The object. Bytes that are not UTF-8 are replaced: `fleet.json` is JSON.
pub(super) fn child(identity: &Identity, fleet_json: &[u8]) -> Child {
    let text = String::from_utf8_lossy(fleet_json).into_owned();
    let object = ConfigMap {
        data: Some(BTreeMap::from([(FILE.to_owned(), text)])),
        metadata: identity.metadata(ChildKind::FleetFile),
        ..ConfigMap::default()
    };
    Child::new(ChildKind::FleetFile, identity, &object)
}
