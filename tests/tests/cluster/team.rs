//! A namespace of a team for one scenario, with a scripted provider in it, and the words in which scenarios look at it.

use std::{process::Command, time::Duration};

use serde_json::Value;
use tokio::time;

use crate::api::{Api, kubectl, root};

/// Longest wait for something that takes seconds on an idle machine.
pub(crate) const SOON: Duration = Duration::from_secs(90);
/// Pause between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// A namespace, deleted when it is dropped.
pub(crate) struct Team {
    pub(crate) namespace: String,
    pub(crate) api: Api,
}

impl Team {
    /// A new namespace for a scenario.
    pub(crate) fn new(scenario: &str) -> Self {
        let api = Api::of_the_cluster();
        let namespace = format!("{scenario}-{}", std::process::id());
        kubectl(&["create", "namespace", &namespace]);
        Self { namespace, api }
    }

    /// `kubectl` in the namespace.
    pub(crate) fn kubectl(&self, arguments: &[&str]) -> String {
        kubectl(&[&["--namespace", &self.namespace], arguments].concat())
    }

    /// Applies YAML documents.
    pub(crate) fn apply(&self, yaml: &str) {
        use std::io::Write as _;
        let mut file = tempfile::NamedTempFile::with_suffix(".yaml").unwrap();
        file.write_all(yaml.as_bytes()).unwrap();
        self.kubectl(&["apply", "--server-side", "--filename", file.path().to_str().unwrap()]);
    }

    /// Starts a scripted provider, which routes reach as `http://provider.NAMESPACE.svc.cluster.local:8000`.
    pub(crate) fn provider(&self) {
        self.provider_with(&[]);
    }

