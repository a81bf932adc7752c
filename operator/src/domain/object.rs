//! Objects as decisions need them: who they are and what they ask for.
//!
//! The source does not matter: the cluster fills them from the API server, standalone from files. Status is not in
//! here: what the operator once decided comes in as latches ([`super::decision`]).

use std::collections::BTreeMap;

use hedgerow_crds::{
    Kind,
    v1alpha1::{GatewayFleetSpec, HedgePolicySpec, PriorityLaneSpec, ProviderRouteSpec},
};
use siphasher::sip128::{Hasher128, SipHasher13};

/// Namespace of every object in standalone.
pub const LOCAL: &str = "local";

/// One object.
#[derive(Clone, Debug, PartialEq)]
pub struct Object<S> {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.generation`: grows with each change of the spec.
    pub generation: i64,
    /// `metadata.annotations`: holds by hand are asked for here.
    pub annotations: BTreeMap<String, String>,
    /// What its author asks for.
    pub spec: S,
}

/// A `ProviderRoute`.
pub type Route = Object<ProviderRouteSpec>;
/// A `HedgePolicy`.
pub type Policy = Object<HedgePolicySpec>;
/// A `PriorityLane`.
pub type Lane = Object<PriorityLaneSpec>;
/// A `GatewayFleet`.
pub type Fleet = Object<GatewayFleetSpec>;

impl<S> Object<S> {
    /// An object that no API server knows: generation 1, and a uid that only depends on kind, namespace and name, so
    /// that a restart does not make it another object.
    pub fn local(kind: Kind, namespace: &str, name: &str, spec: S) -> Self {
        let mut hasher = SipHasher13::new();
        for part in [kind.as_str(), "/", namespace, "/", name] {
            std::hash::Hasher::write(&mut hasher, part.as_bytes());
        }
        let hash = hasher.finish128();
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            uid: format!("{:016x}{:016x}", hash.h1, hash.h2),
            generation: 1,
            annotations: BTreeMap::new(),
            spec,
        }
    }
}

/// An object of any kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Resource {
    /// A `ProviderRoute`.
    Route(Route),
    /// A `HedgePolicy`.
    Policy(Policy),
    /// A `PriorityLane`.
    Lane(Lane),
    /// A `GatewayFleet`.
    Fleet(Fleet),
}

/// The same expression for whatever kind a resource is.
macro_rules! each {
    ($resource:expr, $object:ident => $value:expr) => {
        match $resource {
            Resource::Route($object) => $value,
            Resource::Policy($object) => $value,
            Resource::Lane($object) => $value,
            Resource::Fleet($object) => $value,
        }
    };
}

impl Resource {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Route(_) => Kind::ProviderRoute,
            Self::Policy(_) => Kind::HedgePolicy,
            Self::Lane(_) => Kind::PriorityLane,
            Self::Fleet(_) => Kind::GatewayFleet,
        }
    }

    /// `metadata.name`.
    pub fn name(&self) -> &str {
        each!(self, object => &object.name)
    }

    /// `metadata.namespace`.
    pub fn namespace(&self) -> &str {
        each!(self, object => &object.namespace)
    }

    /// `metadata.annotations`.
    pub fn annotations(&self) -> &BTreeMap<String, String> {
        each!(self, object => &object.annotations)
    }

    /// `metadata.generation`.
    pub fn generation(&self) -> i64 {
        each!(self, object => object.generation)
    }

    /// Sets `metadata.generation`, for sources that count changes themselves.
    pub fn set_generation(&mut self, generation: i64) {
        each!(self, object => object.generation = generation);
    }

    /// Moves the object to a namespace; its uid follows. For sources without an API server.
    pub fn set_namespace(&mut self, namespace: &str) {
        let kind = self.kind();
        each!(self, object => {
            object.uid = Object::local(kind, namespace, &object.name, ()).uid;
            namespace.clone_into(&mut object.namespace);
        });
    }

    /// Whether both ask for the same: what makes a new generation.
    pub fn same_spec(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Route(a), Self::Route(b)) => a.spec == b.spec,
            (Self::Policy(a), Self::Policy(b)) => a.spec == b.spec,
            (Self::Lane(a), Self::Lane(b)) => a.spec == b.spec,
            (Self::Fleet(a), Self::Fleet(b)) => a.spec == b.spec,
            _ => false,
        }
    }

    /// The fleet that it belongs to: `spec.gateway`, or the name of a `GatewayFleet`.
    pub fn fleet(&self) -> &str {
        match self {
            Self::Route(route) => &route.spec.gateway,
            Self::Policy(policy) => &policy.spec.gateway,
            Self::Lane(lane) => &lane.spec.gateway,
            Self::Fleet(fleet) => &fleet.name,
        }
    }
}
