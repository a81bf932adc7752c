//! The objects of a fleet, from the objects of users.

mod network;
mod restart;
mod size;

use hedgerow_crds::{Kind, default_secret_name};
use serde_json::{Value, json};

use super::*;
use crate::domain::{
    CohortKey, Compiled, Installation, Latches, Object, Objects, Resource, Snapshot, compile,
};

/// The objects of one fleet as JSON specs.
#[derive(Clone, Debug)]
struct Stage {
    fleet: &'static str,
    settings: Value,
    routes: Vec<(String, Value)>,
    policies: Vec<(String, Value)>,
    lanes: Vec<(String, Value)>,
    latches: Latches,
}

/// The longest name that a fleet can have.
const LONGEST: &str = "a-fleet-with-a-name-of-forty-characters0";

impl Stage {
    /// One route, one policy, one lane.
    fn new() -> Self {
        let policy =
            json!({ "mode": "Enforce", "cohorts": [{ "name": "chat", "match": { "stream": true } }] });
        Self {
            fleet: "blue",
            settings: json!({}),
            routes: vec![("east".to_owned(), route("east"))],
            policies: vec![("chat".to_owned(), policy)],
            lanes: vec![("rest".to_owned(), json!({}))],
            latches: Latches::new(),
        }
    }

    fn snapshot(&self) -> Snapshot {
        let mut objects = Objects::default();
        let object = |kind, name: &str, spec: &Value| {
            let mut spec = spec.clone();
            if kind != Kind::GatewayFleet {
                spec["gateway"] = self.fleet.into();
            }
            Object::local(kind, "team-a", name, spec)
        };
        let fleet = object(Kind::GatewayFleet, self.fleet, &self.settings);
        objects.push(Resource::Fleet(typed(fleet)));
        for (name, spec) in &self.routes {
            objects.push(Resource::Route(typed(object(Kind::ProviderRoute, name, spec))));
        }
        for (name, spec) in &self.policies {
            objects.push(Resource::Policy(typed(object(Kind::HedgePolicy, name, spec))));
        }
        for (name, spec) in &self.lanes {
            objects.push(Resource::Lane(typed(object(Kind::PriorityLane, name, spec))));
        }
        Installation::permissive().govern(objects.snapshot("team-a", self.fleet))
    }

    fn compiled(&self) -> Compiled {
        compile(&self.snapshot(), &self.latches)
    }

    fn children(&self) -> Vec<Child> {
        self.render(&self.compiled().config.write()).expect("a small configuration")
    }

    fn render(&self, config: &[u8]) -> Result<Vec<Child>, TooLarge> {
        let snapshot = self.snapshot();
        let owner = Some(Owner { uid: "5c2f".to_owned() });
        children(&Plan {
            identity: &Identity { namespace: "team-a".to_owned(), fleet: self.fleet.to_owned(), owner },
            spec: snapshot.spec(),
            image: &Image::default(),
            mounts: &Mounts::of(&snapshot),
            reach: &Reach::of(&self.compiled().config, snapshot.spec()),
            config,
            fleet_file: Some(b"{}"),
            history: Some(&[1, 2, 3]),
        })
    }

    fn child(&self, kind: ChildKind) -> Child {
        self.children().into_iter().find(|child| child.kind == kind).expect("a child of that kind")
    }
}

fn typed<S: serde::de::DeserializeOwned>(object: Object<Value>) -> Object<S> {
    let Object { namespace, name, uid, generation, annotations, spec } = object;
    let spec = serde_json::from_value(spec).expect("a valid spec");
    Object { namespace, name, uid, generation, annotations, spec }
}

fn route(region: &str) -> Value {
    json!({
        "api": "OpenAI", "endpoint": "https://api.example.com",
        "auth": { "secretRef": { "name": "hedgerow-keys", "key": "k" } },
        "failureDomain": { "provider": "p", "region": region },
        "models": [{ "name": "m", "pricing": { "inputMicrosPerMillion": 1, "outputMicrosPerMillion": 2 } }],
    })
}

#[test]
fn children_come_in_the_order_of_their_kinds_with_the_deployment_last() {
    let stage = Stage { settings: json!({ "autoscaling": { "mode": "CPU" } }), ..Stage::new() };
    let kinds: Vec<_> = stage.children().iter().map(|child| child.kind).collect();
    assert_eq!(kinds, ChildKind::ALL);
    assert_eq!(unwanted(stage.snapshot().spec()), []);
    assert_eq!(unwanted(Stage::new().snapshot().spec()), [ChildKind::Autoscaler]);
}

#[test]
fn every_child_says_what_it_is_and_whose() {
    let stage =
        Stage { fleet: LONGEST, settings: json!({ "autoscaling": { "mode": "CPU" } }), ..Stage::new() };
    for child in stage.children() {
        let object = &child.object;
        assert_eq!(object["apiVersion"], child.kind.api_version());
        assert_eq!(object["kind"], child.kind.kind());
        assert_eq!(object["metadata"]["name"], child.name.as_str());
        assert!(child.name.len() <= 63, "a DNS label: {}", child.name);
        assert_eq!(object["metadata"]["namespace"], "team-a");
        assert_eq!(
            object["metadata"]["labels"],
            json!({
                "app.kubernetes.io/instance": LONGEST, "app.kubernetes.io/managed-by": "hedgerow",
                "app.kubernetes.io/name": "hedgerow-gateway", "hedgerow.dev/fleet": LONGEST,
            })
        );
        assert_eq!(
            object["metadata"]["ownerReferences"],
            json!([{
                "apiVersion": "hedgerow.dev/v1alpha1", "controller": true, "kind": "GatewayFleet", "name": LONGEST,
                "uid": "5c2f",
            }])
        );
        assert!(object.get("status").is_none(), "status is the cluster's");
    }
}

