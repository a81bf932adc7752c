//! `docs/traces.md` lists every attribute of spans. The text above the marker is written by hand; the table below it is made
//! from `src/trace/attribute.rs`. `UPDATE_GOLDEN=1` rewrites it.
#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use std::{fs, path::Path};

use hedgerow_config::metric::OTEL_SEMCONV_VERSION;

const MARKER: &str = "<!-- From here on made from gateway/src/trace/attribute.rs. -->\n";

#[test]
fn the_document_lists_every_attribute_of_spans() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/traces.md");
    let found = fs::read_to_string(&path).unwrap();
    let (by_hand, _) = found.split_once(MARKER).unwrap();
    assert!(by_hand.contains(&format!("version {OTEL_SEMCONV_VERSION},")), "the version that the code has");
    let expected = format!("{by_hand}{MARKER}\n{}", hedgerow_gateway::trace::attribute::markdown());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap();
    assert!(
        found == expected,
        "docs/traces.md is stale: run UPDATE_GOLDEN=1 cargo test -p hedgerow-gateway --test traces_document"
    );
}
