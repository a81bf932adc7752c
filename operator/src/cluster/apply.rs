//! Children, written by server-side apply, and only where something is missing.
//!
//! Input: a [`Child`] as rendered. Output: the object lives like that, or [`ApplyError`]. Rules:
//! - the first write is a create: forced apply onto a foreign object of the same name would take it over;
//! - an object that has all that we want is not written, whatever others added to it;
//! - what we wrote last is remembered ([`Settled`]), so that a watch that lags behind does not cause a second write.

use hedgerow_crds::LABEL_FLEET;
use kube::{
    Api, Client,
    api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions},
    core::{GroupVersionKind, ObjectMeta, PartialObjectMeta},
};
use serde_json::{Value, json};

use super::{
    call::{CallError, bounded},
    cover::covers,
    manager,
};
use crate::render::children::{Child, ChildKind};

/// Annotation of every child: hash of what was wanted when it was written last. So a new process knows whether a field has
/// to go that it does not want any more.
const ANNOTATION_RENDERED: &str = "hedgerow.dev/rendered";

/// How often to try to own a new object.
const OWN_ATTEMPTS: usize = 4;

/// Writes children.
#[derive(Clone)]
pub struct Hand {
    client: Client,
}

/// How a child was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// Hash of what was wanted.
    pub hash: String,
    /// `metadata.resourceVersion` after that.
    pub version: String,
    /// Whether anything was written.
    pub wrote: bool,
}

/// Why a child is not as it should be.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The name is taken.
    #[error(
        "{kind} {name} exists and does not belong to this fleet: it is left alone; rename or delete it, or rename the fleet"
    )]
    NameConflict {
        /// Kind of the object.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// The API server or an admission webhook does not take it.
    #[error("{kind} {name} was refused: {message}")]
    Refused {
        /// Kind of the object.
        kind: &'static str,
        /// Its name.
        name: String,
        /// Why.
        message: String,
    },
    /// Not now.
    #[error(transparent)]
    Call(#[from] CallError),
}

impl Hand {
    /// A hand that writes with `client`.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// Makes the object live as `child` says. `live` is what the watch shows of it, `before` how it was left last.
    ///
    /// # Errors
    /// It does not; see [`ApplyError`].
    pub async fn settle(
        &self,
        namespace: &str,
        child: &Child,
        owner: &str,
        live: Option<&DynamicObject>,
        before: Option<&Settled>,
    ) -> Result<Settled, ApplyError> {
        if let Some(settled) = unchanged(child, owner, live, before) {
            return Ok(settled);
        }
        let known = live.is_some_and(|live| is_owned(&live.metadata, owner)) || before.is_some();
        if known && let Some(settled) = self.apply(namespace, child, owner).await? {
            return Ok(settled);
        }
        self.create(namespace, child, owner).await
    }

    /// Deletes an object that the fleet owns.
    ///
    /// # Errors
    /// The API server did not take it.
    pub async fn remove(
        &self,
        namespace: &str,
        kind: ChildKind,
        live: &DynamicObject,
    ) -> Result<(), CallError> {
        let Some(name) = &live.metadata.name else { return Ok(()) };
        let exactly = Preconditions { uid: live.metadata.uid.clone(), ..Preconditions::default() };
        let params = DeleteParams::background().preconditions(exactly);
        match bounded(self.api(namespace, kind).delete(name, &params)).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    /// Writes over our own object; `None` if it is gone or not ours any more.
    async fn apply(
        &self,
        namespace: &str,
        child: &Child,
        owner: &str,
    ) -> Result<Option<Settled>, ApplyError> {
        let api = self.api(namespace, child.kind);
        let live = match bounded(api.get_metadata(&child.name)).await {
            Err(error) if error.is_not_found() => return Ok(None),
            answer => answer?,
        };
        if !is_owned(&live.metadata, owner) {
            return Ok(None);
        }
        if child.kind == ChildKind::Deployment && child.object["spec"]["replicas"].is_null() {
            self.leave_replicas(&api, &live, child).await?;
        }
        let params = PatchParams::apply(manager::CHILDREN).force();
        let answer = bounded(api.patch(&child.name, &params, &Patch::Apply(stamped(child)))).await;
        let written = answer.map_err(|error| explain(child, error))?;
        let wrote = written.metadata.resource_version != live.metadata.resource_version;
        Ok(Some(settled(child, &written, wrote)))
    }

    /// Before we stop asking for a number of pods: server-side apply resets a field that nobody owns any more, and an
    /// autoscaler that has not written yet would find one pod. So the number is handed over to a manager of its own.
    async fn leave_replicas(
        &self,
        api: &Api<DynamicObject>,
        live: &PartialObjectMeta<DynamicObject>,
        child: &Child,
    ) -> Result<(), ApplyError> {
        let ours = live.metadata.managed_fields.iter().flatten().any(|entry| {
            let fields = entry.fields_v1.as_ref().map(|fields| &fields.0);
            entry.manager.as_deref() == Some(manager::CHILDREN)
                && fields.is_some_and(|fields| !fields["f:spec"]["f:replicas"].is_null())
        });
        if !ours {
            return Ok(());
        }
        let now = bounded(api.get(&child.name)).await?;
        let number = &now.data["spec"]["replicas"];
        let patch = json!({
            "apiVersion": child.kind.api_version(), "kind": child.kind.kind(),
            "metadata": { "name": child.name }, "spec": { "replicas": number },
        });
        let params = PatchParams::apply(manager::REPLICAS).force();
        bounded(api.patch(&child.name, &params, &Patch::Apply(patch))).await?;
        Ok(())
    }

    async fn create(&self, namespace: &str, child: &Child, owner: &str) -> Result<Settled, ApplyError> {
        let api = self.api(namespace, child.kind);
        let object: DynamicObject = serde_json::from_value(stamped(child))
            .map_err(|error| CallError::Unreachable(error.to_string()))?;
        let params =
            PostParams { field_manager: Some(manager::CHILDREN.to_owned()), ..PostParams::default() };
        match bounded(api.create(&params, &object)).await {
            // Not in the watch, because somebody took our label off, or because it is not ours.
            Err(error) if error.is_conflict() => {
                self.apply(namespace, child, owner).await?.ok_or_else(|| ApplyError::NameConflict {
                    kind: child.kind.kind(),
                    name: child.name.clone(),
                })
            }
            Err(error) => Err(explain(child, error)),
            Ok(created) => {
                let owned = self.own(&api, &created, child).await?;
                Ok(settled(child, &owned, true))
            }
        }
    }

    /// Turns what the create owns into what an apply owns: else a field that we do not want any more would stay, because
    /// the create still asked for it. Controllers write new objects at once, so it may take a second look.
    async fn own(
        &self,
        api: &Api<DynamicObject>,
        created: &DynamicObject,
        child: &Child,
    ) -> Result<DynamicObject, ApplyError> {
        let mut metadata = created.metadata.clone();
        for _ in 0..OWN_ATTEMPTS {
            let mut managed = metadata.managed_fields.clone().unwrap_or_default();
            for entry in
                managed.iter_mut().filter(|entry| entry.manager.as_deref() == Some(manager::CHILDREN))
            {
                entry.operation = Some("Apply".to_owned());
            }
            let patch = json!({ "metadata": {
                "managedFields": managed, "resourceVersion": metadata.resource_version,
            } });
            match bounded(api.patch(&child.name, &PatchParams::default(), &Patch::Merge(patch))).await {
                Err(error) if error.is_conflict() => {
                    metadata = bounded(api.get_metadata(&child.name)).await?.metadata;
                }
                answer => return Ok(answer?),
            }
        }
        // The child is as it should be; only a field that is dropped later would stay.
        Ok(created.clone())
    }

    fn api(&self, namespace: &str, kind: ChildKind) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), namespace, &resource(kind))
    }
}