    /// The same with further arguments.
    pub(crate) fn provider_with(&self, more: &[&str]) {
        let arguments = [&["provider", "--listen=0.0.0.0:8000"], more].concat();
        self.apply(&PROVIDER.replace("ARGUMENTS", &serde_json::to_string(&arguments).unwrap()));
        self.kubectl(&["rollout", "status", "deployment/provider", "--timeout=90s"]);
        // A Service leads to ready pods up to a second after they are ready.
        let address = self.kubectl(&["get", "service", "provider", "--output=jsonpath={.spec.clusterIP}"]);
        let output = Command::new(root().join("tests/cluster/exec"))
            .args(["curl", "--silent", "--show-error", "--fail", "--output", "/dev/null"])
            .args(["--retry", "60", "--retry-delay", "1", "--retry-all-errors"])
            .arg(format!("http://{address}:8000/__sim/stats"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// How the provider answers from now on.
    pub(crate) fn provider_is(&self, profile: &str) {
        let address = self.kubectl(&["get", "service", "provider", "--output=jsonpath={.spec.clusterIP}"]);
        let output = Command::new(root().join("tests/cluster/exec"))
            .args(["curl", "--silent", "--fail", "--max-time", "5", "--request", "PUT", "--data", profile])
            .arg(format!("http://{address}:8000/__sim/profile"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Traffic of one kind from inside the cluster, for five minutes or until its pod is deleted with the namespace.
    pub(crate) fn traffic(&self, kind: &str, target: &str, per_second: u32) {
        self.apply(&format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {kind}}}\nspec:\n  restartPolicy: Never\n  \
             terminationGracePeriodSeconds: 0\n  containers:\n    - name: traffic\n      image: hedgerow-sim:0.1.0\n      \
             imagePullPolicy: IfNotPresent\n      args: [traffic, --target, '{target}', --kind, {kind}, --model, model, \
             --rps, '{per_second}', --seconds, '300']\n"
        ));
    }

    /// A route to the scripted provider; `more` are further lines of its spec.
    pub(crate) fn route(&self, name: &str, more: &str) -> String {
        let auth = if more.contains("auth:") { "" } else { "  auth: {type: None}\n" };
        format!(
            "apiVersion: hedgerow.dev/v1alpha1\nkind: ProviderRoute\nmetadata: {{name: {name}}}\nspec:\n  api: OpenAI\n  \
             endpoint: http://provider.{}.svc.cluster.local:8000\n  insecureHttp: true\n  \
             failureDomain: {{provider: scripted, region: {name}}}\n  models: [{{name: model}}]\n{auth}{more}",
            self.namespace
        )
    }

    /// An object; `None` if it is not there.
    pub(crate) async fn get(&self, group: &str, resource: &str, name: &str) -> Option<Value> {
        let prefix = if group == "v1" { "/api/v1".to_owned() } else { format!("/apis/{group}") };
        self.api.get(&format!("{prefix}/namespaces/{}/{resource}/{name}", self.namespace)).await.ok()
    }

    /// An object of ours.
    pub(crate) async fn ours(&self, resource: &str, name: &str) -> Option<Value> {
        self.get("hedgerow.dev/v1alpha1", resource, name).await
    }

    /// Waits until an object of ours has a condition with that status and reason at its present generation.
    pub(crate) async fn condition(&self, resource: &str, name: &str, expected: [&str; 3]) -> Value {
        let [type_, status, reason] = expected;
        until(&format!("{resource}/{name} to have {type_}={status} ({reason})"), SOON, async || {
            let object = self.ours(resource, name).await?;
            let condition = condition(&object, type_)?;
            let now = condition["observedGeneration"] == object["metadata"]["generation"];
            (now && condition["status"] == status && condition["reason"] == reason).then(|| condition.clone())
        })
        .await
    }

    /// The first cohort of the policy `chat`, once it is in a state.
    pub(crate) async fn cohort(&self, state: &str) -> Value {
        until(&format!("the cohort to be {state}"), SOON, async || {
            let policy = self.ours("hedgepolicies", "chat").await?;
            let cohort = policy["status"]["cohorts"].as_array()?.first()?.clone();
            (cohort["state"] == state).then_some(cohort)
        })
        .await
    }

    /// What clients and streams of the fleet `default` depend on: the Deployment, the Service and its address.
    pub(crate) async fn identity(&self) -> [Value; 3] {
        let deployment = self.get("apps/v1", "deployments", "hedgerow-default").await.unwrap();
        let service = self.get("v1", "services", "hedgerow-default").await.unwrap();
        [
            deployment["metadata"]["uid"].clone(),
            service["metadata"]["uid"].clone(),
            service["spec"]["clusterIP"].clone(),
        ]
    }

    /// Names, uids and restarts of the gateway pods that are to stay.
    pub(crate) async fn pods(&self) -> Vec<(String, String, u64)> {
        let path = format!(
            "/api/v1/namespaces/{}/pods?labelSelector=app.kubernetes.io/name%3Dhedgerow-gateway",
            self.namespace
        );
        let list = self.api.get(&path).await.unwrap();
        let pods = list["items"].as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        pods.filter(|pod| pod["metadata"]["deletionTimestamp"].is_null())
            .map(|pod| {
                let restarts = pod["status"]["containerStatuses"][0]["restartCount"].as_u64().unwrap_or(0);
                (text(&pod["metadata"]["name"]), text(&pod["metadata"]["uid"]), restarts)
            })
            .collect()
    }

    /// What the gateway pods say about themselves.
    pub(crate) async fn states(&self) -> Vec<Value> {
        let mut states = Vec::new();
        for (name, ..) in self.pods().await {
            let Some(pod) = self.get("v1", "pods", &name).await else { continue };
            let address = pod["status"]["podIP"].as_str().unwrap_or_default().to_owned();
            let output = Command::new(root().join("tests/cluster/exec"))
                .args(["curl", "--silent", "--fail", "--max-time", "2"])
                .arg(format!("http://{address}:9090/state"))
                .output()
                .unwrap();
            states.extend(serde_json::from_slice(&output.stdout).ok());
        }
        states
    }

    /// Asks the fleet `default` through its Service; the answer's body where there is one.
    pub(crate) async fn ask(&self) -> Option<String> {
        self.request("model", &["--fail"]).await
    }

    /// The same for another model; the body also of an error.
    pub(crate) async fn post(&self, model: &str) -> Option<String> {
        self.request(model, &[]).await
    }

    async fn request(&self, model: &str, more: &[&str]) -> Option<String> {
        let address = self.address().await?;
        let output = Command::new(root().join("tests/cluster/exec"))
            .args(["curl", "--silent", "--max-time", "5"])
            .args(more)
            .args(["--header", "content-type: application/json", "--data"])
            .arg(format!(r#"{{"model":"{model}","messages":[{{"role":"user","content":"hello"}}]}}"#))
            .arg(format!("http://{address}/v1/chat/completions"))
            .output()
            .unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    }

    /// Where the Service of the fleet `default` listens, as an address.
    pub(crate) async fn address(&self) -> Option<String> {
        let service = self.get("v1", "services", "hedgerow-default").await?;
        Some(format!("{}:8080", service["spec"]["clusterIP"].as_str()?))
    }

    /// Waits until a request through the Service is answered.
    pub(crate) async fn answered(&self) -> String {
        until("an answer through the Service", SOON, async || self.ask().await).await
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        let _ = Command::new(root().join("tests/cluster/kubectl"))
            .args(["delete", "namespace", &self.namespace, "--wait=false"])
            .output();
    }
}

/// A condition of an object.
pub(crate) fn condition<'a>(object: &'a Value, type_: &str) -> Option<&'a Value> {
    object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == type_)
}

/// Looks until there is something, and fails the test when that takes too long.
pub(crate) async fn until<T>(what: &str, within: Duration, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let found = time::timeout(within, async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            time::sleep(LOOK).await;
        }
    });
    found.await.unwrap_or_else(|_| panic!("waited {within:?} for {what}"))
}

/// The scripted provider.
const PROVIDER: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: provider}
spec:
  selector: {matchLabels: {app: provider}}
  template:
    metadata: {labels: {app: provider}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
        - name: provider
          image: hedgerow-sim:0.1.0
          imagePullPolicy: IfNotPresent
          args: ARGUMENTS
---
apiVersion: v1
kind: Service
metadata: {name: provider}
spec: {selector: {app: provider}, ports: [{port: 8000}]}
";
