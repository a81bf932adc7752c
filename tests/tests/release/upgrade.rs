//! `helm upgrade` brings CRDs forward, an older chart leaves them as they are, and no object is lost on the way.

use std::{fs, path::Path};

use crate::stand::{SYSTEM, Stand, TEAM, root};

const LANE: &str =
    "apiVersion: hedgerow.dev/v1alpha1\nkind: PriorityLane\nmetadata: {name: kept}\nspec: {priority: 7}\n";

/// A copy of the chart as an older version would be: PriorityLane has another short name.
fn older(folder: &Path) {
    let copied =
        std::process::Command::new("cp").arg("-r").arg(root().join("charts/hedgerow")).arg(folder).status();
    assert!(copied.unwrap().success());
    let edit = |file: &str, from: &str, to: &str| {
        let path = folder.join("hedgerow").join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file} has no {from}");
        fs::write(path, text.replace(from, to)).unwrap();
    };
    edit("Chart.yaml", "\nversion: 0.1.0", "\nversion: 0.0.9");
    edit("templates/crds/prioritylanes.hedgerow.dev.yaml", "    - pl\n", "    - oldlane\n");
}

fn short_name(stand: &Stand) -> String {
    let path = "--output=jsonpath={.spec.names.shortNames[0]}";
    stand.kubectl(&["get", "customresourcedefinition", "prioritylanes.hedgerow.dev", path])
}

#[test]
fn an_upgrade_brings_crds_forward_and_an_older_chart_leaves_them() {
    let stand = Stand::bare();
    let folder = tempfile::tempdir().unwrap();
    older(folder.path());
    let old = folder.path().join("hedgerow");
    let old = old.to_str().unwrap();
    let small = "charts/hedgerow/ci/single.values.yaml";
    let common = ["--namespace", SYSTEM, "--values", small, "--wait", "--timeout", "120s"];
    stand.helm(&[&["install", "hedgerow", old, "--create-namespace"], &common[..]].concat());
    assert_eq!(short_name(&stand), "oldlane");
    stand.create_team(TEAM);
    stand.write(LANE);
    let uid = |stand: &Stand| {
        stand.kubectl(&["-n", TEAM, "get", "prioritylane", "kept", "--output=jsonpath={.metadata.uid}"])
    };
    let before = uid(&stand);

    stand.helm(&[&["upgrade", "hedgerow", "charts/hedgerow"], &common[..]].concat());
    assert_eq!(short_name(&stand), "pl");
    assert_eq!(uid(&stand), before, "the same object");
    stand.helm(&["test", "hedgerow", "--namespace", SYSTEM, "--timeout", "120s"]);

    // Going back: the older chart without its CRDs.
    stand.helm(&[&["upgrade", "hedgerow", old, "--set=crds.enabled=false"], &common[..]].concat());
    assert_eq!(short_name(&stand), "pl", "definitions only roll forward");
    assert_eq!(uid(&stand), before);
    stand.helm(&["test", "hedgerow", "--namespace", SYSTEM, "--timeout", "120s"]);
}
