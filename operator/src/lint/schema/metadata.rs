//! Names, labels and annotations: what the API server checks on every object.

use serde_json::{Map, Value};

use super::{Fault, unknown};
use crate::lint::yaml::Path;

/// Fields of `ObjectMeta` (Kubernetes 1.33).
const KNOWN: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Longest name: a DNS subdomain (RFC 1123).
const MAX_NAME: usize = 253;
/// Longest namespace: a DNS label.
const MAX_NAMESPACE: usize = 63;

/// Problems of `metadata`.
pub(super) fn check(document: &Value) -> Vec<Fault> {
    let path = Path::default().key("metadata");
    let Some(Value::Object(metadata)) = document.get("metadata") else {
        return vec![Fault {
            path,
            rule: "required",
            message: "metadata with a name is required".to_owned(),
        }];
    };
    let mut faults = Vec::new();
    for name in metadata.keys().filter(|name| !KNOWN.contains(&name.as_str())) {
        faults.push(unknown::fault(path.key(name), name, KNOWN.into_iter()));
    }
    match metadata.get("name") {
        Some(Value::String(name)) if is_name(name, MAX_NAME, true) => {}
        Some(Value::String(name)) => faults.push(Fault {
            path: path.key("name"),
            rule: "pattern",
            message: format!(
                "{name:?} is not a name: use lower-case letters, digits, - and ., with a letter or digit at both ends, \
                 at most {MAX_NAME}"
            ),
        }),
        Some(_) => faults.push(type_fault(path.key("name"))),
        None => faults.push(Fault {
            path: path.key("name"),
            rule: "required",
            message: "a name is required".to_owned(),
        }),
    }
    match metadata.get("namespace") {
        None | Some(Value::Null) => {}
        Some(Value::String(name)) if is_name(name, MAX_NAMESPACE, false) => {}
        Some(_) => faults.push(Fault {
            path: path.key("namespace"),
            rule: "pattern",
            message: "a namespace has lower-case letters, digits and -, at most 63".to_owned(),
        }),
    }
    for map in ["labels", "annotations"] {
        texts(metadata, map, &path, &mut faults);
    }
    faults
}

/// Values of labels and annotations are text; a number or boolean must be quoted.
fn texts(metadata: &Map<String, Value>, map: &str, path: &Path, faults: &mut Vec<Fault>) {
    let path = path.key(map);
    match metadata.get(map) {
        None | Some(Value::Null) => {}
        Some(Value::Object(entries)) => {
            faults.extend(
                entries
                    .iter()
                    .filter(|(_, value)| !value.is_string())
                    .map(|(name, _)| type_fault(path.key(name))),
            );
        }
        Some(_) => {
            faults.push(Fault { path, rule: "type", message: "must be a mapping of texts".to_owned() });
        }
    }
}

fn type_fault(path: Path) -> Fault {
    Fault { path, rule: "type", message: "must be text: put it in quotes".to_owned() }
}

/// DNS label, or with dots a subdomain.
fn is_name(name: &str, max: usize, dots: bool) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= max && if dots { name.split('.').all(label) } else { label(name) }
}
