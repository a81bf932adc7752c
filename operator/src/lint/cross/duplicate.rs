//! One object written twice.

use std::collections::BTreeMap;

use super::super::{Document, Finding};

/// The documents that count, and a finding for each that repeats an earlier one.
pub(super) fn split<'a>(all: &[&'a Document]) -> (Vec<&'a Document>, Vec<Finding>) {
    let (mut first, mut kept, mut findings) = (BTreeMap::new(), Vec::new(), Vec::new());
    for document in all.iter().copied() {
        let resource = &document.resource;
        match first.get(&(resource.kind(), resource.namespace(), resource.name())) {
            None => {
                first.insert((resource.kind(), resource.namespace(), resource.name()), document);
                kept.push(document);
            }
            Some(earlier) => {
                let message = format!(
                    "{} {} is written already in {}:{}: remove or rename one of the two",
                    resource.kind(),
                    resource.name(),
                    earlier.file(),
                    earlier.line()
                );
                findings.push(document.finding("cross/duplicate-object", "metadata.name", message));
            }
        }
    }
    (kept, findings)
}
