//! Everything that a decision about one fleet may look at.

use std::collections::BTreeSet;

use hedgerow_crds::v1alpha1::GatewayFleetSpec;

use super::{
    object::{Fleet, Lane, Policy, Resource, Route},
    tenancy::Tenancy,
};

/// The objects of one namespace, in any order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Objects {
    /// Routes.
    pub routes: Vec<Route>,
    /// Policies.
    pub policies: Vec<Policy>,
    /// Lanes.
    pub lanes: Vec<Lane>,
    /// Written fleets.
    pub fleets: Vec<Fleet>,
}

/// The objects of one fleet, sorted by name, and what the installation says about them.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Namespace of all objects.
    pub namespace: String,
    /// Name of the fleet.
    pub fleet: String,
    /// The `GatewayFleet`, where one exists.
    pub settings: Option<Fleet>,
    /// Its routes.
    pub routes: Vec<Route>,
    /// Its policies.
    pub policies: Vec<Policy>,
    /// Its lanes.
    pub lanes: Vec<Lane>,
    /// What a fleet without a `GatewayFleet` is.
    pub presumed: GatewayFleetSpec,
    /// What the authors of the objects may reach.
    pub tenancy: Tenancy,
}

/// No objects, under an installation that presumes and withholds nothing.
impl Default for Snapshot {
    fn default() -> Self {
        Self {
            namespace: String::new(),
            fleet: String::new(),
            settings: None,
            routes: Vec::new(),
            policies: Vec::new(),
            lanes: Vec::new(),
            presumed: GatewayFleetSpec::default(),
            tenancy: Tenancy::permissive(),
        }
    }
}

impl Snapshot {
    /// The fleet as it is in force.
    pub fn spec(&self) -> &GatewayFleetSpec {
        self.settings.as_ref().map_or(&self.presumed, |fleet| &fleet.spec)
    }
}

impl Objects {
    /// Adds one object.
    pub fn push(&mut self, resource: Resource) {
        match resource {
            Resource::Route(route) => self.routes.push(route),
            Resource::Policy(policy) => self.policies.push(policy),
            Resource::Lane(lane) => self.lanes.push(lane),
            Resource::Fleet(fleet) => self.fleets.push(fleet),
        }
    }

    /// One snapshot for each fleet that any object names, sorted by name.
    pub fn snapshots(&self) -> Vec<Snapshot> {
        self.fleet_names().into_iter().map(|(namespace, fleet)| self.snapshot(namespace, fleet)).collect()
    }

    fn fleet_names(&self) -> BTreeSet<(&str, &str)> {
        let routes = self.routes.iter().map(|o| (o.namespace.as_str(), &*o.spec.gateway));
        let policies = self.policies.iter().map(|o| (o.namespace.as_str(), &*o.spec.gateway));
        let lanes = self.lanes.iter().map(|o| (o.namespace.as_str(), &*o.spec.gateway));
        let fleets = self.fleets.iter().map(|o| (o.namespace.as_str(), o.name.as_str()));
        routes.chain(policies).chain(lanes).chain(fleets).collect()
    }

    /// The objects of one fleet, under an installation that presumes and withholds nothing: one that does not
    /// [`govern`](super::Installation::govern)s the result.
    pub fn snapshot(&self, namespace: &str, fleet: &str) -> Snapshot {
        let mut snapshot = Snapshot {
            namespace: namespace.to_owned(),
            fleet: fleet.to_owned(),
            settings: self.fleets.iter().find(|o| o.namespace == namespace && o.name == fleet).cloned(),
            routes: of_fleet(&self.routes, |o| o.namespace == namespace && *o.spec.gateway == *fleet),
            policies: of_fleet(&self.policies, |o| o.namespace == namespace && *o.spec.gateway == *fleet),
            lanes: of_fleet(&self.lanes, |o| o.namespace == namespace && *o.spec.gateway == *fleet),
            ..Snapshot::default()
        };
        snapshot.routes.sort_by(|a, b| a.name.cmp(&b.name));
        snapshot.policies.sort_by(|a, b| a.name.cmp(&b.name));
        snapshot.lanes.sort_by(|a, b| a.name.cmp(&b.name));
        snapshot
    }
}

fn of_fleet<T: Clone>(objects: &[T], belongs: impl Fn(&T) -> bool) -> Vec<T> {
    objects.iter().filter(|object| belongs(object)).cloned().collect()
}

impl FromIterator<Resource> for Objects {
    fn from_iter<I: IntoIterator<Item = Resource>>(resources: I) -> Self {
        let mut objects = Self::default();
        resources.into_iter().for_each(|resource| objects.push(resource));
        objects
    }
}
