//! Statuses, written by server-side apply.
//!
//! A policy's status is the memory of its latches, so its write is fenced: it carries the resource version that it was made
//! from, and fails as [`StatusError::Stale`] if anybody wrote in between, another leader above all.

use hedgerow_crds::{API_VERSION, GROUP, Kind, VERSION, v1alpha1::HedgePolicy};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams},
    core::{DeserializeGuard, GroupVersionKind},
};
use serde::Serialize;
use serde_json::json;

use super::{
    call::{CallError, bounded},
    manager,
};

/// Writes and reads statuses.
#[derive(Clone)]
pub struct Statuses {
    client: Client,
}

/// Why a status was not written.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    /// The object is gone.
    #[error("the object is gone")]
    Gone,
    /// Somebody wrote the object since it was read.
    #[error("the object was changed since it was read")]
    Stale,
    /// Not now.
    #[error(transparent)]
    Call(CallError),
}

impl Statuses {
    /// Writes with `client`.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// Writes a status; with `fence`, only over that resource version. Gives the new one.
    ///
    /// # Errors
    /// It was not written.
    pub async fn write<S: Serialize>(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
        fence: Option<&str>,
        status: &S,
    ) -> Result<String, StatusError> {
        let mut patch = json!({
            "apiVersion": API_VERSION,
            "kind": kind.as_str(),
            "metadata": { "name": name, "namespace": namespace },
            "status": status,
        });
        if let Some(fence) = fence {
            patch["metadata"]["resourceVersion"] = fence.into();
        }
        let params = PatchParams::apply(manager::STATUS).force();
        match bounded(self.api(kind, namespace).patch_status(name, &params, &Patch::Apply(patch))).await {
            Ok(written) => Ok(written.metadata.resource_version.unwrap_or_default()),
            Err(error) if error.is_not_found() => Err(StatusError::Gone),
            Err(error) if error.is_conflict() => Err(StatusError::Stale),
            Err(error) => Err(StatusError::Call(error)),
        }
    }

    /// The policies of a namespace as they are stored now, not as a watch has heard of them. Those that cannot be read are
    /// left out.
    ///
    /// # Errors
    /// The API server did not answer.
    pub async fn policies(&self, namespace: &str) -> Result<Vec<HedgePolicy>, CallError> {
        let api: Api<DeserializeGuard<HedgePolicy>> = Api::namespaced(self.client.clone(), namespace);
        let list = bounded(api.list(&ListParams::default())).await?;
        Ok(list.items.into_iter().filter_map(|guard| guard.0.ok()).collect())
    }

    /// One policy as it is stored now. Asked for as a list of one: the right to list is needed anyway, and this is rare.
    ///
    /// # Errors
    /// It is gone, cannot be read, or the API server did not answer.
    pub async fn policy(&self, namespace: &str, name: &str) -> Result<HedgePolicy, StatusError> {
        let api: Api<HedgePolicy> = Api::namespaced(self.client.clone(), namespace);
        let only = ListParams::default().fields(&format!("metadata.name={name}"));
        let list = bounded(api.list(&only)).await.map_err(StatusError::Call)?;
        list.items.into_iter().next().ok_or(StatusError::Gone)
    }

    fn api(&self, kind: Kind, namespace: &str) -> Api<DynamicObject> {
        let gvk = GroupVersionKind::gvk(GROUP, VERSION, kind.as_str());
        let resource = ApiResource::from_gvk_with_plural(&gvk, kind.plural());
        Api::namespaced_with(self.client.clone(), namespace, &resource)
    }
}
