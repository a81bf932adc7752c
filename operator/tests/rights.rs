//! Least privilege: what the operator touches, in one table, and the chart grants exactly that.
//!
//! The table is derived from the kinds and children that the code knows, so that a new child is missed here at once. That
//! every right is used and none is missing in practice is what the audit log of the cluster tests says.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

use hedgerow::render::children::{self, ChildKind};
use hedgerow_crds::{GROUP, Kind, v1alpha1::GatewayFleetSpec};
use serde::Deserialize;

/// Verbs by API group and resource.
type Rights = BTreeMap<(String, String), BTreeSet<String>>;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    api_groups: Vec<String>,
    resources: Vec<String>,
    verbs: Vec<String>,
}

fn grant(rights: &mut Rights, group: &str, resource: &str, verbs: &[&str]) {
    let granted = rights.entry((group.to_owned(), resource.to_owned())).or_default();
    granted.extend(verbs.iter().map(|&verb| verb.to_owned()));
}

/// What the operator touches in a namespace that it watches.
fn touched() -> Rights {
    let mut rights = Rights::new();
    for kind in Kind::ALL {
        // Watched, and reported on. A latch is written over what is stored, which is read as a list, too.
        grant(&mut rights, GROUP, kind.plural(), &["list", "watch"]);
        grant(&mut rights, GROUP, &format!("{}/status", kind.plural()), &["patch"]);
    }
    // A fleet that a route names and nobody wrote, while a route names it.
    grant(&mut rights, GROUP, Kind::GatewayFleet.plural(), &["create", "delete"]);
    for child in ChildKind::ALL {
        let group = child.api_version().split_once('/').map_or("", |(group, _)| group);
        // First a create, then a look at whose it is, then an apply.
        grant(&mut rights, group, child.plural(), &["get", "list", "watch", "create", "patch"]);
    }
    // What a fleet may stop having.
    for child in children::unwanted(&GatewayFleetSpec::default()) {
        let group = child.api_version().split_once('/').map_or("", |(group, _)| group);
        grant(&mut rights, group, child.plural(), &["delete"]);
    }
    // Pods are read at their own addresses; the patch is one annotation.
    grant(&mut rights, "", "pods", &["list", "watch", "patch"]);
    // A repeated event is counted by a patch.
    grant(&mut rights, "events.k8s.io", "events", &["create", "patch"]);
    rights
}

/// What a template of the chart grants: its lines without those of the template language.
fn granted(template: &str) -> Rights {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../charts/hedgerow/templates/rbac").join(template);
    let text = fs::read_to_string(&path).expect("the chart is in the tree");
    let start = text.find("- apiGroups").expect("a list of rules");
    let rules: String = text[start..]
        .lines()
        .take_while(|line| !line.contains("{{"))
        .fold(String::new(), |text, line| text + line + "\n");
    let rules: Vec<Rule> = serde_saphyr::from_str(&rules).expect("rules as Kubernetes has them");
    let mut rights = Rights::new();
    for rule in rules {
        for group in &rule.api_groups {
            for resource in &rule.resources {
                let verbs: Vec<_> = rule.verbs.iter().map(String::as_str).collect();
                grant(&mut rights, group, resource, &verbs);
            }
        }
    }
    rights
}

#[test]
fn the_chart_grants_exactly_what_the_operator_touches() {
    let (touched, granted) = (touched(), granted("_rules.tpl"));
    let lines = |rights: &Rights| -> BTreeSet<String> {
        let lines = rights.iter().flat_map(|((group, resource), verbs)| {
            verbs.iter().map(move |verb| format!("{verb} {resource}.{group}"))
        });
        lines.collect()
    };
    let (touched, granted) = (lines(&touched), lines(&granted));
    let missing: Vec<_> = touched.difference(&granted).collect();
    let spare: Vec<_> = granted.difference(&touched).collect();
    assert!(missing.is_empty() && spare.is_empty(), "missing: {missing:?}, spare: {spare:?}");
}

#[test]
fn nothing_of_it_is_about_secrets() {
    assert!(!touched().keys().any(|(_, resource)| resource.starts_with("secrets")));
}