#[test]
fn equal_plans_give_equal_children_and_a_changed_object_another_hash() {
    let stage = Stage::new();
    assert_eq!(stage.children(), stage.children());
    let other = Stage { settings: json!({ "service": { "port": 80 } }), ..Stage::new() };
    for (before, after) in stage.children().iter().zip(other.children()) {
        assert_eq!(before.hash == after.hash, before.object == after.object, "{:?}", before.kind);
    }
    assert_ne!(stage.child(ChildKind::Service).hash, other.child(ChildKind::Service).hash);
}

#[test]
fn a_secret_and_a_config_map_of_one_name_share_a_directory() {
    let mut stage = Stage::new();
    stage.routes[0].1["tls"] = json!({ "caConfigMapRef": { "name": "hedgerow-keys", "key": "ca.crt" } });
    stage.settings = json!({ "egress": { "caConfigMap": "corporate.ca" } });
    let pod = &stage.child(ChildKind::Deployment).object["spec"]["template"]["spec"];
    let paths: Vec<_> = pod["containers"][0]["volumeMounts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|mount| mount["mountPath"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        paths,
        [
            "/etc/hedgerow/config",
            "/etc/hedgerow/secrets/corporate.ca",
            "/etc/hedgerow/secrets/hedgerow-blue-keys",
            "/etc/hedgerow/secrets/hedgerow-keys",
        ]
    );
    let volumes = pod["volumes"].as_array().unwrap();
    let shared = volumes.iter().find(|volume| volume["name"] == "secret-hedgerow-keys").unwrap();
    assert_eq!(
        shared["projected"]["sources"],
        json!([
            { "configMap": { "name": "hedgerow-keys", "optional": true } },
            { "secret": { "name": "hedgerow-keys", "optional": true } },
        ])
    );
}

#[test]
fn names_of_secrets_that_cannot_name_volumes_are_hashed_and_stay_apart() {
    let long = |end: char| format!("{}{end}", "s".repeat(252));
    let mut stage = Stage::new();
    stage.settings = json!({ "secrets": [long('a'), long('b'), "with.dots", "with-dots"] });
    let pod = &stage.child(ChildKind::Deployment).object["spec"]["template"]["spec"];
    let names: std::collections::BTreeSet<_> =
        pod["volumes"].as_array().unwrap().iter().map(|volume| volume["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 7, "the configuration, the keys of fleet and route, four more: {names:?}");
    for name in names {
        assert!(name.len() <= 63 && !name.contains('.'), "a DNS label: {name}");
    }
}

#[test]
fn what_the_installation_does_not_allow_is_neither_mounted_nor_used() {
    let mut stage = Stage::new();
    stage.routes.push(("greedy".to_owned(), route("west")));
    stage.routes[1].1["auth"]["secretRef"]["name"] = "database".into();
    stage.settings =
        json!({ "clientAuth": { "type": "ApiKeys", "secretName": "other" }, "secrets": ["more"] });
    let installation = Installation::new(Value::Null, false, crate::domain::Tenancy::default()).unwrap();
    let mut snapshot = installation.govern(stage.snapshot());
    let mounts = Mounts::of(&snapshot);
    assert_eq!(mounts.secrets, [default_secret_name("blue"), "hedgerow-keys".to_owned()].into());

    let compiled = compile(&snapshot, &Latches::new());
    let routes: Vec<_> = compiled.config.routes.iter().map(|route| route.name.as_str()).collect();
    assert_eq!(routes, ["east"]);
    let key = CohortKey { policy: "chat".to_owned(), cohort: "chat".to_owned() };
    assert_eq!(compiled.config.cohorts[0].name, key.cohort);
    assert_eq!(
        compiled.config.cohorts[0].mode,
        hedgerow_config::cohort::Mode::Observe,
        "hedging is forbidden"
    );
    let verdicts: Vec<_> = compiled
        .verdicts
        .iter()
        .filter(|verdict| !verdict.message.is_empty())
        .map(|verdict| (verdict.name.as_str(), verdict.reason.as_str(), verdict.field.as_str()))
        .collect();
    assert_eq!(
        verdicts,
        [
            ("blue", "PartiallyAccepted", "spec.clientAuth.secretName"),
            ("greedy", "SecretNotAllowed", "spec.auth.secretRef"),
        ]
    );

    snapshot.routes[0].spec.endpoint = "https://vllm.models.svc".into();
    let refused = compile(&snapshot, &Latches::new()).verdicts;
    assert!(
        refused
            .iter()
            .any(|verdict| verdict.name == "east" && verdict.reason.as_str() == "EndpointNotAllowed")
    );
}
