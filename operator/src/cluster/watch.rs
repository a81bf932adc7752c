//! What there is: the four kinds, their children and their pods, kept up to date in memory.
//!
//! Input: watches, one per kind, or per kind and namespace where only some are looked at. Output: [`Stores`] to read and
//! [`Wakes`] that say which fleet something happened to. A watch goes through `DeserializeGuard`, so that an object that
//! cannot be read is reported ([`Stores::undecodable`]) and does not end it. What nobody looks at is dropped before it is
//! stored: managed fields, last-applied annotations, specs of pods but for what they mount.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::{StreamExt as _, future::join_all};
use hedgerow_crds::{
    Kind, LABEL_FLEET,
    v1alpha1::{GatewayFleet, HedgePolicy, PriorityLane, ProviderRoute},
};
use k8s_openapi::api::core::v1::{Pod, PodSpec};
use kube::{
    Api, Client, Resource,
    api::DynamicObject,
    core::{DeserializeGuard, NamespaceResourceScope, NamespaceScope, ObjectMeta},
    runtime::{
        WatchStreamExt as _,
        reflector::{ObjectRef, Store, store::Writer},
        utils::Backoff,
        watcher,
    },
};
use serde::de::DeserializeOwned;
use tokio::{sync::Notify, task::JoinSet};

use super::apply::{fleet_of, resource};
use crate::{
    domain::{Object, Objects},
    render::children::ChildKind,
    runtime::metrics::Metrics,
};

/// Selects what the operator writes, and the pods of it.
const OURS: &str = "app.kubernetes.io/managed-by=hedgerow";
/// Annotation of `kubectl apply`; large and of no use here.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Annotations of ours start so.
const PREFIX: &str = "hedgerow.dev/";
/// One kind of children for each resource that is watched.
const WATCHED: [ChildKind; 7] = [
    ChildKind::Config,
    ChildKind::ServiceAccount,
    ChildKind::Service,
    ChildKind::DisruptionBudget,
    ChildKind::NetworkPolicy,
    ChildKind::Autoscaler,
    ChildKind::Deployment,
];

/// A fleet of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FleetId {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
}

/// An object that is no value of its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecodable {
    /// Kind.
    pub kind: Kind,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// `metadata.generation`.
    pub generation: i64,
    /// What cannot be read.
    pub error: String,
}

type Guarded<K> = Vec<Store<DeserializeGuard<K>>>;

/// Everything that is watched.
#[derive(Clone)]
pub struct Stores {
    routes: Guarded<ProviderRoute>,
    policies: Guarded<HedgePolicy>,
    lanes: Guarded<PriorityLane>,
    fleets: Guarded<GatewayFleet>,
    pods: Vec<Store<Pod>>,
    children: Vec<(&'static str, Vec<Store<DynamicObject>>)>,
}

/// Who wants to know that something happened.
#[derive(Debug, Default)]
pub struct Wakes {
    fleets: Mutex<BTreeMap<FleetId, Arc<Notify>>>,
    /// Something happened to a fleet that nobody works on, or to everything.
    pub anything: Notify,
}

impl Wakes {
    /// What is notified when something happens to a fleet.
    pub fn of(&self, id: &FleetId) -> Arc<Notify> {
        self.lock().entry(id.clone()).or_default().clone()
    }

    /// Nobody works on that fleet any more.
    pub fn forget(&self, id: &FleetId) {
        self.lock().remove(id);
    }

    fn touch(&self, metadata: &ObjectMeta, fleet: Option<&str>) {
        if let (Some(namespace), Some(name)) = (&metadata.namespace, fleet) {
            let id = FleetId { namespace: namespace.clone(), name: name.to_owned() };
            if let Some(worker) = self.lock().get(&id) {
                worker.notify_one();
                return;
            }
        }
        self.anything.notify_one();
    }

