//! What the chart grants its operator, from the Roles and `ClusterRoles` that helm renders.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Command,
};

use hedgerow_tests::audit::right;
use serde_json::Value;

/// Name and namespace of the rendered release.
const RELEASE: &str = "hedgerow";

/// Every right, in the words of [`right`].
pub(crate) fn rights() -> BTreeSet<String> {
    let objects = rendered();
    let bound: Vec<(&str, &str)> = objects.iter().filter_map(bound_to_the_operator).collect();
    let roles = objects.iter().filter(|object| {
        let role = (text(&object["kind"]), text(&object["metadata"]["name"]));
        bound.contains(&role)
    });
    let mut rights = BTreeSet::new();
    for rule in roles.flat_map(|role| list(&role["rules"])) {
        for group in list(&rule["apiGroups"]) {
            for resource in list(&rule["resources"]) {
                rights.extend(
                    list(&rule["verbs"]).iter().map(|verb| right(text(verb), text(group), text(resource))),
                );
            }
        }
    }
    assert!(rights.len() > 20, "the operator's Roles were not found: {bound:?}");
    rights
}

/// Kind and name of the role that a binding gives to the operator.
fn bound_to_the_operator(object: &Value) -> Option<(&str, &str)> {
    let ours = list(&object["subjects"]).iter().any(|subject| subject["name"] == RELEASE);
    let role = &object["roleRef"];
    ours.then(|| (text(&role["kind"]), text(&role["name"])))
}

fn rendered() -> Vec<Value> {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned();
    let output = Command::new(root.join("tests/cluster/helm"))
        .args(["template", RELEASE, "charts/hedgerow", "--namespace", RELEASE])
        .current_dir(&root)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let yaml = String::from_utf8(output.stdout).unwrap();
    yaml.split("\n---\n")
        .filter(|document| document.contains("kind:"))
        .map(|document| {
            serde_saphyr::from_str(document).unwrap_or_else(|error| panic!("{error}\n{document}"))
        })
        .collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
