//! The fixture: the cluster, brought up once per run, and its API through the socket in the run folder.
//!
//! The cluster's network is closed to the outside; the socket is not part of a network, so a test needs no privilege but
//! root to use it. What has to be inside (clients of Services) is started with `tests/cluster/exec`.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
    time::Duration,
};

use reqwest::{Client, Method};
use serde_json::Value;

/// Who the tests are in `managedFields`.
const MANAGER: &str = "hedgerow-tests";
/// Longest time for one answer: a loaded machine is slow, a hanging one shall not hang the run.
const ANSWER: Duration = Duration::from_mins(1);

/// A way to the API as the cluster's administrator.
pub(crate) struct Api {
    client: Client,
}

/// An answer that is not 2xx: the `Status` object of the API server.
#[derive(Debug)]
pub(crate) struct Refusal(pub(crate) Value);

impl Refusal {
    /// Short machine-readable word, such as `Invalid`.
    pub(crate) fn reason(&self) -> &str {
        self.0["reason"].as_str().unwrap_or_default()
    }

    /// What `kubectl` would print.
    pub(crate) fn message(&self) -> &str {
        self.0["message"].as_str().unwrap_or_default()
    }

    /// Field and message of every cause; no field where the cause is about the object as a whole.
    pub(crate) fn causes(&self) -> Vec<(&str, &str)> {
        let causes = self.0["details"]["causes"].as_array().into_iter().flatten();
        causes
            .map(|cause| {
                let text = |name: &str| cause[name].as_str().unwrap_or_default();
                (text("field").trim_start_matches("<nil>"), text("message"))
            })
            .collect()
    }
}

impl Api {
    /// The API of the cluster, which is up when this returns.
    pub(crate) fn of_the_cluster() -> Self {
        up();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .unix_socket(run_folder().join("api.sock"))
            .timeout(ANSWER)
            .no_proxy()
            .build()
            .unwrap();
        Self { client }
    }

    /// Applies an object from YAML, by server-side apply, as `kubectl apply --server-side` does; `dry` only asks.
    pub(crate) async fn apply(&self, path: &str, yaml: &str, dry: bool) -> Result<Value, Refusal> {
        let dry = if dry { "&dryRun=All" } else { "" };
        let query = format!("fieldManager={MANAGER}&fieldValidation=Strict&force=true{dry}");
        self.call(Method::PATCH, &format!("{path}?{query}"), Some(("application/apply-patch+yaml", yaml)))
            .await
    }

    /// Creates an object from YAML; `dry` only asks.
    pub(crate) async fn create(&self, path: &str, yaml: &str, dry: bool) -> Result<Value, Refusal> {
        let dry = if dry { "&dryRun=All" } else { "" };
        let query = format!("fieldManager={MANAGER}&fieldValidation=Strict{dry}");
        self.call(Method::POST, &format!("{path}?{query}"), Some(("application/yaml", yaml))).await
    }

    /// Changes what is at a path by a merge patch in JSON.
    pub(crate) async fn merge(&self, path: &str, patch: &Value) -> Result<Value, Refusal> {
        let (path, patch) = (format!("{path}?fieldManager={MANAGER}"), patch.to_string());
        self.call(Method::PATCH, &path, Some(("application/merge-patch+json", &patch))).await
    }

    /// Reads what is at a path.
    pub(crate) async fn get(&self, path: &str) -> Result<Value, Refusal> {
        self.call(Method::GET, path, None).await
    }

    /// Reads what is at a path, if the API server answers at all.
    pub(crate) async fn answer(&self, path: &str) -> Option<Value> {
        let answer = self.client.get(format!("http://localhost{path}")).send().await.ok()?;
        answer.error_for_status().ok()?.json().await.ok()
    }

    /// Deletes what is at a path; what is not there is fine.
    pub(crate) async fn delete(&self, path: &str) {
        if let Err(refusal) = self.call(Method::DELETE, path, None).await {
            assert_eq!(refusal.reason(), "NotFound", "{}", refusal.message());
        }
    }

    async fn call(&self, method: Method, path: &str, body: Option<(&str, &str)>) -> Result<Value, Refusal> {
        let mut request = self.client.request(method, format!("http://localhost{path}"));
        if let Some((kind, text)) = body {
            request = request.header("content-type", kind).body(text.to_owned());
        }
        let answer = request.send().await.unwrap();
        let good = answer.status().is_success();
        let value: Value = answer.json().await.unwrap();
        if good { Ok(value) } else { Err(Refusal(value)) }
    }
}

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Where the cluster keeps what lives as long as it does; as in `tests/cluster/environment.sh`.
pub(crate) fn run_folder() -> PathBuf {
    std::env::var_os("HEDGEROW_CLUSTER").map_or_else(|| "/tmp/hedgerow-cluster".into(), PathBuf::from)
}

/// Output of `tests/cluster/kubectl`; the test fails where it does.
pub(crate) fn kubectl(arguments: &[&str]) -> String {
    let output = Command::new(root().join("tests/cluster/kubectl")).args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "kubectl {}: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Brings the cluster up and applies our definitions, once per run.
fn up() {
    static UP: OnceLock<()> = OnceLock::new();
    UP.get_or_init(|| {
        let status = Command::new(root().join("tests/cluster/up")).status().unwrap();
        assert!(status.success(), "tests/cluster/up failed: {status}");
        let crds = root().join("crds");
        kubectl(&["apply", "--server-side", "--filename", crds.to_str().unwrap()]);
        kubectl(&[
            "wait",
            "--for=condition=Established",
            "--timeout=30s",
            "--recursive=false",
            "--filename",
            crds.to_str().unwrap(),
        ]);
    });
}