    fn touch_all(&self) {
        self.lock().values().for_each(|worker| worker.notify_one());
        self.anything.notify_one();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<FleetId, Arc<Notify>>> {
        self.fleets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts watches into a set of tasks.
struct Watching<'a> {
    client: &'a Client,
    namespaces: &'a [String],
    wakes: &'a Arc<Wakes>,
    metrics: &'a Arc<Metrics>,
    tasks: &'a mut JoinSet<()>,
}

impl Stores {
    /// Starts all watches; `namespaces` empty = all. They end with `tasks`.
    pub fn start(
        client: &Client,
        namespaces: &[String],
        wakes: &Arc<Wakes>,
        metrics: &Arc<Metrics>,
        tasks: &mut JoinSet<()>,
    ) -> Self {
        let mut watching = Watching { client, namespaces, wakes, metrics, tasks };
        Self {
            routes: watching.kind(|route: &ProviderRoute| &route.spec.gateway),
            policies: watching.kind(|policy: &HedgePolicy| &policy.spec.gateway),
            lanes: watching.kind(|lane: &PriorityLane| &lane.spec.gateway),
            fleets: watching.kind(|fleet: &GatewayFleet| fleet.metadata.name.as_deref().unwrap_or_default()),
            pods: watching.start(&(), &watcher::Config::default().labels(OURS), slim_pod, |pod| {
                pod.metadata.labels.as_ref()?.get(LABEL_FLEET).map(String::as_str)
            }),
            children: WATCHED
                .iter()
                .map(|kind| {
                    let config = watcher::Config::default().labels(OURS);
                    (kind.kind(), watching.start(&resource(*kind), &config, slim, fleet_of))
                })
                .collect(),
        }
    }

    /// Waits until everything was listed once.
    pub async fn ready(&self) {
        async fn all<K: Resource + Clone + Send + Sync + 'static>(stores: &[Store<K>])
        where
            K::DynamicType: std::hash::Hash + Eq + Clone + Send + Sync,
        {
            join_all(stores.iter().map(Store::wait_until_ready)).await;
        }
        all(&self.routes).await;
        all(&self.policies).await;
        all(&self.lanes).await;
        all(&self.fleets).await;
        all(&self.pods).await;
        for (_, stores) in &self.children {
            all(stores).await;
        }
    }

    /// Every object of the four kinds that can be read and is not being deleted.
    pub fn objects(&self) -> Objects {
        let mut objects = Objects::default();
        each(&self.routes, |route| objects.routes.push(object(&route.metadata, &route.spec)));
        each(&self.policies, |policy| objects.policies.push(object(&policy.metadata, &policy.spec)));
        each(&self.lanes, |lane| objects.lanes.push(object(&lane.metadata, &lane.spec)));
        each(&self.fleets, |fleet| objects.fleets.push(object(&fleet.metadata, &fleet.spec)));
        objects
    }

    /// The same of one fleet.
    pub fn objects_of(&self, id: &FleetId) -> Objects {
        let here = |metadata: &ObjectMeta| metadata.namespace.as_deref() == Some(&id.namespace);
        let mut objects = Objects::default();
        each(&self.routes, |route| {
            if here(&route.metadata) && *route.spec.gateway == *id.name {
                objects.routes.push(object(&route.metadata, &route.spec));
            }
        });
        each(&self.policies, |policy| {
            if here(&policy.metadata) && *policy.spec.gateway == *id.name {
                objects.policies.push(object(&policy.metadata, &policy.spec));
            }
        });
        each(&self.lanes, |lane| {
            if here(&lane.metadata) && *lane.spec.gateway == *id.name {
                objects.lanes.push(object(&lane.metadata, &lane.spec));
            }
        });
        each(&self.fleets, |fleet| {
            if here(&fleet.metadata) && fleet.metadata.name.as_deref() == Some(&id.name) {
                objects.fleets.push(object(&fleet.metadata, &fleet.spec));
            }
        });
        objects
    }

    /// Every fleet that any object names, and those that exist.
    pub fn fleets(&self) -> Vec<FleetId> {
        let mut fleets = std::collections::BTreeSet::new();
        let mut add = |metadata: &ObjectMeta, name: &str| {
            fleets.insert(FleetId {
                namespace: metadata.namespace.clone().unwrap_or_default(),
                name: name.to_owned(),
            });
        };
        each(&self.routes, |route| add(&route.metadata, &route.spec.gateway));
        each(&self.policies, |policy| add(&policy.metadata, &policy.spec.gateway));
        each(&self.lanes, |lane| add(&lane.metadata, &lane.spec.gateway));
        each(&self.fleets, |fleet| add(&fleet.metadata, fleet.metadata.name.as_deref().unwrap_or_default()));
        fleets.into_iter().collect()
    }

    /// The `GatewayFleet` object, readable or not, being deleted or not.
    pub fn fleet(&self, id: &FleetId) -> Option<Arc<DeserializeGuard<GatewayFleet>>> {
        find(&self.fleets, &id.namespace, &id.name)
    }

    /// Objects as the API server has them, for the statuses in them.
    pub fn route(&self, namespace: &str, name: &str) -> Option<ProviderRoute> {
        find(&self.routes, namespace, name).and_then(|route| route.0.clone().ok())
    }

    /// The same of a policy.
    pub fn policy(&self, namespace: &str, name: &str) -> Option<HedgePolicy> {
        find(&self.policies, namespace, name).and_then(|policy| policy.0.clone().ok())
    }

    /// The same of a lane.
    pub fn lane(&self, namespace: &str, name: &str) -> Option<PriorityLane> {
        find(&self.lanes, namespace, name).and_then(|lane| lane.0.clone().ok())
    }

    /// Pods of a fleet, ending ones included.
    pub fn pods(&self, id: &FleetId) -> Vec<Arc<Pod>> {
        let all = self.pods.iter().flat_map(|store| {
            store.state_filter(|pod| {
                let labels = pod.metadata.labels.as_ref();
                pod.metadata.namespace.as_deref() == Some(&id.namespace)
                    && labels.and_then(|labels| labels.get(LABEL_FLEET)) == Some(&id.name)
            })
        });
        let mut pods: Vec<Arc<Pod>> = all.collect();
        pods.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        pods
    }

    /// A child as it lives, if it carries our label.
    pub fn child(&self, namespace: &str, kind: ChildKind, name: &str) -> Option<Arc<DynamicObject>> {
        let (_, stores) = self.children.iter().find(|(watched, _)| *watched == kind.kind())?;
        let reference = ObjectRef::new_with(name, resource(kind)).within(namespace);
        stores.iter().find_map(|store| store.get(&reference))
    }

    /// All children of one kind, of any fleet.
    pub fn children(&self, kind: ChildKind) -> Vec<Arc<DynamicObject>> {
        let stores = self.children.iter().filter(|(watched, _)| *watched == kind.kind());
        stores.flat_map(|(_, stores)| stores).flat_map(Store::state).collect()
    }

    /// Objects that cannot be read.
    pub fn undecodable(&self) -> Vec<Undecodable> {
        let mut found = Vec::new();
        unreadable(Kind::ProviderRoute, &self.routes, &mut found);
        unreadable(Kind::HedgePolicy, &self.policies, &mut found);
        unreadable(Kind::PriorityLane, &self.lanes, &mut found);
        unreadable(Kind::GatewayFleet, &self.fleets, &mut found);
        found
    }
}

impl Watching<'_> {
    /// One of the four kinds.
    fn kind<K>(&mut self, fleet: fn(&K) -> &str) -> Guarded<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + DeserializeOwned
            + Debug
            + Send
            + Sync
            + 'static,
    {
        self.start(&(), &watcher::Config::default(), slim, move |guard: &DeserializeGuard<K>| {
            guard.0.as_ref().ok().map(fleet)
        })
    }

    fn start<K, F>(
        &mut self,
        dynamic: &K::DynamicType,
        config: &watcher::Config,
        slim: fn(&mut K),
        fleet: F,
    ) -> Vec<Store<K>>
    where
        K: Resource + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
        K::Scope: NamespaceScope,
        K::DynamicType: Clone + Eq + std::hash::Hash + Send + Sync + Unpin,
        F: Fn(&K) -> Option<&str> + Clone + Send + 'static,
    {
        let everywhere = Api::<K>::all_with(self.client.clone(), dynamic);
        let scopes: Vec<Api<K>> = if self.namespaces.is_empty() {
            vec![everywhere]
        } else {
            self.namespaces.iter().map(|namespace| everywhere.clone().constrain(namespace)).collect()
        };
        let kind = K::kind(dynamic).into_owned();
        scopes
            .into_iter()
            .map(|api| {
                let writer = Writer::new(dynamic.clone());
                let store = writer.as_reader();
                let (wakes, metrics) = (self.wakes.clone(), self.metrics.clone());
                let follow =
                    follow(api, config.clone(), slim, writer, fleet.clone(), wakes, metrics, kind.clone());
                self.tasks.spawn(follow);
                store
            })
            .collect()
    }
}

#[expect(clippy::too_many_arguments, reason = "everything that one watch needs, once")]
async fn follow<K, F>(
    api: Api<K>,
    config: watcher::Config,
    slim: fn(&mut K),
    writer: Writer<K>,
    fleet: F,
    wakes: Arc<Wakes>,
    metrics: Arc<Metrics>,
    kind: String,
) where
    K: Resource + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
    K::DynamicType: Clone + Eq + std::hash::Hash + Send + Sync,
    F: Fn(&K) -> Option<&str>,
{
    let stream = watcher(api, config).backoff(Pauses::default()).modify(slim).reflect(writer);
    let mut stream = pin!(stream);
    let mut failing = false;
    while let Some(event) = stream.next().await {
        match event {
            Ok(watcher::Event::Apply(object) | watcher::Event::Delete(object)) => {
                wakes.touch(object.meta(), fleet(&object));
            }
            Ok(watcher::Event::InitDone) => {
                if failing {
                    tracing::info!(kind, "watching again");
                    failing = false;
                }
                wakes.touch_all();
            }
            Ok(_) => {}
            Err(error) => {
                metrics.watch_failed(&kind);
                if !failing {
                    tracing::warn!(kind, error = %explained(&error), "cannot watch; trying again until it works");
                    failing = true;
                }
            }
        }
    }
}

fn explained(error: &watcher::Error) -> String {
    let text = error.to_string();
    if text.contains("404") {
        return format!("{text}: are the CRDs installed? kubectl apply --server-side -f crds/");
    }
    text
}

/// Pauses between attempts to watch: an outage of the API server is over as soon as that is noticed.
#[derive(Clone, Debug, Default)]
struct Pauses(u32);

impl Iterator for Pauses {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let pause = Duration::from_millis(500 << self.0.min(4)).min(Duration::from_secs(5));
        self.0 += 1;
        Some(pause)
    }
}

impl Backoff for Pauses {
    fn reset(&mut self) {
        self.0 = 0;
    }
}

fn slim<K: Resource>(object: &mut K) {
    let metadata = object.meta_mut();
    metadata.managed_fields = None;
    if let Some(annotations) = &mut metadata.annotations {
        annotations.remove(LAST_APPLIED);
    }
}

fn slim_pod(pod: &mut Pod) {
    slim(pod);
    let volumes = pod.spec.take().and_then(|spec| spec.volumes);
    pod.spec = Some(PodSpec { volumes, ..PodSpec::default() });
}

fn object<S: Clone>(metadata: &ObjectMeta, spec: &S) -> Object<S> {
    let annotations = metadata.annotations.iter().flatten();
    Object {
        namespace: metadata.namespace.clone().unwrap_or_default(),
        name: metadata.name.clone().unwrap_or_default(),
        uid: metadata.uid.clone().unwrap_or_default(),
        generation: metadata.generation.unwrap_or_default(),
        annotations: annotations
            .filter(|(name, _)| name.starts_with(PREFIX))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
        spec: spec.clone(),
    }
}

/// Every object that can be read and is not being deleted.
fn each<K: Resource<DynamicType = ()> + Clone + 'static>(stores: &Guarded<K>, mut act: impl FnMut(&K)) {
    for guard in stores.iter().flat_map(Store::state) {
        if let Ok(object) = &guard.0
            && object.meta().deletion_timestamp.is_none()
        {
            act(object);
        }
    }
}

fn find<K>(stores: &Guarded<K>, namespace: &str, name: &str) -> Option<Arc<DeserializeGuard<K>>>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    let reference = ObjectRef::<DeserializeGuard<K>>::new(name).within(namespace);
    stores.iter().find_map(|store| store.get(&reference))
}

fn unreadable<K>(kind: Kind, stores: &Guarded<K>, found: &mut Vec<Undecodable>)
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    for guard in stores.iter().flat_map(Store::state) {
        if let Err(invalid) = &guard.0 {
            found.push(Undecodable {
                kind,
                namespace: invalid.metadata.namespace.clone().unwrap_or_default(),
                name: invalid.metadata.name.clone().unwrap_or_default(),
                generation: invalid.metadata.generation.unwrap_or_default(),
                error: invalid.error.clone(),
            });
        }
    }
}
