//! The pods.
//!
//! The template holds what can only change with a restart: image, ports, resources, scheduling, and which Secrets are
//! mounted. What is in them, and everything in `gateway.json`, pods take up while they run. The annotation
//! [`ANNOTATION_BOOTSTRAP`] is a hash of the template, so that anybody can tell whether two pods were started alike.
//!
//! Pods roll one by one and never below the number asked for; a leaving pod has the fleet's drain time and
//! [`DRAIN_MARGIN`] on top.

mod container;
mod scheduling;
mod volumes;

use std::{collections::BTreeMap, time::Duration};

use hedgerow_config::digest::digest;
use hedgerow_crds::{
    ANNOTATION_DIGEST,
    v1alpha1::{
        GatewayFleetSpec,
        gateway_fleet::{AutoscalingMode, Drain},
    },
};
use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment},
        core::v1::{LocalObjectReference, PodSecurityContext, PodSpec, PodTemplateSpec, SeccompProfile},
    },
    apimachinery::pkg::{apis::meta::v1::ObjectMeta, util::intstr::IntOrString},
};
use serde_json::Value;

use super::{Child, ChildKind, Identity, Plan, identity::non_empty};

/// Annotation of the pod template: SHA-256 over the rest of it, first 16 hex digits.
pub const ANNOTATION_BOOTSTRAP: &str = "hedgerow.dev/bootstrap";
/// What a gateway may take after its drain time: 2 s to cut what is left, 10 s until its figures are read, and 3 s to be
/// sure.
const DRAIN_MARGIN: Duration = Duration::from_secs(15);
/// Old templates to keep for people who ask what changed; the operator never goes back to one.
const REVISIONS: i32 = 3;
/// User and group of the process: nobody in particular, as in distroless images.
const USER: i64 = 65_532;

/// The object.
pub(super) fn child(plan: &Plan<'_>) -> Child {
    let Plan { identity, spec, .. } = *plan;
    let object = Deployment {
        metadata: identity.metadata(ChildKind::Deployment),
        spec: Some(DeploymentSpec {
            replicas: (spec.autoscaling.mode == AutoscalingMode::None).then_some(spec.replicas),
            revision_history_limit: Some(REVISIONS),
            selector: identity.selector(),
            strategy: Some(strategy()),
            template: template(plan),
            ..DeploymentSpec::default()
        }),
        ..Deployment::default()
    };
    let mut object = serde_json::to_value(object).expect("Kubernetes types have string keys only");
    let template = &mut object["spec"]["template"];
    scheduling::pass_on(&mut template["spec"], &spec.template);
    let hash = digest(template.to_string().as_bytes())[..16].to_owned();
    template["metadata"]["annotations"][ANNOTATION_BOOTSTRAP] = hash.into();
    Child::from_value(ChildKind::Deployment, identity, object)
}

/// The hash of the pod template of a Deployment, ours or one that was read; `None` where there is none.
pub fn bootstrap(deployment: &Value) -> Option<&str> {
    deployment["spec"]["template"]["metadata"]["annotations"][ANNOTATION_BOOTSTRAP].as_str()
}

/// A new pod serves before an old one leaves.
fn strategy() -> DeploymentStrategy {
    DeploymentStrategy {
        type_: Some("RollingUpdate".to_owned()),
        rolling_update: Some(RollingUpdateDeployment {
            max_unavailable: Some(IntOrString::Int(0)),
            max_surge: Some(IntOrString::Int(1)),
        }),
    }
}

fn template(plan: &Plan<'_>) -> PodTemplateSpec {
    PodTemplateSpec { metadata: Some(metadata(plan.identity, plan.spec)), spec: Some(pod(plan)) }
}

/// Labels and annotations of authors below ours: theirs can add, not replace.
fn metadata(identity: &Identity, spec: &GatewayFleetSpec) -> ObjectMeta {
    let mut labels: BTreeMap<_, _> = strings(&spec.template.labels);
    labels.extend(identity.labels());
    let mut annotations = strings(&spec.template.annotations);
    // The operator sets this one on running pods; in the template it would only start a roll.
    annotations.remove(ANNOTATION_DIGEST);
    annotations.remove(ANNOTATION_BOOTSTRAP);
    ObjectMeta { labels: Some(labels), annotations: non_empty(annotations), ..ObjectMeta::default() }
}

fn pod(plan: &Plan<'_>) -> PodSpec {
    let Plan { identity, spec, mounts, .. } = *plan;
    let template = &spec.template;
    let pull = template.image_pull_secrets.iter();
    let pull: Vec<_> = pull.map(|name| LocalObjectReference { name: name.to_string() }).collect();
    PodSpec {
        service_account_name: Some(identity.name(ChildKind::ServiceAccount)),
        automount_service_account_token: Some(false),
        // No variables for every Service of the namespace: they say nothing to a gateway.
        enable_service_links: Some(false),
        security_context: Some(security()),
        termination_grace_period_seconds: Some(grace_seconds(&spec.drain)),
        node_selector: non_empty(strings(&template.node_selector)),
        priority_class_name: template.priority_class.as_ref().map(ToString::to_string),
        image_pull_secrets: (!pull.is_empty()).then_some(pull),
        topology_spread_constraints: template
            .topology_spread
            .is_empty()
            .then(|| scheduling::default_spread(identity)),
        containers: vec![container::gateway(plan)],
        volumes: Some(volumes::volumes(identity, mounts)),
        ..PodSpec::default()
    }
}

fn security() -> PodSecurityContext {
    PodSecurityContext {
        run_as_non_root: Some(true),
        run_as_user: Some(USER),
        run_as_group: Some(USER),
        seccomp_profile: Some(SeccompProfile {
            type_: "RuntimeDefault".to_owned(),
            ..SeccompProfile::default()
        }),
        ..PodSecurityContext::default()
    }
}

/// Whole seconds, rounded up.
fn grace_seconds(drain: &Drain) -> i64 {
    let times = [drain.endpoint_delay.parse(), drain.timeout.parse()];
    let total = times.into_iter().flatten().sum::<Duration>() + DRAIN_MARGIN;
    i64::try_from(total.as_millis().div_ceil(1000)).unwrap_or(i64::MAX)
}

fn strings<V: ToString>(map: &BTreeMap<String, V>) -> BTreeMap<String, String> {
    map.iter().map(|(key, value)| (key.clone(), value.to_string())).collect()
}
