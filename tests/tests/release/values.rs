//! Every file of `ci/`: installed, asked by `helm test`, uninstalled without a trace.

use crate::stand::{SYSTEM, Stand, TEAM, root};

/// What a test cluster has not: a registry to pull from.
const LOCAL: [&str; 6] = [
    "--set-string=image.repository=hedgerow-operator,image.tag=,image.digest=",
    "--set-string=gatewayImage.repository=hedgerow-gateway,gatewayImage.tag=,gatewayImage.digest=",
    "--set=image.pullPolicy=Never",
    "--set=gatewayImage.pullPolicy=Never",
    "--set-json=imagePullSecrets=[]",
    "--set-json=commonLabels.scenario=\"values\"",
];

fn installs(values: &str, release: &str, prepare: impl Fn(&Stand)) {
    let stand = Stand::bare();
    for namespace in [SYSTEM, TEAM, "team-b"] {
        stand.create_team(namespace);
    }
    prepare(&stand);
    stand.install(release, &format!("charts/hedgerow/ci/{values}.values.yaml"), &LOCAL);
    let notes = stand.helm(&["get", "notes", release, "--namespace", SYSTEM]);
    assert!(
        notes.contains("1. ") && notes.contains("2. ") && notes.contains("3. "),
        "the next three commands: {notes}"
    );
    let tested = stand.helm(&["test", release, "--namespace", SYSTEM, "--timeout", "120s"]);
    assert!(tested.contains("Succeeded"), "{tested}");
    let lanes = stand.kubectl(&["get", "prioritylanes", "--all-namespaces", "--output=name"]);
    assert_eq!(lanes, "", "the check leaves nothing");
    stand.helm(&["uninstall", release, "--namespace", SYSTEM, "--wait", "--timeout", "60s"]);
    let kinds = "deployments,services,configmaps,serviceaccounts,poddisruptionbudgets,networkpolicies,roles,rolebindings";
    let wide =
        "clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings";
    for kinds in [kinds, wide] {
        let left =
            stand.kubectl(&["get", kinds, "--all-namespaces", "--selector=scenario=values", "--output=name"]);
        assert_eq!(left, "", "{values} leaves something behind");
    }
}

fn crds(stand: &Stand) -> usize {
    let names = stand.kubectl(&["get", "customresourcedefinitions", "--output=name"]);
    names.lines().filter(|name| name.ends_with(".hedgerow.dev")).count()
}

#[test]
fn defaults_install() {
    installs("defaults", "hedgerow", |_| ());
}

#[test]
fn a_release_of_another_name_installs_on_chosen_nodes_and_takes_its_crds_with_it() {
    installs("placed", "llm", |_| ());
}

#[test]
fn a_small_cluster_installs() {
    installs("single", "hedgerow", |_| ());
}

#[test]
fn digests_and_bounds_install() {
    installs("pinned", "hedgerow", |_| ());
}

#[test]
fn two_namespaces_install_without_any_role_in_the_cluster() {
    installs("namespaced", "hedgerow", |stand| {
        stand.kubectl(&["apply", "--server-side", "--filename", "crds/"]);
        stand.kubectl(&[
            "wait",
            "--for=condition=Established",
            "--timeout=30s",
            "--recursive=false",
            "--filename",
            "crds/",
        ]);
    });
}

#[test]
fn an_account_with_rights_from_elsewhere_installs() {
    installs("foreign-account", "hedgerow", |stand| {
        stand.kubectl(&["-n", SYSTEM, "create", "serviceaccount", "hedgerow-operator"]);
        stand.kubectl(&[
            "create",
            "clusterrolebinding",
            "hedgerow-foreign",
            "--clusterrole=cluster-admin",
            "--serviceaccount=hedgerow-system:hedgerow-operator",
        ]);
    });
}

#[test]
fn monitoring_objects_are_taken_by_the_definitions_of_the_prometheus_operator() {
    installs("monitored", "hedgerow", |stand| {
        let folder = prometheus_operator();
        for kind in ["servicemonitors", "podmonitors", "prometheusrules"] {
            let file = format!("{folder}/example/prometheus-operator-crd/monitoring.coreos.com_{kind}.yaml");
            stand.kubectl(&["apply", "--server-side", "--filename", &file]);
            stand.kubectl(&["wait", "--for=condition=Established", "--timeout=30s", "--filename", &file]);
        }
    });
}

#[test]
fn crds_outlive_the_release_unless_it_was_asked_to_take_them_along() {
    let stand = Stand::installed();
    stand.helm(&["uninstall", "hedgerow", "--namespace", SYSTEM, "--wait", "--timeout", "60s"]);
    assert_eq!(crds(&stand), 4);
    // The same release finds them again.
    stand.install("hedgerow", "charts/hedgerow/ci/single.values.yaml", &["--set=crds.keep=false"]);
    stand.helm(&["uninstall", "hedgerow", "--namespace", SYSTEM, "--wait", "--timeout", "60s"]);
    assert_eq!(crds(&stand), 0);
}

/// The module's folder in Go's cache.
fn prometheus_operator() -> String {
    const MODULE: &str = "github.com/prometheus-operator/prometheus-operator@v0.85.0";
    let output = std::process::Command::new("go")
        .args(["mod", "download", "-json", MODULE])
        .current_dir(root().join("tests/cluster"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    answer["Dir"].as_str().unwrap().to_owned()
}
