//! What a tree that could be read still has wrong with it: duplicate keys and scalars that YAML 1.1 reads otherwise.

use std::collections::HashMap;

use super::node::{Content, Node, Path};
use crate::lint::finding::Problem;

/// Problems of a document, each with the path that later checks leave alone.
pub(crate) fn traps(document: &Node) -> Vec<(Path, Problem)> {
    let mut found = Vec::new();
    walk(document, &Path::default(), &mut found);
    found
}

fn walk(node: &Node, path: &Path, found: &mut Vec<(Path, Problem)>) {
    match &node.content {
        Content::Scalar(scalar) => {
            if let Some(trap) = &scalar.trap {
                found.push((path.clone(), Problem::error(node.at, "yaml/1.1", path, trap.clone())));
            }
        }
        Content::List(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(item, &path.index(index), found);
            }
        }
        Content::Map(entries) => {
            let mut first = HashMap::new();
            for entry in entries {
                let path = path.key(&entry.key);
                if let Some(trap) = &entry.trap {
                    found.push((path.clone(), Problem::error(entry.at, "yaml/1.1", &path, trap.clone())));
                }
                if let Some(line) = first.insert(entry.key.as_str(), entry.at.line) {
                    let message =
                        format!("{} is already set in line {line}: remove one of the two", entry.key);
                    found
                        .push((path.clone(), Problem::error(entry.at, "yaml/duplicate-key", &path, message)));
                }
                walk(&entry.value, &path, found);
            }
        }
    }
}
