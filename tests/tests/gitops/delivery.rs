//! A team whose objects come from Git: the examples for Flux with the names of one scenario, and the words in which
//! scenarios commit and look at what Flux made of it.

use std::{
    fs,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use serde_json::Value;

use crate::{
    api::{kubectl, root},
    repository::Repository,
    team::{Team, condition, until},
};

/// Longest wait for Flux: it looks at the health of objects every five seconds, and machines are slow.
const SOON: Duration = Duration::from_mins(2);
/// What Flux does when somebody asks for it instead of waiting for the interval.
const REQUEST: &str = "reconcile.fluxcd.io/requestedAt";

/// The `GitRepository` and the `Kustomization` of a team; deleted when it is dropped, and what they applied with them.
pub(crate) struct Delivery<'a> {
    team: &'a Team,
    repository: Repository,
    requests: AtomicUsize,
}

impl<'a> Delivery<'a> {
    /// As in `crds/examples/gitops/flux`, with an account and rights as there.
    pub(crate) fn of(team: &'a Team) -> Self {
        Self::patient(team, "3m")
    }

    /// The same, with a limit to how long objects may take to become ready.
    pub(crate) fn patient(team: &'a Team, timeout: &str) -> Self {
        let name = &team.namespace;
        let delivery = Self { team, repository: Repository::new(name), requests: AtomicUsize::new(0) };
        let address = ("https://git.example.com/platform/llm.git", delivery.repository.url.as_str());
        let patience = ("timeout: 3m", &*format!("timeout: {timeout}"));
        let (source, own) = (("platform", name.as_str()), ("team-a", name.as_str()));
        for (file, replaced) in [
            ("account.yaml", &[own][..]),
            ("rights.yaml", &[own]),
            ("source.yaml", &[address, source]),
            ("team-a.yaml", &[source, own, patience]),
        ] {
            let path = root().join("crds/examples/gitops/flux").join(file);
            let mut text = fs::read_to_string(path).unwrap();
            for (old, new) in replaced {
                assert!(text.contains(old), "{file} no longer says {old}");
                text = text.replace(old, new);
            }
            apply(&text);
        }
        delivery
    }

    /// Commits objects (name of a file, and YAML; none takes the file away); the revision that Flux will see.
    pub(crate) fn commit(&self, why: &str, objects: &[(&str, Option<&str>)]) -> String {
        let files: Vec<_> = objects
            .iter()
            .map(|(name, yaml)| {
                (format!("teams/{}/{name}.yaml", self.team.namespace), yaml.map(str::to_owned))
            })
            .collect();
        let revision = self.repository.commit(why, &files);
        self.request("gitrepository");
        revision
    }

    /// Waits until Flux says that a revision is applied and that all its objects are ready.
    pub(crate) async fn ready(&self, revision: &str) {
        until(&format!("Flux to have applied {revision}"), SOON, async || {
            let kustomization = self.kustomization().await?;
            let ready = condition(&kustomization, "Ready")?;
            let seen = kustomization["status"]["lastAttemptedRevision"] == revision;
            let failed = seen && ready["status"] == "False" && current(&kustomization, ready);
            assert!(!failed, "Flux says of {revision}: {}", ready["message"]);
            let applied = kustomization["status"]["lastAppliedRevision"] == revision;
            (applied && ready["status"] == "True" && current(&kustomization, ready)).then_some(())
        })
        .await;
    }

    /// Waits until Flux has given up on a revision; what it says of it.
    pub(crate) async fn failed(&self, revision: &str) -> String {
        until(&format!("Flux to refuse {revision}"), SOON, async || {
            let kustomization = self.kustomization().await?;
            let ready = condition(&kustomization, "Ready")?;
            assert_ne!(
                kustomization["status"]["lastAppliedRevision"], revision,
                "applied, and all of it ready"
            );
            let seen = kustomization["status"]["lastAttemptedRevision"] == revision;
            let failed = seen && ready["status"] == "False" && current(&kustomization, ready);
            failed.then(|| ready["message"].as_str().unwrap_or_default().to_owned())
        })
        .await
    }

    /// Has Flux compare Git and cluster once more, and waits until it has, with all objects ready.
    pub(crate) async fn reconciled(&self) {
        let request = self.request("kustomization");
        until("Flux to have reconciled", SOON, async || {
            let kustomization = self.kustomization().await?;
            let ready = condition(&kustomization, "Ready")?;
            let handled = kustomization["status"]["lastHandledReconcileAt"] == request;
            (handled && ready["status"] == "True" && current(&kustomization, ready)).then_some(())
        })
        .await;
    }

    fn request(&self, resource: &str) -> String {
        let request = self.requests.fetch_add(1, Ordering::Relaxed).to_string();
        let annotation = format!("{REQUEST}={request}");
        kubectl(&[
            "--namespace=flux-system",
            "annotate",
            "--overwrite",
            resource,
            &self.team.namespace,
            &annotation,
        ]);
        request
    }

    async fn kustomization(&self) -> Option<Value> {
        let name = &self.team.namespace;
        let path =
            format!("/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations/{name}");
        self.team.api.get(&path).await.ok()
    }
}

/// Whether Flux is done: `Reconciling` is there while it works.
fn current(kustomization: &Value, ready: &Value) -> bool {
    let reconciling = condition(kustomization, "Reconciling");
    let progressing = reconciling.is_some_and(|condition| condition["reason"] == "Progressing");
    ready["observedGeneration"] == kustomization["metadata"]["generation"] && !progressing
}

/// Applies objects that name their namespace.
fn apply(yaml: &str) {
    use std::io::Write as _;
    let mut file = tempfile::NamedTempFile::with_suffix(".yaml").unwrap();
    file.write_all(yaml.as_bytes()).unwrap();
    kubectl(&["apply", "--server-side", "--filename", file.path().to_str().unwrap()]);
}

impl Drop for Delivery<'_> {
    fn drop(&mut self) {
        let name = &self.team.namespace;
        let _ = std::process::Command::new(root().join("tests/cluster/kubectl"))
            .args(["--namespace=flux-system", "delete", "--wait=false"])
            .args(["kustomization", "gitrepository", "serviceaccount"].map(|kind| format!("{kind}/{name}")))
            .output();
    }
}
