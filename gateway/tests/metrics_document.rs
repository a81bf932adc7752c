//! `docs/metrics.md` says what the gateway shows.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails where it stands")]

use std::{fs, path::Path};

#[test]
fn the_document_is_what_the_catalog_generates() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/metrics.md");
    let expected = hedgerow_gateway::telemetry::catalog::markdown();
    let found = fs::read_to_string(&path).unwrap_or_default();
    if found != expected {
        let fresh = Path::new(env!("CARGO_TARGET_TMPDIR")).join("metrics.md");
        fs::write(&fresh, &expected).unwrap();
        panic!("docs/metrics.md is out of date: cp {} {}", fresh.display(), path.display());
    }
}
