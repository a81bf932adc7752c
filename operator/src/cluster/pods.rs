//! Gateway pods: where they can be read, why they do not run, and how the kubelet is made to look at their volumes now.
//!
//! A kubelet refreshes mounted `ConfigMap`s about once a minute, but at once when the pod object changes (Kubernetes
//! documentation, "Mounted ConfigMaps are updated automatically"). So after a write one annotation of each pod is patched:
//! the nudge. Nothing else of a pod is ever written.

use std::{
    collections::BTreeSet,
    net::{IpAddr, SocketAddr},
    sync::Mutex,
    time::Duration,
};

use hedgerow_crds::ANNOTATION_DIGEST;
use hedgerow_policy::time::Moment;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, Volume};
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
};
use serde_json::json;

use super::{
    call::{CallError, bounded},
    manager,
};
use crate::render::children::ADMIN_PORT;

/// Longest trouble in bytes.
const LONGEST_TROUBLE: usize = 512;

/// What the API server says about a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presence {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`, which is also what its `/state` calls it.
    pub uid: String,
    /// Where it can be read; `None` as long as it has no address.
    pub admin: Option<SocketAddr>,
    /// It was told to end.
    pub terminating: bool,
    /// Its process runs.
    pub running: bool,
    /// The kubelet found it ready.
    pub ready: bool,
    /// Why not, in the words of the kubelet or the scheduler.
    pub trouble: Option<String>,
    /// Names of the Secrets and `ConfigMap`s that it mounts, there or not.
    pub mounts: BTreeSet<String>,
}

/// Reads a pod object.
pub fn presence(pod: &Pod) -> Option<Presence> {
    let status = pod.status.as_ref();
    let phase = status.and_then(|status| status.phase.as_deref()).unwrap_or_default();
    // A pod that has ended is no pod of the fleet any more; its successor is.
    if matches!(phase, "Succeeded" | "Failed") {
        return None;
    }
    let container = status.and_then(|status| status.container_statuses.as_ref()).and_then(|all| all.first());
    let running =
        container.and_then(|container| container.state.as_ref()).is_some_and(|s| s.running.is_some());
    let ip: Option<IpAddr> = status.and_then(|status| status.pod_ip.as_ref()).and_then(|ip| ip.parse().ok());
    Some(Presence {
        name: pod.metadata.name.clone()?,
        uid: pod.metadata.uid.clone()?,
        admin: ip.map(|ip| SocketAddr::new(ip, ADMIN_PORT)),
        terminating: pod.metadata.deletion_timestamp.is_some(),
        running,
        ready: container.is_some_and(|container| container.ready),
        trouble: container.and_then(waits).or_else(|| unscheduled(pod)).filter(|_| !running).map(cut),
        mounts: pod
            .spec
            .iter()
            .filter_map(|spec| spec.volumes.as_ref())
            .flatten()
            .flat_map(mounted)
            .collect(),
    })
}

/// What a volume shows.
fn mounted(volume: &Volume) -> Vec<String> {
    let projected = volume.projected.iter().filter_map(|projected| projected.sources.as_ref()).flatten();
    let projected = projected.flat_map(|source| {
        let secret = source.secret.as_ref().map(|secret| secret.name.clone());
        secret.into_iter().chain(source.config_map.as_ref().map(|map| map.name.clone()))
    });
    let secret = volume.secret.as_ref().and_then(|secret| secret.secret_name.clone());
    let map = volume.config_map.as_ref().map(|map| map.name.clone());
    secret.into_iter().chain(map).chain(projected).collect()
}

/// Statuses have no room for a registry's novel.
fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(LONGEST_TROUBLE));
    text
}

/// Why a container does not run.
fn waits(container: &ContainerStatus) -> Option<String> {
    let state = container.state.as_ref()?;
    let before = container.last_state.as_ref().and_then(|state| state.terminated.as_ref());
    let ended = state.terminated.as_ref().or(before).map(|end| {
        let reason = end.reason.as_deref().unwrap_or("ended");
        format!("CrashLoopBackOff: last time {reason} with exit code {}", end.exit_code)
    });
    let Some(waiting) = &state.waiting else { return ended };
    let reason = waiting.reason.as_deref()?;
    // What is the same for as long as it lasts: a status is not to be written at each turn.
    match reason {
        "ContainerCreating" | "PodInitializing" => None,
        "ErrImagePull" | "ImagePullBackOff" => {
            Some(format!("ImagePullBackOff: the image {} cannot be pulled", container.image))
        }
        "CrashLoopBackOff" if ended.is_some() => ended,
        _ => Some(format!("{reason}: {}", waiting.message.as_deref().unwrap_or("no message"))),
    }
}

