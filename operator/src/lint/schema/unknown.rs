//! Unknown fields: the API server would drop them silently or, when asked strictly, refuse them.

use serde_json::Value;

use super::{Fault, keeps_unknown, member_schema};
use crate::lint::yaml::Path;

/// Members of every Kubernetes object.
const ROOT: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];

/// Finds unknown fields of a document, the contents of metadata and status aside.
pub(super) fn check(schema: &Value, document: &Value, faults: &mut Vec<Fault>) {
    for name in document.as_object().into_iter().flat_map(|members| members.keys()) {
        if !ROOT.contains(&name.as_str()) {
            faults.push(fault(Path::default().key(name), name, ROOT.into_iter()));
        }
    }
    if let (Some(of_spec), Some(spec)) = (member_schema(schema, "spec"), document.get("spec")) {
        walk(of_spec, spec, &Path::default().key("spec"), faults);
    }
}

fn walk(schema: &Value, value: &Value, path: &Path, faults: &mut Vec<Fault>) {
    match value {
        Value::Object(members) if !keeps_unknown(schema) => {
            for (name, member) in members {
                let path = path.key(name);
                match member_schema(schema, name) {
                    Some(of_member) => walk(of_member, member, &path, faults),
                    // A member of something that should not be an object at all is a type error, found elsewhere.
                    None if schema.get("type").is_some_and(|kind| kind != "object") => {}
                    None => {
                        let known = schema.get("properties").and_then(Value::as_object);
                        faults.push(fault(
                            path,
                            name,
                            known.into_iter().flat_map(|all| all.keys().map(String::as_str)),
                        ));
                    }
                }
            }
        }
        Value::Array(items) => {
            if let Some(of_items) = schema.get("items") {
                for (index, item) in items.iter().enumerate() {
                    walk(of_items, item, &path.index(index), faults);
                }
            }
        }
        _ => {}
    }
}

pub(super) fn fault<'a>(path: Path, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Fault {
    let message = if let Some(near) = nearest(name, known.clone()) {
        format!("unknown field {name}: did you mean {near}?")
    } else {
        let mut all: Vec<_> = known.collect();
        all.sort_unstable();
        format!("unknown field {name}; known here: {}", all.join(", "))
    };
    Fault { path, rule: "unknown-field", message }
}

/// The known word that a misspelt one probably means: at most a third of its letters differ.
pub(crate) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    known
        .map(|candidate| (distance(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().max(lower.len()).max(3) / 3)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Edits from one word to the other: insertions, deletions, replacements (Levenshtein), over at most 64 letters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
