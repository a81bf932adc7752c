//! The fixture: a cluster in which nothing of Hedgerow is left, and the commands that people use on it.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::{
        Mutex, MutexGuard, Once, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

/// Namespace of the release.
pub(crate) const SYSTEM: &str = "hedgerow-system";
/// Namespace of a team.
pub(crate) const TEAM: &str = "team-a";
/// Values for a small and quick cluster.
const SMALL: &str = "charts/hedgerow/ci/single.values.yaml";

static ALONE: Mutex<()> = Mutex::new(());

/// Whether the chart is there as [`Stand::installed`] leaves it.
static INSTALLED: AtomicBool = AtomicBool::new(false);
static TEAMS: AtomicUsize = AtomicUsize::new(0);

/// The cluster, for one scenario alone.
pub(crate) struct Stand {
    /// Namespace of a team, with nothing in it.
    pub(crate) team: String,
    _alone: MutexGuard<'static, ()>,
}

#[allow(
    clippy::unused_self,
    reason = "whoever holds a Stand has the cluster alone, and nobody else may use it"
)]
impl Stand {
    /// A cluster that is up, has our images and holds nothing of ours.
    pub(crate) fn bare() -> Self {
        let stand = Self::up(TEAM.to_owned());
        INSTALLED.store(false, Ordering::Relaxed);
        stand.clear();
        stand
    }

    /// The same with the chart installed under the name `hedgerow`, small, and a team's namespace of its own. What the
    /// scenario before has installed is taken over.
    pub(crate) fn installed() -> Self {
        let stand = Self::up(format!("team-{}", TEAMS.fetch_add(1, Ordering::Relaxed)));
        if !INSTALLED.load(Ordering::Relaxed) {
            stand.clear();
            stand.install("hedgerow", SMALL, &[]);
            INSTALLED.store(true, Ordering::Relaxed);
        }
        stand.create_team(&stand.team);
        stand
    }

    fn up(team: String) -> Self {
        static UP: Once = Once::new();
        // A scenario that failed has not made the cluster worse than `clear` can mend.
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        UP.call_once(|| {
            text(&run("tests/cluster/up", &[], None));
            let made = std::env::var_os("HEDGEROW_IMAGES");
            let images = made.map_or_else(|| root().join("target/images"), PathBuf::from);
            let archive = |name: &str| images.join(name).to_str().unwrap().to_owned();
            let archives = ["operator.tar", "gateway.tar", "sim.tar"].map(archive);
            text(&run("tests/cluster/load", &archives.each_ref().map(String::as_str), None));
        });
        Self { team, _alone: alone }
    }

    /// A namespace that `clear` finds again.
    pub(crate) fn create_team(&self, name: &str) {
        self.write(&format!(
            "apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}, labels: {{scenario: release}}}}\n"
        ));
    }

    /// Installs the chart and waits until it works.
    pub(crate) fn install(&self, release: &str, values: &str, more: &[&str]) {
        let mut arguments =
            vec!["install", release, "charts/hedgerow", "--namespace", SYSTEM, "--create-namespace"];
        arguments.extend(["--values", values, "--wait", "--timeout", "120s"]);
        arguments.extend(more);
        self.helm(&arguments);
    }

    /// `kubectl`; the scenario fails where it does.
    pub(crate) fn kubectl(&self, arguments: &[&str]) -> String {
        text(&run("tests/cluster/kubectl", arguments, None))
    }