/// Why a pod has no node.
fn unscheduled(pod: &Pod) -> Option<String> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let scheduled = conditions.iter().find(|condition| condition.type_ == "PodScheduled")?;
    if scheduled.status != "False" {
        return None;
    }
    let reason = scheduled.reason.as_deref().unwrap_or("NotScheduled");
    Some(format!("{reason}: {}", scheduled.message.as_deref().unwrap_or_default()))
}

/// Makes the kubelet refresh the volumes of a pod. Another `value` than the last is needed for that.
///
/// # Errors
/// The pod was not patched. One that is gone needs no nudge.
pub async fn nudge(client: &Client, namespace: &str, pod: &str, value: &str) -> Result<(), CallError> {
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let patch = json!({ "metadata": { "annotations": { ANNOTATION_DIGEST: value } } });
    let params = PatchParams { field_manager: Some(manager::CHILDREN.to_owned()), ..PatchParams::default() };
    match bounded(api.patch_metadata(pod, &params, &Patch::Merge(patch))).await {
        Err(error) if !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}

/// So many a second, and no more: a bucket that is full at the start.
#[derive(Debug)]
pub struct Pace {
    per_second: f64,
    bucket: Mutex<(f64, Moment)>,
}

impl Pace {
    /// `per_second` in the long run and at once.
    pub fn new(per_second: u32) -> Self {
        let per_second = f64::from(per_second);
        Self { per_second, bucket: Mutex::new((per_second, Moment::ZERO)) }
    }

    /// Takes one, or says how long to wait for it.
    pub fn take(&self, now: Moment) -> Result<(), Duration> {
        let mut bucket = self.bucket.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (tokens, at) = *bucket;
        let tokens = (tokens + now.since(at).as_secs_f64() * self.per_second).min(self.per_second);
        if tokens >= 1.0 {
            *bucket = (tokens - 1.0, now.max(at));
            return Ok(());
        }
        *bucket = (tokens, now.max(at));
        Err(Duration::from_secs_f64((1.0 - tokens) / self.per_second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(status: &serde_json::Value) -> Option<Presence> {
        let object = json!({ "metadata": { "name": "a", "uid": "u" }, "status": status });
        presence(&serde_json::from_value(object).unwrap())
    }

    #[test]
    fn a_pod_that_does_not_run_says_why() {
        let waiting = |reason: &str, message: Option<&str>| {
            let state = json!({ "waiting": { "reason": reason, "message": message } });
            let container = json!({
                "name": "gateway", "image": "x", "imageID": "", "ready": false, "restartCount": 1, "state": state,
                "lastState": { "terminated": { "exitCode": 137, "reason": "OOMKilled" } },
            });
            pod(&json!({ "phase": "Pending", "containerStatuses": [container] })).unwrap().trouble
        };
        assert_eq!(waiting("ContainerCreating", None), None);
        let pull = waiting("ErrImagePull", Some("not found"));
        assert_eq!(pull.as_deref(), Some("ImagePullBackOff: the image x cannot be pulled"));
        assert_eq!(pull, waiting("ImagePullBackOff", Some("Back-off")));
        let crash = waiting("CrashLoopBackOff", None).unwrap();
        assert_eq!(crash, "CrashLoopBackOff: last time OOMKilled with exit code 137");
        let condition = json!({ "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no cpu" });
        let pending = pod(&json!({ "phase": "Pending", "conditions": [condition] })).unwrap();
        assert_eq!(pending.trouble.as_deref(), Some("Unschedulable: no cpu"));
        assert_eq!(pod(&json!({ "phase": "Failed" })), None, "it has ended");
    }

    #[test]
    fn what_a_pod_mounts_is_known_by_name_however_it_is_mounted() {
        let object = json!({ "metadata": { "name": "a", "uid": "u" }, "spec": { "containers": [], "volumes": [
            { "name": "one", "secret": { "secretName": "keys" } },
            { "name": "two", "configMap": { "name": "authorities" } },
            { "name": "both", "projected": { "sources": [
                { "secret": { "name": "private" } }, { "configMap": { "name": "public" } },
            ] } },
            { "name": "none", "emptyDir": {} },
        ] } });
        let presence = presence(&serde_json::from_value(object).unwrap()).unwrap();
        let mounts: Vec<&str> = presence.mounts.iter().map(String::as_str).collect();
        assert_eq!(mounts, ["authorities", "keys", "private", "public"]);
    }

    #[test]
    fn a_pace_lets_through_its_rate_and_says_how_long_to_wait() {
        let pace = Pace::new(10);
        let now = Moment::from_secs(100);
        assert_eq!((0..10).filter(|_| pace.take(now).is_ok()).count(), 10);
        let wait = pace.take(now).unwrap_err();
        assert!(wait > Duration::from_millis(90) && wait <= Duration::from_millis(100), "{wait:?}");
        assert!(pace.take(now + wait).is_ok());
        assert!(pace.take(now + wait).is_err());
    }
}