/// What the API server calls a kind of children.
pub(super) fn resource(kind: ChildKind) -> ApiResource {
    let (group, version) = kind.api_version().split_once('/').unwrap_or(("", kind.api_version()));
    let gvk = GroupVersionKind::gvk(group, version, kind.kind());
    ApiResource::from_gvk_with_plural(&gvk, kind.plural())
}

/// The fleet that a child says it belongs to.
pub(super) fn fleet_of(object: &DynamicObject) -> Option<&str> {
    object.metadata.labels.as_ref()?.get(LABEL_FLEET).map(String::as_str)
}

/// How the child is left if nothing has to be written.
fn unchanged(
    child: &Child,
    owner: &str,
    live: Option<&DynamicObject>,
    before: Option<&Settled>,
) -> Option<Settled> {
    let live = live.filter(|live| is_owned(&live.metadata, owner))?;
    let version = live.metadata.resource_version.clone()?;
    let seen = before.filter(|before| before.hash == child.hash);
    let as_left = seen.is_some_and(|before| !is_newer(&version, &before.version));
    let written_so = rendered(live) == Some(&child.hash);
    if as_left || (written_so && covered(live, &child.object)) {
        let version = match seen {
            Some(before) if as_left => before.version.clone(),
            _ => version,
        };
        return Some(Settled { hash: child.hash.clone(), version, wrote: false });
    }
    None
}

/// The object with the hash of it.
fn stamped(child: &Child) -> Value {
    let mut object = child.object.clone();
    object["metadata"]["annotations"][ANNOTATION_RENDERED] = child.hash.clone().into();
    object
}

fn rendered(live: &DynamicObject) -> Option<&String> {
    live.metadata.annotations.as_ref()?.get(ANNOTATION_RENDERED)
}

/// Items of a list do not say their kind, so that is left out of the comparison.
fn covered(live: &DynamicObject, wanted: &Value) -> bool {
    let mut wanted = wanted.clone();
    if let Some(fields) = wanted.as_object_mut() {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    serde_json::to_value(live).is_ok_and(|live| covers(&live, &wanted))
}

/// Whether an object is a child of the fleet with this uid.
pub fn is_owned(live: &ObjectMeta, owner: &str) -> bool {
    live.owner_references.iter().flatten().any(|reference| reference.uid == owner)
}

/// Whether a resource version is from after another. They are numbers since Kubernetes 1.35 promises it; where they are
/// not, only equality is known.
pub fn is_newer(version: &str, than: &str) -> bool {
    match (version.parse::<u64>(), than.parse::<u64>()) {
        (Ok(version), Ok(than)) => version > than,
        _ => version != than,
    }
}

fn settled(child: &Child, written: &DynamicObject, wrote: bool) -> Settled {
    let version = written.metadata.resource_version.clone().unwrap_or_default();
    Settled { hash: child.hash.clone(), version, wrote }
}

fn explain(child: &Child, error: CallError) -> ApplyError {
    match error {
        CallError::Refused { ref message, .. } if error.is_final() => ApplyError::Refused {
            kind: child.kind.kind(),
            name: child.name.clone(),
            message: message.clone(),
        },
        error => error.into(),
    }
}
