//! The `ConfigMap` with what the operator remembers of a fleet. No pod mounts it; a new leader reads it.

use std::collections::BTreeMap;

use k8s_openapi::{ByteString, api::core::v1::ConfigMap};

use super::{Child, ChildKind, Identity};

/// Key of the one entry.
pub const FILE: &str = "history";

/// The object.
pub(super) fn child(identity: &Identity, bytes: &[u8]) -> Child {
    let object = ConfigMap {
        binary_data: Some(BTreeMap::from([(FILE.to_owned(), ByteString(bytes.to_vec()))])),
        metadata: identity.metadata(ChildKind::History),
        ..ConfigMap::default()
    };
    Child::new(ChildKind::History, identity, &object)
}
