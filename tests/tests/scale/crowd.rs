//! The objects: fifty namespaces with a fleet of twenty routes, four policies and a lane each.
//!
//! Few fleets have pods: a hundred gateways and their probes are more than two cores carry beside an API server, and the
//! operator's work with a pod is the same for each. The others ask for none, and their objects say so.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use serde_json::Value;
use tokio::{task::JoinSet, time::Instant};

use crate::{
    api::{Api, kubectl},
    team::{Team, condition, until},
};

/// Namespaces, each with one fleet.
pub(crate) const FLEETS: usize = 50;
/// Fleets that have pods, as many as a fleet has by default.
const SERVING: usize = 4;
/// Routes of a fleet.
const ROUTES: usize = 20;
/// Policies of a fleet.
const POLICIES: usize = 4;
/// Namespaces that are filled at the same time.
const AT_ONCE: usize = 8;
/// Longest wait until everything is in force.
const GATHERED: Duration = Duration::from_mins(5);

/// All of it, deleted when it is dropped.
pub(crate) struct Crowd {
    pub(crate) namespaces: Vec<String>,
    pub(crate) api: Arc<Api>,
}

impl Crowd {
    /// Creates everything.
    pub(crate) async fn gather(team: &Team) -> Self {
        let namespaces: Vec<String> = (0..FLEETS).map(|n| format!("{}-{n:02}", team.namespace)).collect();
        let crowd = Self { namespaces, api: Arc::new(Api::of_the_cluster()) };
        for some in crowd.namespaces.chunks(AT_ONCE) {
            let mut filling = JoinSet::new();
            for namespace in some {
                let serves = crowd.serving().contains(namespace);
                let (api, namespace) = (crowd.api.clone(), namespace.clone());
                filling.spawn(async move { fill(&api, &namespace, serves).await });
            }
            while let Some(filled) = filling.join_next().await {
                filled.unwrap();
            }
        }
        crowd
    }

    /// Namespaces of the fleets that have pods.
    pub(crate) fn serving(&self) -> &[String] {
        &self.namespaces[..SERVING]
    }

    /// Waits until every object is programmed at its present generation, or waits for pods that nobody asks for.
    pub(crate) async fn in_force(&self) {
        let started = Instant::now();
        for namespace in &self.namespaces {
            let expected = if self.serving().contains(namespace) { "Programmed" } else { "NoReadyPods" };
            for resource in ["prioritylanes", "hedgepolicies", "providerroutes"] {
                let path = format!("/apis/hedgerow.dev/v1alpha1/namespaces/{namespace}/{resource}");
                until(&format!("all {resource} of {namespace} to be {expected}"), GATHERED, async || {
                    let list = self.api.get(&path).await.ok()?;
                    let objects = list["items"].as_array()?;
                    objects.iter().all(|object| programmed(object, expected)).then_some(())
                })
                .await;
            }
        }
        println!(
            "{FLEETS} fleets are in force after {} s, {SERVING} of them with pods",
            started.elapsed().as_secs()
        );
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        let names: Vec<&str> = self.namespaces.iter().map(String::as_str).collect();
        kubectl(&[&["delete", "namespace", "--wait=false", "--ignore-not-found"], &names[..]].concat());
    }
}

fn programmed(object: &Value, reason: &str) -> bool {
    condition(object, "Programmed").is_some_and(|condition| {
        condition["reason"] == reason && condition["observedGeneration"] == object["metadata"]["generation"]
    })
}

async fn fill(api: &Api, namespace: &str, serves: bool) {
    let create = async |path: String, object: String| {
        api.create(&path, &object, false).await.unwrap_or_else(|refusal| panic!("{}", refusal.message()))
    };
    let space = format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {namespace}}}}}");
    create("/api/v1/namespaces".to_owned(), space).await;
    let keys = (0..ROUTES).fold(String::new(), |mut keys, n| {
        let _ = write!(keys, "key-{n}: secret-{n}, ");
        keys
    });
    let secret = format!(
        "{{apiVersion: v1, kind: Secret, metadata: {{name: hedgerow-default-keys}}, stringData: {{{keys}}}}}"
    );
    create(format!("/api/v1/namespaces/{namespace}/secrets"), secret).await;
    let ours = |resource: &str| format!("/apis/hedgerow.dev/v1alpha1/namespaces/{namespace}/{resource}");
    if !serves {
        create(ours("gatewayfleets"), WITHOUT_PODS.to_owned()).await;
    }
    for n in 0..ROUTES {
        create(ours("providerroutes"), route(n)).await;
    }
    for n in 0..POLICIES {
        create(ours("hedgepolicies"), policy(n)).await;
    }
    create(ours("prioritylanes"), LANE.to_owned()).await;
}

fn route(n: usize) -> String {
    format!(
        "apiVersion: hedgerow.dev/v1alpha1\nkind: ProviderRoute\nmetadata: {{name: route-{n}}}\nspec:\n  api: OpenAI\n  \
         endpoint: https://provider-{n}.example.com\n  auth: {{secretRef: {{key: key-{n}}}}}\n  \
         failureDomain: {{provider: provider-{}, region: region-{n}}}\n  models:\n  \
         - {{name: model-{}, pricing: {{inputMicrosPerMillion: 1000000, outputMicrosPerMillion: 4000000}}}}\n  \
         - {{name: small, pricing: {{inputMicrosPerMillion: 100000, outputMicrosPerMillion: 400000}}}}\n",
        n % 3,
        n % POLICIES,
    )
}

fn policy(n: usize) -> String {
    format!(
        "apiVersion: hedgerow.dev/v1alpha1\nkind: HedgePolicy\nmetadata: {{name: policy-{n}}}\nspec:\n  mode: Enforce\n  \
         cohorts:\n  - {{name: stream-{n}, match: {{models: [model-{n}], stream: true}}}}\n  \
         - {{name: whole-{n}, match: {{models: [model-{n}], stream: false}}}}\n"
    )
}

const LANE: &str =
    "{apiVersion: hedgerow.dev/v1alpha1, kind: PriorityLane, metadata: {name: all}, spec: {priority: 100}}";

const WITHOUT_PODS: &str =
    "{apiVersion: hedgerow.dev/v1alpha1, kind: GatewayFleet, metadata: {name: default}, spec: {replicas: 0}}";
