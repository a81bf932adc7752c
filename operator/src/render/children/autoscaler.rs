//! The `HorizontalPodAutoscaler`, with `autoscaling.mode: CPU` only.

use hedgerow_crds::v1alpha1::gateway_fleet::{Autoscaling, AutoscalingMode};
use k8s_openapi::api::autoscaling::v2::{
    CrossVersionObjectReference, HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec, MetricSpec,
    MetricTarget, ResourceMetricSource,
};

use super::{Child, ChildKind, Identity};

/// The object, where one is asked for.
pub(super) fn child(identity: &Identity, autoscaling: &Autoscaling) -> Option<Child> {
    if autoscaling.mode != AutoscalingMode::Cpu {
        return None;
    }
    let target = ChildKind::Deployment;
    let object = HorizontalPodAutoscaler {
        metadata: identity.metadata(ChildKind::Autoscaler),
        spec: Some(HorizontalPodAutoscalerSpec {
            scale_target_ref: CrossVersionObjectReference {
                api_version: Some(target.api_version().to_owned()),
                kind: target.kind().to_owned(),
                name: identity.name(target),
            },
            min_replicas: Some(autoscaling.min),
            max_replicas: autoscaling.max,
            metrics: Some(vec![cpu(autoscaling.target_percent)]),
            ..HorizontalPodAutoscalerSpec::default()
        }),
        ..HorizontalPodAutoscaler::default()
    };
    Some(Child::new(ChildKind::Autoscaler, identity, &object))
}

/// CPU use in percent of the request.
fn cpu(percent: i32) -> MetricSpec {
    MetricSpec {
        type_: "Resource".to_owned(),
        resource: Some(ResourceMetricSource {
            name: "cpu".to_owned(),
            target: MetricTarget {
                type_: "Utilization".to_owned(),
                average_utilization: Some(percent),
                ..MetricTarget::default()
            },
        }),
        ..MetricSpec::default()
    }
}
