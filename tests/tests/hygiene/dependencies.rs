//! Arrows between crates point one way, and the pure parts stay pure.

use std::{collections::BTreeSet, process::Command};

use cargo_metadata::MetadataCommand;

use crate::tree;

/// The only edges between own crates. `tests` may use every crate.
const EDGES: &[(&str, &[&str])] = &[
    ("hedgerow-config", &[]),
    ("hedgerow-policy", &[]),
    ("hedgerow-crds", &[]),
    ("hedgerow-sim", &[]),
    ("hedgerow-gateway", &["hedgerow-config", "hedgerow-policy"]),
    ("hedgerow-bench", &["hedgerow-gateway", "hedgerow-policy"]),
    (
        "hedgerow",
        &["hedgerow-config", "hedgerow-crds", "hedgerow-gateway", "hedgerow-policy", "hedgerow-sim"],
    ),
];

/// Crates that a crate may not even reach through others.
const UNREACHABLE: &[(&str, &[&str])] = &[
    ("hedgerow-config", &["tokio", "kube", "kube-client", "hyper"]),
    ("hedgerow-policy", &["tokio", "kube", "kube-client", "hyper", "serde_json"]),
    ("hedgerow-crds", &["tokio", "kube-client", "hyper", "reqwest"]),
    ("hedgerow-gateway", &["kube", "kube-core", "kube-client", "k8s-openapi", "reqwest"]),
];

/// Words that may not appear below these folders.
const PURE: &[(&str, &[&str])] = &[
    (
        "operator/src/domain/",
        &["tokio", "reqwest", "kube::Client", "std::env", "std::fs", "Instant::now", "SystemTime"],
    ),
    (
        "operator/src/fleet/",
        &["tokio", "reqwest", "kube::Client", "std::env", "std::fs", "Instant::now", "SystemTime"],
    ),
    (
        "operator/src/render/",
        &["tokio", "reqwest", "kube::Client", "std::env", "std::fs", "Instant::now", "SystemTime"],
    ),
    (
        "operator/src/status/",
        &["tokio", "reqwest", "kube::Client", "std::env", "std::fs", "Instant::now", "SystemTime"],
    ),
    (
        "gateway/policy/src/",
        &["std::time::Instant", "SystemTime", "std::env", "std::fs", "std::net", "async fn"],
    ),
    ("gateway/src/wire/", &["tokio", "Instant::now", "SystemTime::now", "std::env", "std::fs"]),
];

#[test]
fn own_crates_depend_on_each_other_in_one_direction_only() {
    let metadata =
        MetadataCommand::new().manifest_path(tree::root().join("Cargo.toml")).no_deps().exec().unwrap();
    let own: BTreeSet<String> = metadata.packages.iter().map(|package| package.name.to_string()).collect();
    for package in metadata.packages.iter().filter(|package| package.name.as_str() != "hedgerow-tests") {
        let allowed = EDGES.iter().find(|(name, _)| *name == package.name.as_str());
        let (_, allowed) = allowed.unwrap_or_else(|| panic!("{} has no row in EDGES", package.name));
        for dependency in package.dependencies.iter().filter(|dependency| own.contains(&dependency.name)) {
            assert!(
                allowed.contains(&dependency.name.as_str()),
                "{} may not depend on {}",
                package.name,
                dependency.name
            );
        }
    }
}

/// Everything that is linked into a crate when it is built by itself. In the whole workspace the operator's features would
/// count too, and with them everything that a Kubernetes client needs.
fn linked(package: &str) -> BTreeSet<String> {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--edges", "normal", "--prefix", "none", "--package", package])
        .current_dir(tree::root())
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let lines = String::from_utf8(tree.stdout).unwrap();
    lines.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn pure_crates_reach_no_runtime_and_the_gateway_no_kubernetes() {
    for (start, forbidden) in UNREACHABLE {
        let reached = linked(start);
        assert!(reached.contains(*start), "{start} is not in the workspace");
        for name in *forbidden {
            assert!(!reached.contains(*name), "{start} reaches {name}");
        }
    }
}

#[test]
fn pure_folders_mention_no_runtime_clock_or_environment() {
    for (folder, words) in PURE {
        let files: Vec<_> =
            tree::files(&[".rs"]).into_iter().filter(|path| path.starts_with(folder)).collect();
        assert!(!files.is_empty(), "{folder} is empty: the check would prove nothing");
        for path in files {
            let text = tree::text(&path);
            let code: String = text
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"))
                .collect::<Vec<_>>()
                .join("\n");
            for word in *words {
                assert!(!code.contains(word), "{path} mentions {word}");
            }
        }
    }
}

#[test]
fn only_their_owners_use_the_gateway_and_the_scripted_providers() {
    for path in tree::files(&[".rs"]).into_iter().filter(|path| path.starts_with("operator/")) {
        let text = tree::text(&path);
        let starts_gateways =
            path.starts_with("operator/src/standalone/") || path == "operator/src/cli/mod.rs";
        assert!(starts_gateways || !text.contains("hedgerow_gateway"), "{path} uses the gateway crate");
        let plays = path.starts_with("operator/src/demo/") || path.starts_with("operator/tests/");
        assert!(plays || !text.contains("hedgerow_sim"), "{path} uses the scripted providers");
    }
}
