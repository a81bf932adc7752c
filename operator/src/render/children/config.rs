//! The `ConfigMap` with `gateway.json`: everything that users decided and every guardrail decision, in one atomic file.
//!
//! Up to [`PLAIN_UP_TO`] bytes it is readable text under `data`; above, it is gzip under `binaryData`, with the same key:
//! gateways tell the two apart by their first bytes, and the volume in the pods stays the same. A `ConfigMap` holds 1 MiB
//! (Kubernetes `MaxSecretSize`, which covers both); [`MAX_STORED`] leaves room for metadata of others.

use std::{
    collections::BTreeMap,
    io::{Read as _, Write as _},
};

use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use hedgerow_config::gateway::{FILE, MAX_BYTES};
use k8s_openapi::{ByteString, api::core::v1::ConfigMap};

use serde_json::Value;

use super::{Child, ChildKind, Identity};

/// Largest `gateway.json` in bytes that is stored as text.
pub const PLAIN_UP_TO: usize = 256 * 1024;
/// Largest stored form in bytes.
pub const MAX_STORED: usize = 900 * 1024;

/// The configuration does not fit: `ConfigTooLarge`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the compiled configuration has {plain} bytes, {stored} compressed; {} and {} are the most: \
     use fewer models or routes, or spread them over several fleets",
    MAX_BYTES,
    MAX_STORED
)]
pub struct TooLarge {
    /// Size in bytes.
    pub plain: usize,
    /// Compressed size in bytes.
    pub stored: usize,
}

/// The object.
pub(super) fn child(identity: &Identity, gateway_json: &[u8]) -> Result<Child, TooLarge> {
    let text = std::str::from_utf8(gateway_json).ok().filter(|text| text.len() <= PLAIN_UP_TO);
    let (data, binary_data) = match text {
        Some(text) => (Some(BTreeMap::from([(FILE.to_owned(), text.to_owned())])), None),
        None => (None, Some(BTreeMap::from([(FILE.to_owned(), ByteString(packed(gateway_json)?))]))),
    };
    let metadata = identity.metadata(ChildKind::Config);
    let object = ConfigMap { data, binary_data, metadata, ..ConfigMap::default() };
    Ok(Child::new(ChildKind::Config, identity, &object))
}

/// The `gateway.json` of an object that lives; `None` where it has none that can be unpacked within [`MAX_BYTES`].
pub(super) fn stored(live: &Value) -> Option<Vec<u8>> {
    if let Some(text) = live["data"][FILE].as_str() {
        return Some(text.as_bytes().to_vec());
    }
    let ByteString(packed) = serde_json::from_value(live["binaryData"][FILE].clone()).ok()?;
    let mut plain = Vec::new();
    let limit = u64::try_from(MAX_BYTES).ok()? + 1;
    GzDecoder::new(packed.as_slice()).take(limit).read_to_end(&mut plain).ok()?;
    (plain.len() <= MAX_BYTES).then_some(plain)
}

/// Compressed, without time or name in the header, so that equal input gives equal bytes.
fn packed(plain: &[u8]) -> Result<Vec<u8>, TooLarge> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let stored = encoder.write_all(plain).and_then(|()| encoder.finish()).expect("memory takes every write");
    if plain.len() > MAX_BYTES || stored.len() > MAX_STORED {
        return Err(TooLarge { plain: plain.len(), stored: stored.len() });
    }
    Ok(stored)
}
