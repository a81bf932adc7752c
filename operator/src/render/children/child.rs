//! One object of a fleet, ready to be applied.

use serde::Serialize;
use serde_json::Value;

use super::identity::Identity;
use hedgerow_config::digest::digest;

/// What an object is to its fleet. The order is that in which objects are applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChildKind {
    /// `gateway.json`, the compiled configuration.
    Config,
    /// `fleet.json`, what the fleet measured.
    FleetFile,
    /// The operator's memory of the fleet.
    History,
    /// Who the pods are.
    ServiceAccount,
    /// Where clients connect.
    Service,
    /// How many pods may leave at once.
    DisruptionBudget,
    /// Who may connect to pods, and where they may connect to.
    NetworkPolicy,
    /// Who decides the number of pods, when asked for.
    Autoscaler,
    /// The pods.
    Deployment,
}

impl ChildKind {
    /// All of them, in the order in which they are applied.
    pub const ALL: [Self; 9] = [
        Self::Config,
        Self::FleetFile,
        Self::History,
        Self::ServiceAccount,
        Self::Service,
        Self::DisruptionBudget,
        Self::NetworkPolicy,
        Self::Autoscaler,
        Self::Deployment,
    ];

    /// Group and version of the object.
    pub const fn api_version(self) -> &'static str {
        match self {
            Self::Config | Self::FleetFile | Self::History | Self::ServiceAccount | Self::Service => "v1",
            Self::DisruptionBudget => "policy/v1",
            Self::NetworkPolicy => "networking.k8s.io/v1",
            Self::Autoscaler => "autoscaling/v2",
            Self::Deployment => "apps/v1",
        }
    }

    /// Kind of the object.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Config | Self::FleetFile | Self::History => "ConfigMap",
            Self::ServiceAccount => "ServiceAccount",
            Self::Service => "Service",
            Self::DisruptionBudget => "PodDisruptionBudget",
            Self::NetworkPolicy => "NetworkPolicy",
            Self::Autoscaler => "HorizontalPodAutoscaler",
            Self::Deployment => "Deployment",
        }
    }

    /// The plural, as in the API's paths.
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Config | Self::FleetFile | Self::History => "configmaps",
            Self::ServiceAccount => "serviceaccounts",
            Self::Service => "services",
            Self::DisruptionBudget => "poddisruptionbudgets",
            Self::NetworkPolicy => "networkpolicies",
            Self::Autoscaler => "horizontalpodautoscalers",
            Self::Deployment => "deployments",
        }
    }

    /// What follows `hedgerow-<fleet>` in the name.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::FleetFile => "-fleet",
            Self::History => "-history",
            _ => "",
        }
    }
}

/// One object.
#[derive(Clone, Debug, PartialEq)]
pub struct Child {
    /// What it is to the fleet.
    pub kind: ChildKind,
    /// `metadata.name`.
    pub name: String,
    /// The object, with `apiVersion` and `kind`.
    pub object: Value,
    /// SHA-256 over the object's JSON, lower-case hex: equal if and only if the object is.
    pub hash: String,
}

impl Child {
    /// A child from its typed object.
    pub(super) fn new(kind: ChildKind, identity: &Identity, object: &impl Serialize) -> Self {
        let object = serde_json::to_value(object).expect("Kubernetes types have string keys only");
        Self::from_value(kind, identity, object)
    }

    /// A child from its finished JSON.
    pub(super) fn from_value(kind: ChildKind, identity: &Identity, object: Value) -> Self {
        Self { kind, name: identity.name(kind), hash: digest(object.to_string().as_bytes()), object }
    }
}