    /// `kubectl`; what it printed, or why it failed.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Result<String, String> {
        verdict(&run("tests/cluster/kubectl", arguments, None))
    }

    /// `helm`; the scenario fails where it does.
    pub(crate) fn helm(&self, arguments: &[&str]) -> String {
        text(&run("tests/cluster/helm", arguments, None))
    }

    /// `kubectl` as somebody else: what it printed, or why it was refused.
    pub(crate) fn attempt(&self, who: &str, arguments: &[&str]) -> Result<String, String> {
        let mut all = vec!["--as", who];
        all.extend(arguments);
        verdict(&run("tests/cluster/kubectl", &all, None))
    }

    /// Applies YAML as somebody else, server-side, in the team's namespace.
    pub(crate) fn apply(&self, who: &str, yaml: &str) -> Result<String, String> {
        let arguments = [
            "--as",
            who,
            "--namespace",
            &self.team,
            "apply",
            "--server-side",
            "--force-conflicts",
            "--field-manager=scenario",
            "--filename",
            "-",
        ];
        verdict(&run("tests/cluster/kubectl", &arguments, Some(yaml)))
    }

    /// Applies YAML as the administrator, in the team's namespace.
    pub(crate) fn write(&self, yaml: &str) {
        self.write_in(&self.team, yaml);
    }

    /// Applies YAML as the administrator.
    pub(crate) fn write_in(&self, namespace: &str, yaml: &str) {
        let arguments = ["--namespace", namespace, "apply", "--server-side", "--filename", "-"];
        text(&run("tests/cluster/kubectl", &arguments, Some(yaml)));
    }

    /// A shell in the cluster's network, with `kubectl` and `helm` on its path.
    pub(crate) fn shell(&self, script: &str) -> String {
        let tools = tempfile::tempdir().unwrap();
        for tool in ["kubectl", "helm"] {
            let (real, path) = (root().join("tests/cluster").join(tool), tools.path().join(tool));
            fs::write(&path, format!("#!/bin/sh\nexec {} \"$@\"\n", real.display())).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let script = format!("export PATH={}:$PATH; {script}", tools.path().display());
        text(&run("tests/cluster/exec", &["bash", "-euo", "pipefail", "-c", &script], None))
    }

    /// Takes away what an earlier scenario left: releases, CRDs with all their objects, roles, namespaces.
    fn clear(&self) {
        for release in self.helm(&["list", "--all-namespaces", "--short"]).lines() {
            self.helm(&["uninstall", release, "--namespace", SYSTEM, "--wait", "--timeout", "60s"]);
        }
        let ours = self.kubectl(&["get", "customresourcedefinitions", "--output=name"]);
        let ours: Vec<&str> = ours
            .lines()
            .filter(|name| name.ends_with(".hedgerow.dev") || name.ends_with(".monitoring.coreos.com"))
            .collect();
        if !ours.is_empty() {
            self.kubectl(&[&["delete", "--timeout=60s"], &ours[..]].concat());
        }
        let wait = ["--ignore-not-found", "--timeout=120s"];
        let made = self.kubectl(&["get", "namespaces", "--selector=scenario=release", "--output=name"]);
        let made = made.lines().filter_map(|name| name.strip_prefix("namespace/"));
        for namespace in made.chain([SYSTEM, TEAM]) {
            // A namespace that still has pods is looked at again only after half of their grace, minutes for a gateway;
            // deleted by themselves they are gone in seconds.
            let pods = ["delete", "deployments,pods", "--all", "--namespace", namespace];
            self.kubectl(&[&pods, &wait[..]].concat());
            self.kubectl(&[&["delete", "namespace", namespace], &wait[..]].concat());
        }
        self.kubectl(&[&["delete", "clusterrolebinding", "hedgerow-foreign"], &wait[..]].concat());
    }
}

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// What a program of the repository printed; the scenario fails where it does.
pub(crate) fn printed(program: &str, arguments: &[&str]) -> String {
    text(&run(program, arguments, None))
}

fn run(program: &str, arguments: &[&str], input: Option<&str>) -> Output {
    let mut command = Command::new(root().join(program));
    command
        .args(arguments)
        .current_dir(root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.unwrap_or_default().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    if !output.status.success() {
        eprintln!("{program} {}", arguments.join(" "));
    }
    output
}

fn verdict(output: &Output) -> Result<String, String> {
    let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(words(&output.stdout)) } else { Err(words(&output.stderr)) }
}

fn text(output: &Output) -> String {
    verdict(output).unwrap_or_else(|refusal| panic!("{refusal}"))
}

/// A Role in the team's namespace and who has it. Rules as YAML flow mappings.
pub(crate) fn role(who: &str, rules: &[&str]) -> String {
    let rules = format!("  - {}\n", rules.join("\n  - "));
    format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {{name: {who}}}\nrules:\n{rules}---\n\
         apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {{name: {who}}}\n\
         roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: {who}}}\n\
         subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: {who}}}]\n"
    )
}
