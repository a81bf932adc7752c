//! The one container of a pod.

use std::collections::BTreeMap;

use hedgerow_crds::v1alpha1::gateway_fleet::{EnvVar as Written, Resources};
use k8s_openapi::{
    api::core::v1::{
        Capabilities, Container, ContainerPort, EnvVar, EnvVarSource, HTTPGetAction, ObjectFieldSelector,
        Probe, ResourceRequirements, SecurityContext,
    },
    apimachinery::pkg::{api::resource::Quantity, util::intstr::IntOrString},
};

use super::{
    super::{ADMIN_PORT, Plan, TRAFFIC_PORT, service::PORT_NAME},
    volumes,
};

/// Name of the container.
const NAME: &str = "gateway";
/// Name of the port for health, metrics and `/state`.
const ADMIN: &str = "admin";
/// The pod's own identity, which `/state` repeats.
const POD_UID: &str = "POD_UID";

/// The container.
pub(super) fn gateway(plan: &Plan<'_>) -> Container {
    let spec = plan.spec;
    Container {
        name: NAME.to_owned(),
        image: Some(plan.image.reference(spec)),
        image_pull_policy: Some(plan.image.pull_policy.to_string()),
        args: Some(arguments()),
        env: Some(environment(&spec.template.env)),
        ports: Some(vec![port(PORT_NAME, TRAFFIC_PORT), port(ADMIN, ADMIN_PORT)]),
        resources: Some(resources(&spec.resources)),
        // Up to a minute to start; then dead after a minute of silence, and out of the Service after 6 s.
        startup_probe: Some(probe("/livez", 1, 60)),
        liveness_probe: Some(probe("/livez", 10, 6)),
        readiness_probe: Some(probe("/readyz", 2, 3)),
        security_context: Some(security()),
        volume_mounts: Some(volumes::volume_mounts(plan.mounts)),
        // The last lines of a crash are in the container's status, where the fleet's status finds them.
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        ..Container::default()
    }
}

/// The image's entry point is the gateway itself.
fn arguments() -> Vec<String> {
    [
        format!("--config={}", volumes::CONFIG_PATH),
        format!("--secrets={}", volumes::SECRETS_PATH),
        format!("--listen=0.0.0.0:{TRAFFIC_PORT}"),
        format!("--admin=0.0.0.0:{ADMIN_PORT}"),
        "--log-format=json".to_owned(),
    ]
    .into()
}

/// What authors set, and the pod's own identity, which they cannot.
fn environment(written: &[Written]) -> Vec<EnvVar> {
    let uid = EnvVar {
        name: POD_UID.to_owned(),
        value_from: Some(EnvVarSource {
            field_ref: Some(ObjectFieldSelector {
                // The API server's own default: without it every comparison would differ.
                api_version: Some("v1".to_owned()),
                field_path: "metadata.uid".to_owned(),
            }),
            ..EnvVarSource::default()
        }),
        ..EnvVar::default()
    };
    let written = written.iter().filter(|variable| variable.name != *POD_UID).map(|variable| EnvVar {
        name: variable.name.to_string(),
        value: Some(variable.value.to_string()),
        ..EnvVar::default()
    });
    [uid].into_iter().chain(written).collect()
}

fn port(name: &str, number: u16) -> ContainerPort {
    ContainerPort {
        name: Some(name.to_owned()),
        container_port: i32::from(number),
        protocol: Some("TCP".to_owned()),
        ..ContainerPort::default()
    }
}

fn resources(resources: &Resources) -> ResourceRequirements {
    let amounts = |cpu: Option<&str>, memory: &str| {
        let cpu = cpu.map(|amount| ("cpu".to_owned(), Quantity(amount.to_owned())));
        let memory = ("memory".to_owned(), Quantity(memory.to_owned()));
        Some(cpu.into_iter().chain([memory]).collect::<BTreeMap<_, _>>())
    };
    ResourceRequirements {
        requests: amounts(Some(&resources.requests.cpu), &resources.requests.memory),
        limits: amounts(resources.limits.cpu.as_deref(), &resources.limits.memory),
        ..ResourceRequirements::default()
    }
}

/// Asks the admin port. Times in seconds.
fn probe(path: &str, every: i32, failures: i32) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some(path.to_owned()),
            port: IntOrString::String(ADMIN.to_owned()),
            scheme: Some("HTTP".to_owned()),
            ..HTTPGetAction::default()
        }),
        period_seconds: Some(every),
        failure_threshold: Some(failures),
        timeout_seconds: Some(2),
        ..Probe::default()
    }
}

fn security() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        read_only_root_filesystem: Some(true),
        capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), ..Capabilities::default() }),
        ..SecurityContext::default()
    }
}
