//! What the pods and the Service of a fleet look like to Kubernetes.
//!
//! Parts that Kubernetes itself defines (affinity, tolerations, topology spread) are passed on as
//! written: the API server checks them when the Deployment is applied, and its verdict is the fleet's
//! `ChildRejected`. `env` takes plain values only: a reference would let the author of a fleet mount
//! any Secret.

use std::{borrow::Cow, collections::BTreeMap};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::rule;
use crate::{
    text::{AnnotationValue, EnvName, EnvValue, LabelValue, ObjectName, Quantity},
    units::Percent,
};

/// Who decides the number of pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum AutoscalingMode {
    /// `replicas`.
    #[default]
    None,
    /// A HorizontalPodAutoscaler on CPU.
    #[serde(rename = "CPU")]
    Cpu,
    /// Something outside; `replicas` is not rendered.
    External,
}

/// Who decides the number of pods.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = autoscaling_rules)]
pub struct Autoscaling {
    /// None (replicas), CPU (a HorizontalPodAutoscaler) or External (replicas is not rendered).
    /// Default: None.
    pub mode: AutoscalingMode,
    /// Fewest pods with mode CPU. Default: 2.
    #[schemars(range(min = 1, max = 1000))]
    pub min: i32,
    /// Most pods with mode CPU. Default: 10.
    #[schemars(range(min = 1, max = 1000))]
    pub max: i32,
    /// CPU use to aim for with mode CPU, in percent of the request. Default: 70.
    #[schemars(range(min = 1, max = 1000))]
    pub target_percent: Percent,
}

impl Default for Autoscaling {
    fn default() -> Self {
        Self { mode: AutoscalingMode::None, min: 2, max: 10, target_percent: 70 }
    }
}

fn autoscaling_rules(schema: &mut Schema) {
    rule::attach(schema, [rule::ordered_integers("min", "max")]);
}

/// CPU and memory of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Resources {
    /// What a pod is promised. Default: cpu 250m, memory 64Mi.
    pub requests: ResourceRequests,
    /// What a pod may use. Default: memory 512Mi, CPU without limit.
    pub limits: ResourceLimits,
}

/// What a pod is promised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ResourceRequests {
    /// CPU. Default: 250m.
    pub cpu: Quantity,
    /// Memory. Default: 64Mi.
    pub memory: Quantity,
}

impl Default for ResourceRequests {
    fn default() -> Self {
        Self { cpu: "250m".into(), memory: "64Mi".into() }
    }
}

/// What a pod may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ResourceLimits {
    /// CPU. Default: no limit, because throttling would be a tail of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Quantity>,
    /// Memory; bufferedBytesPercent is a share of it. Default: 512Mi.
    pub memory: Quantity,
}

impl Default for ResourceLimits {
    fn default() -> Self {
        Self { cpu: None, memory: "512Mi".into() }
    }
}

/// A Kubernetes object that is passed on as written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Verbatim(pub Map<String, Value>);

impl JsonSchema for Verbatim {
    fn schema_name() -> Cow<'static, str> {
        "Verbatim".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
    }
}

/// What to add to the pods.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Template {
    /// Labels of the pods. Default: none beyond ours.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32))]
    pub labels: BTreeMap<String, LabelValue>,
    /// Annotations of the pods. Default: none beyond ours.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32))]
    pub annotations: BTreeMap<String, AnnotationValue>,
    /// Labels that a node must have. Default: none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32))]
    pub node_selector: BTreeMap<String, LabelValue>,
    /// Tolerations, as in a pod. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub tolerations: Vec<Verbatim>,
    /// Affinity, as in a pod. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Verbatim>,
    /// Topology spread constraints, as in a pod. Default: across nodes, where possible.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    pub topology_spread: Vec<Verbatim>,
    /// Priority class of the pods. Default: the cluster's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority_class: Option<ObjectName>,
    /// Secrets with credentials of the image registry. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8), extend("x-kubernetes-list-type" = "set"))]
    pub image_pull_secrets: Vec<ObjectName>,
    /// Environment variables with plain values. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 32),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub env: Vec<EnvVar>,
    /// Annotations of the ServiceAccount. Default: none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32))]
    pub service_account_annotations: BTreeMap<String, AnnotationValue>,
}

/// An environment variable with a plain value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnvVar {
    /// Name.
    pub name: EnvName,
    /// Value.
    pub value: EnvValue,
}

/// Type of a Service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ServiceType {
    /// Inside the cluster.
    #[default]
    #[serde(rename = "ClusterIP")]
    ClusterIp,
    /// On a port of every node.
    NodePort,
    /// Behind a load balancer of the cloud.
    LoadBalancer,
}

/// The Service hedgerow-<fleet>.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Service {
    /// ClusterIP, NodePort or LoadBalancer. Default: ClusterIP.
    #[serde(rename = "type")]
    pub type_: ServiceType,
    /// Annotations of the Service. Default: none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32))]
    pub annotations: BTreeMap<String, AnnotationValue>,
    /// Port of the Service. Default: 8080.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
}

impl Default for Service {
    fn default() -> Self {
        Self { type_: ServiceType::ClusterIp, annotations: BTreeMap::new(), port: 8080 }
    }
}
