//! One document: which kind it is, whether the API server would take it, and its object.

use std::sync::Arc;

use hedgerow_crds::{
    API_VERSION, GROUP, Kind,
    v1alpha1::{GatewayFleet, HedgePolicy, PriorityLane, ProviderRoute},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use super::{
    File, Source,
    finding::{Finding, Problem},
    schema,
    yaml::{self, Node, Path},
};
use crate::domain::{LOCAL, Object, Resource};

/// An object with its place in a file.
#[derive(Clone, Debug)]
pub struct Document {
    /// The object.
    pub resource: Resource,
    /// Its file.
    file: Arc<str>,
    /// Its text as a tree.
    node: Arc<Node>,
}

impl Document {
    /// The file that it stands in.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The line that it starts in.
    pub fn line(&self) -> u32 {
        self.node.at.line
    }

    /// A finding about one of its fields, at the place of that field.
    pub(super) fn finding(&self, rule: &str, path: &str, message: impl Into<String>) -> Finding {
        let at = self.node.locate(&Path::parse(path));
        Problem::error(at, rule, path, message).of(
            &self.file,
            self.resource.kind().as_str(),
            self.resource.name(),
        )
    }
}

/// Judges one document of a file and adds what comes of it.
pub(super) fn read(node: Node, source: &Source, file: &mut File) {
    let value = node.value();
    let name = value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let traps = yaml::traps(&node);
    let kind = match identify(&value) {
        Identity::Ours(kind) => kind,
        Identity::Foreign => return,
        Identity::Unclear(path, rule, message) => {
            let kind = value["kind"].as_str().unwrap_or_default();
            file.findings.push(Problem::error(node.locate(&path), rule, &path, message).of(
                &source.file,
                kind,
                &name,
            ));
            file.findings.extend(traps.into_iter().map(|(_, problem)| problem.of(&source.file, kind, &name)));
            return;
        }
    };
    file.objects += 1;
    let mut problems = judge(kind, &node, &value, &traps);
    problems.extend(traps.into_iter().map(|(_, problem)| problem));
    if problems.is_empty() {
        match decode(kind, &value, source.namespace.as_deref()) {
            Ok(resource) => {
                let document = Document { resource, file: source.file.as_str().into(), node: Arc::new(node) };
                file.documents.push(document);
                return;
            }
            // The schema and the types disagree: a defect of ours, said instead of hidden.
            Err(error) => problems.push(Problem::error(node.at, "schema/unreadable", "", error.to_string())),
        }
    }
    file.findings.extend(problems.into_iter().map(|problem| problem.of(&source.file, kind.as_str(), &name)));
}

/// The API server's verdict. What a YAML trap has spoilt is not judged a second time, and rules are asked only when
/// the schema holds, as the API server does it.
fn judge(kind: Kind, node: &Node, value: &Value, traps: &[(Path, Problem)]) -> Vec<Problem> {
    let faults = schema::faults(kind, &kind.normalize(value));
    let mut problems: Vec<_> = faults
        .into_iter()
        .filter(|fault| !traps.iter().any(|(trap, _)| fault.path.starts_with(trap)))
        .map(|fault| {
            let rule = format!("schema/{}", fault.rule);
            Problem::error(node.locate(&fault.path), rule, &fault.path, fault.message)
        })
        .collect();
    if problems.is_empty() && traps.is_empty() {
        problems.extend(kind.violations(value, None).into_iter().map(|violation| {
            let at = node.locate(&Path::parse(&violation.path));
            Problem::error(
                at,
                format!("cel/{}", unindexed(&violation.path)),
                &violation.path,
                violation.message,
            )
        }));
    }
    problems
}

/// The path without list positions, so that a rule has one name.
fn unindexed(path: &str) -> String {
    path.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest)).collect()
}

/// What a document says it is.
enum Identity {
    /// One of our kinds.
    Ours(Kind),
    /// An object of somebody else: none of our business.
    Foreign,
    /// Meant for us, or not an object at all.
    Unclear(Path, &'static str, String),
}

fn identify(value: &Value) -> Identity {
    let field = |name: &str| Path::default().key(name);
    let unclear = Identity::Unclear;
    let Value::Object(members) = value else {
        let message = "a Kubernetes object is a mapping with apiVersion, kind, metadata and spec".to_owned();
        return unclear(Path::default(), "schema/type", message);
    };
    let text = |name: &str| members.get(name).and_then(Value::as_str);
    let (Some(version), Some(kind)) = (text("apiVersion"), text("kind")) else {
        let missing = if text("kind").is_none() { "kind" } else { "apiVersion" };
        let message = format!(
            "{missing} is required; ours are apiVersion: {API_VERSION} and kind: ProviderRoute, HedgePolicy, PriorityLane or GatewayFleet"
        );
        return unclear(field(missing), "schema/required", message);
    };
    let group = version.split_once('/').map_or("", |(group, _)| group);
    let known = kind.parse::<Kind>();
    if group != GROUP {
        let meant = known.is_ok() || schema::nearest(group, [GROUP].into_iter()).is_some();
        let message = format!("{version} is not {API_VERSION}, the apiVersion of our kinds");
        return if meant { unclear(field("apiVersion"), "schema/enum", message) } else { Identity::Foreign };
    }
    match known {
        Ok(kind) if version == API_VERSION => Identity::Ours(kind),
        Ok(_) => unclear(
            field("apiVersion"),
            "schema/enum",
            format!("{version} does not exist: write {API_VERSION}"),
        ),
        Err(error) => {
            let near = schema::nearest(kind, Kind::ALL.iter().map(|kind| kind.as_str()));
            let message = near.map_or_else(
                || error.to_string(),
                |near| format!("there is no kind {kind}: did you mean {near}?"),
            );
            unclear(field("kind"), "schema/enum", message)
        }
    }
}

fn decode(kind: Kind, value: &Value, namespace: Option<&str>) -> Result<Resource, serde_json::Error> {
    // Status is not read: what the operator once wrote decides nothing here.
    let mut value = kind.normalize(value);
    if let Some(members) = value.as_object_mut() {
        members.remove("status");
    }
    Ok(match kind {
        Kind::ProviderRoute => {
            let object: ProviderRoute = serde_json::from_value(value)?;
            Resource::Route(placed(kind, object.metadata, object.spec, namespace))
        }
        Kind::HedgePolicy => {
            let object: HedgePolicy = serde_json::from_value(value)?;
            Resource::Policy(placed(kind, object.metadata, object.spec, namespace))
        }
        Kind::PriorityLane => {
            let object: PriorityLane = serde_json::from_value(value)?;
            Resource::Lane(placed(kind, object.metadata, object.spec, namespace))
        }
        Kind::GatewayFleet => {
            let object: GatewayFleet = serde_json::from_value(value)?;
            Resource::Fleet(placed(kind, object.metadata, object.spec, namespace))
        }
    })
}

fn placed<S>(kind: Kind, metadata: ObjectMeta, spec: S, namespace: Option<&str>) -> Object<S> {
    let written = metadata.namespace.as_deref();
    let object = Object::local(
        kind,
        namespace.or(written).unwrap_or(LOCAL),
        metadata.name.as_deref().unwrap_or_default(),
        spec,
    );
    Object { annotations: metadata.annotations.unwrap_or_default(), ..object }
}
