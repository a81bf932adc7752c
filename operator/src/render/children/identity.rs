//! Whose child it is: names, labels, owner.
//!
//! Labels: `app.kubernetes.io/*` as recommended by Kubernetes, and the fleet. Only name and instance select pods:
//! selectors of Deployments can never change, so they hold what will never have a reason to.

use std::collections::BTreeMap;

use hedgerow_crds::{API_VERSION, Kind, LABEL_FLEET, child_name};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference};

use super::child::ChildKind;

/// The program that runs in the pods.
const PROGRAM: &str = "hedgerow-gateway";
/// Who writes the children, as tools for people show it.
const MANAGED_BY: &str = "hedgerow";

/// The fleet that children belong to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Namespace of the fleet and its children.
    pub namespace: String,
    /// Name of the fleet, at most 40 characters.
    pub fleet: String,
    /// The `GatewayFleet`; `None` where no API server knows it, as in `hedgerow render`.
    pub owner: Option<Owner>,
}

/// The `GatewayFleet` that children are collected with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    /// `metadata.uid`.
    pub uid: String,
}

impl Identity {
    /// The name of one of its children.
    pub fn name(&self, kind: ChildKind) -> String {
        format!("{}{}", child_name(&self.fleet), kind.suffix())
    }

    /// Metadata of one of its children.
    pub(super) fn metadata(&self, kind: ChildKind) -> ObjectMeta {
        ObjectMeta {
            name: Some(self.name(kind)),
            namespace: Some(self.namespace.clone()),
            labels: Some(self.labels()),
            owner_references: self.owner.as_ref().map(|owner| vec![self.reference(owner)]),
            ..ObjectMeta::default()
        }
    }

    /// Metadata with annotations of an author, if there are any.
    pub(super) fn annotated<V: ToString>(
        &self,
        kind: ChildKind,
        annotations: &BTreeMap<String, V>,
    ) -> ObjectMeta {
        let annotations: BTreeMap<_, _> =
            annotations.iter().map(|(key, value)| (key.clone(), value.to_string())).collect();
        ObjectMeta { annotations: non_empty(annotations), ..self.metadata(kind) }
    }

    /// Labels of every child and of the pods.
    pub(super) fn labels(&self) -> BTreeMap<String, String> {
        let mut labels = self.selection();
        labels.insert("app.kubernetes.io/managed-by".to_owned(), MANAGED_BY.to_owned());
        labels.insert(LABEL_FLEET.to_owned(), self.fleet.clone());
        labels
    }

    /// Labels that select the pods.
    pub(super) fn selection(&self) -> BTreeMap<String, String> {
        BTreeMap::from([
            ("app.kubernetes.io/name".to_owned(), PROGRAM.to_owned()),
            ("app.kubernetes.io/instance".to_owned(), self.fleet.clone()),
        ])
    }

    /// The pods.
    pub(super) fn selector(&self) -> LabelSelector {
        LabelSelector { match_labels: Some(self.selection()), ..LabelSelector::default() }
    }

    /// The controller owner. Deletion of the owner is not blocked: that would take a right on its finalizers where the
    /// admission plugin `OwnerReferencesPermissionEnforcement` runs.
    fn reference(&self, owner: &Owner) -> OwnerReference {
        OwnerReference {
            api_version: API_VERSION.to_owned(),
            kind: Kind::GatewayFleet.as_str().to_owned(),
            name: self.fleet.clone(),
            uid: owner.uid.clone(),
            controller: Some(true),
            block_owner_deletion: None,
        }
    }
}

/// A map, or none where it is empty: an empty field would be owned all the same.
pub(super) fn non_empty<K, V>(map: BTreeMap<K, V>) -> Option<BTreeMap<K, V>> {
    (!map.is_empty()).then_some(map)
}
