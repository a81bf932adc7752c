//! A fleet of one pod: what it was told, what it says, what the operator reports of each object.

use std::time::Duration;

use hedgerow::{
    domain::{Compiled, Installation, Latches, Objects, Snapshot, Tenancy, Verdict, compile},
    lint::{self, Source},
    status::{
        FleetFacts, LaneFacts, LaneFigures, Pod, Pods, Roll, RouteFacts, RouteFigures, Trouble,
        fleet as fleet_status, lane as lane_status, route as route_status,
    },
};
use hedgerow_config::{
    State,
    gateway::ObjectRef,
    state::{CredentialState, Rejected, RouteState},
};
use hedgerow_crds::{
    Kind,
    condition::Reason,
    v1alpha1::{GatewayFleetStatus, PriorityLaneStatus, ProviderRouteStatus},
};
use hedgerow_policy::time::Moment;
use serde::Serialize;
use serde_json::{Value, json};

/// 2026-11-29 03:12:40 UTC.
pub(crate) const NOW: Moment = Moment::from_secs(1_795_921_960);
/// Namespace of every object.
const NAMESPACE: &str = "team-a";

/// The objects of a fleet and its pod.
pub(crate) struct Stage {
    /// What authors wrote.
    pub(crate) snapshot: Snapshot,
    /// What the compiler made of it.
    pub(crate) compiled: Compiled,
    /// What the pod says.
    pub(crate) state: State,
    trouble: Option<Trouble>,
    roll: Option<Roll>,
}

impl Stage {
    /// The pod runs everything that is in force.
    pub(crate) fn ready(text: &str) -> Self {
        Self::governed(text, &[])
    }

    /// The same where the installation allows these endpoints only; none = all.
    pub(crate) fn governed(text: &str, endpoints: &[&str]) -> Self {
        let file = lint::read(&Source::new("recorded.yaml".to_owned(), text.to_owned()));
        assert_eq!(file.findings, []);
        let mut objects = Objects::default();
        for mut resource in lint::select(&[&file]) {
            resource.set_namespace(NAMESPACE);
            resource.set_generation(3);
            objects.push(resource);
        }
        let tenancy: Tenancy = serde_json::from_value(json!({ "allowedEndpoints": endpoints })).unwrap();
        let installation = Installation::new(json!({}), true, tenancy).unwrap();
        let snapshot = installation.govern(objects.snapshot(NAMESPACE, "default"));
        let compiled = compile(&snapshot, &Latches::default());
        let state = json!({
            "schema": hedgerow_config::state::SCHEMA, "nowUnixMs": NOW.as_millis(), "digest": "4be1c09a", "ready": true,
            "pod": { "uid": "u", "startedUnixMs": 1, "version": "0.1.0" }, "objects": compiled.config.objects,
        });
        Self { snapshot, compiled, state: serde_json::from_value(state).unwrap(), trouble: None, roll: None }
    }

    /// The pod still runs what was before.
    pub(crate) fn behind(text: &str) -> Self {
        let mut stage = Self::ready(text);
        stage.state.objects.clear();
        stage
    }

    /// The pod refuses what it was told.
    pub(crate) fn refusing(text: &str) -> Self {
        let mut stage = Self::behind(text);
        let message = "gateway.json: unknown schema hedgerow.dev/gateway/v2: upgrade the gateway".to_owned();
        stage.state.rejected = Some(Rejected { digest: "4be1c09a".into(), message });
        stage
    }

    /// The pod runs and takes no traffic yet.
    pub(crate) fn unready(text: &str) -> Self {
        let mut stage = Self::ready(text);
        stage.state.ready = false;
        stage
    }

    /// The pod's image cannot be had.
    pub(crate) fn failing(text: &str) -> Self {
        let mut stage = Self::unready(text);
        let message = "default-0: ErrImagePull: registry.example.com/hedgerow-gateway:0.1.0 not found: check spec.version and \
                       template.imagePullSecrets"
            .to_owned();
        stage.trouble = Some(Trouble { reason: Reason::RolloutFailed, message });
        stage
    }

    /// The pod has to be replaced, and another fleet has the turn.
    pub(crate) fn waiting(text: &str) -> Self {
        Self { roll: Some(Roll::Waits), ..Self::ready(text) }
    }

