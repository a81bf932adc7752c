//! `docs/traces.md` lists every attribute of spans. The text above the marker is written by hand; the table below it is made
//! from `src/trace/attribute.rs`. `UPDATE_GOLDEN=1` rewrites it.
#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod document;

use hedgerow_config::metric::OTEL_SEMCONV_VERSION;
use hedgerow_gateway::trace::attribute;

const MARKER: &str = "<!-- From here on made from gateway/src/trace/attribute.rs. -->\n";

#[test]
fn the_document_lists_every_attribute_of_spans() {
    let made = format!("\n{}", attribute::markdown());
    let by_hand = document::is_current("traces.md", MARKER, &made, "traces_document");
    assert!(by_hand.contains(&format!("version {OTEL_SEMCONV_VERSION},")), "the version that the code has");
}
