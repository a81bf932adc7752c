//! One installation of the chart for one scenario: an operator of its own, which works in one namespace only, so that
//! scenarios neither wait for nor disturb each other.
//!
//! Images come from `images/build` and are given to the node once per run.

use std::{
    path::PathBuf,
    process::{Command, Output},
    sync::OnceLock,
};

use crate::{
    api::{kubectl, root, run_folder},
    team::{SOON, Team, until},
};

/// Images that scenarios run.
const IMAGES: [&str; 3] = ["operator", "gateway", "sim"];

/// A release, uninstalled when it is dropped.
pub(crate) struct Installation {
    /// Name of the release, and of its namespace.
    pub(crate) release: String,
}

impl Installation {
    /// Installs the operator for a team; `values` are further `--set` arguments.
    pub(crate) fn of(team: &Team, replicas: u8, values: &[&str]) -> Self {
        images();
        let installation = Self { release: format!("{}-operator", team.namespace) };
        let mut arguments = vec![
            "install".to_owned(),
            installation.release.clone(),
            root().join("charts/hedgerow").display().to_string(),
            format!("--namespace={}", installation.release),
            "--create-namespace".to_owned(),
            "--wait".to_owned(),
            "--timeout=120s".to_owned(),
        ];
        for value in [
            &format!("watchNamespaces={{{}}}", team.namespace),
            "crds.enabled=false",
            "tenancy.allowedEndpoints={*}",
            &format!("replicaCount={replicas}"),
            "fleetDefaults.drain.endpointDelay=1s",
            // Many scenarios share one small node.
            "fleetDefaults.resources.requests.cpu=10m",
            "resources.requests.cpu=10m",
        ]
        .iter()
        .copied()
        .chain(values.iter().copied())
        {
            arguments.extend(["--set".to_owned(), value.to_owned()]);
        }
        let output = helm(&arguments);
        assert!(output.status.success(), "helm install: {}", String::from_utf8_lossy(&output.stderr));
        installation
    }

    /// Installs it anew with further `--set` arguments, and waits until it works.
    pub(crate) fn upgrade(&self, values: &[&str]) {
        let chart = root().join("charts/hedgerow").display().to_string();
        let mut arguments = vec!["upgrade".to_owned(), self.release.clone(), chart];
        arguments.extend(["--reuse-values", "--wait", "--timeout=120s"].map(str::to_owned));
        arguments.push(format!("--namespace={}", self.release));
        arguments.extend(values.iter().flat_map(|value| ["--set".to_owned(), (*value).to_owned()]));
        let output = helm(&arguments);
        assert!(output.status.success(), "helm upgrade: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// `kubectl` in the namespace of the release.
    pub(crate) fn kubectl(&self, arguments: &[&str]) -> String {
        kubectl(&[&["--namespace", &self.release], arguments].concat())
    }

    /// The pod that leads, as the Lease says; empty = none.
    pub(crate) fn leader(&self) -> String {
        let path = "jsonpath={.spec.holderIdentity}";
        self.kubectl(&["get", "lease", "hedgerow-operator", "--output", path])
    }

    /// Kills the leader, and waits for the next one: its name.
    pub(crate) async fn kill_leader(&self) -> String {
        let first = self.leader();
        self.kill(&first);
        self.next_leader(&first).await
    }

    /// Kills the program in a pod before the pod is deleted: a deletion, also one without a grace period, lets it give the
    /// Lease back, and then nobody has to wait until that expires.
    pub(crate) fn kill(&self, pod: &str) {
        let path = "--output=jsonpath={.status.containerStatuses[0].containerID}";
        let container = self.kubectl(&["get", "pod", pod, path]);
        let status = Command::new("ctr")
            .arg("--address")
            .arg(run_folder().join("containerd.sock"))
            .args(["--namespace", "k8s.io", "tasks", "kill", "--signal", "SIGKILL"])
            .arg(container.trim_start_matches("containerd://"))
            .status()
            .unwrap();
        assert!(status.success(), "{pod} was not killed: {status}");
        self.kubectl(&["delete", "pod", pod, "--grace-period=0", "--force"]);
    }

    /// Waits until another pod than `first` leads: its name.
    pub(crate) async fn next_leader(&self, first: &str) -> String {
        until("another leader", SOON, async || {
            let leader = self.leader();
            (!leader.is_empty() && leader != first).then_some(leader)
        })
        .await
    }

    /// Ends all operators, or starts so many.
    pub(crate) fn scale(&self, replicas: u8) {
        let name = self.kubectl(&["get", "deployments", "--output=name"]);
        self.kubectl(&["scale", name.trim(), &format!("--replicas={replicas}")]);
        let selector = "--selector=app.kubernetes.io/name=hedgerow-operator";
        if replicas == 0 {
            self.kubectl(&["wait", "--for=delete", "pods", selector, "--timeout=60s"]);
        } else {
            self.kubectl(&["rollout", "status", name.trim(), "--timeout=60s"]);
        }
    }
}

impl Drop for Installation {
    fn drop(&mut self) {
        let namespace = format!("--namespace={}", self.release);
        let _ = helm(&["uninstall".to_owned(), self.release.clone(), namespace]);
        let _ = Command::new(root().join("tests/cluster/kubectl"))
            .args(["delete", "namespace", &self.release, "--wait=false"])
            .output();
    }
}

fn helm(arguments: &[String]) -> Output {
    Command::new(root().join("tests/cluster/helm")).args(arguments).output().unwrap()
}

/// Where images, and beside them the programs that are in them, are.
pub(crate) fn folder() -> PathBuf {
    std::env::var_os("HEDGEROW_IMAGES").map_or_else(|| root().join("target/images"), PathBuf::from)
}

/// Gives the images to the node: those in `HEDGEROW_IMAGES`, or such as `images/build` makes.
fn images() {
    static LOADED: OnceLock<()> = OnceLock::new();
    LOADED.get_or_init(|| {
        let folder = folder();
        if std::env::var_os("HEDGEROW_IMAGES").is_none() {
            let status = Command::new(root().join("images/build"))
                .args(["--profile", "release"])
                .args(IMAGES)
                .status()
                .unwrap();
            assert!(status.success(), "images/build failed: {status}");
        }
        let archives = IMAGES.map(|name| folder.join(format!("{name}.tar")));
        let status = Command::new(root().join("tests/cluster/load")).args(archives).status().unwrap();
        assert!(status.success(), "tests/cluster/load failed: {status}");
    });
}