    /// The pods as the status functions want them.
    pub(crate) fn pods<'a>(&self, state: &'a State) -> Pods<'a> {
        let since = NOW - Duration::from_mins(1);
        let pod = Pod { name: "default-0", state: Some(state), gone: false, since, mounts: None };
        Pods {
            members: vec![pod],
            digest: "4be1c09a",
            now: NOW,
            trouble: self.trouble.clone(),
            roll: self.roll,
            ..Pods::default()
        }
    }

    /// What the compiler said of an object.
    pub(crate) fn verdict(&self, kind: Kind, name: &str) -> &Verdict {
        let mut verdicts = self.compiled.verdicts.iter();
        verdicts.find(|verdict| verdict.kind == kind && verdict.name == name).unwrap()
    }
}

/// An object's reference.
pub(crate) fn reference(kind: Kind, name: &str, uid: &str) -> ObjectRef {
    ObjectRef { kind: kind.as_str().into(), name: name.into(), uid: uid.into(), generation: 3 }
}

/// The object as the API server would show it.
pub(crate) fn shown(reference: &ObjectRef, spec: &impl Serialize, status: &impl Serialize) -> Value {
    json!({
        "apiVersion": hedgerow_crds::API_VERSION, "kind": reference.kind,
        "metadata": { "name": reference.name, "namespace": NAMESPACE, "generation": reference.generation },
        "spec": spec, "status": status,
    })
}

/// The only route, whose pod says this of it.
pub(crate) fn route(stage: &Stage, change: impl Fn(&mut RouteState, &mut Vec<CredentialState>)) -> Value {
    let object = &stage.snapshot.routes[0];
    let mut state = stage.state.clone();
    let mut of_route: RouteState = serde_json::from_value(json!({
        "route": object.name, "inFlight": 0, "breaker": "closed", "weightPercent": 100, "throttledUntilUnixMs": 0, "blocked": "",
    }))
    .unwrap();
    let mut credentials = vec![CredentialState {
        secret: "hedgerow-default-keys".into(),
        key: "openai".into(),
        present: true,
        secret_found: true,
        key_found: true,
        fingerprint: "0a1b2c3d".into(),
        since_unix_ms: NOW.as_millis(),
    }];
    change(&mut of_route, &mut credentials);
    (state.routes, state.credentials) = (vec![of_route], credentials);
    let reference = reference(Kind::ProviderRoute, &object.name, &object.uid);
    let pods = stage.pods(&state);
    let figures = RouteFigures { requests: 100, ..RouteFigures::default() };
    let verdict = stage.verdict(Kind::ProviderRoute, &object.name);
    let facts = RouteFacts { spec: &object.spec, verdict, object: &reference, pods: &pods, figures };
    shown(&reference, &object.spec, &route_status(&ProviderRouteStatus::default(), &facts))
}

/// A lane.
pub(crate) fn lane(stage: &Stage, name: &str) -> Value {
    let object = stage.snapshot.lanes.iter().find(|lane| lane.name == name).unwrap();
    let reference = reference(Kind::PriorityLane, name, &object.uid);
    let pods = stage.pods(&stage.state);
    let verdict = stage.verdict(Kind::PriorityLane, name);
    let facts = LaneFacts { verdict, object: &reference, pods: &pods, figures: LaneFigures::default() };
    shown(&reference, &object.spec, &lane_status(&PriorityLaneStatus::default(), &facts))
}

/// The fleet that exists by itself.
pub(crate) fn fleet(stage: &Stage) -> Value {
    let pods = stage.pods(&stage.state);
    let verdict = Verdict {
        kind: Kind::GatewayFleet,
        name: "default".into(),
        generation: 3,
        ..stage.verdict(Kind::ProviderRoute, "east").clone()
    };
    let failure = stage.trouble.as_ref().map(|trouble| trouble.message.clone());
    let address = "hedgerow-default.team-a.svc:8080";
    let spec = stage.snapshot.spec();
    let facts = FleetFacts { spec, verdict: &verdict, object: None, pods: &pods, address, failure };
    let reference = reference(Kind::GatewayFleet, "default", "u");
    shown(&reference, &json!({}), &fleet_status(&GatewayFleetStatus::default(), &facts))
}
