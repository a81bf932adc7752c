//! The examples for a newcomer, from Git: they become ready as Flux reads readiness, and nobody but Flux writes what they say.

use std::fs;

use serde_json::Value;

use crate::{api::root, delivery::Delivery, installation::Installation, team::Team};

/// File below `crds/examples`, resource and name.
const EXAMPLES: [[&str; 3]; 4] = [
    ["openai-east", "providerroutes", "openai-east"],
    ["chat", "hedgepolicies", "chat"],
    ["interactive", "prioritylanes", "interactive"],
    ["batch", "prioritylanes", "batch"],
];

#[tokio::test]
async fn the_examples_become_ready_from_git_and_nobody_but_the_engine_writes_a_spec() {
    let team = Team::new("examples");
    let _operator = Installation::of(&team, 1, &[]);
    team.kubectl(&["create", "secret", "generic", "hedgerow-default-keys", "--from-literal=openai=key"]);
    let delivery = Delivery::of(&team);
    let texts = EXAMPLES.map(|[file, ..]| {
        let path = root().join("crds/examples").join(file).with_extension("yaml");
        (file, fs::read_to_string(path).unwrap())
    });
    let files: Vec<_> = texts.iter().map(|(file, text)| (*file, Some(text.as_str()))).collect();
    let revision = delivery.commit("routes, lanes and a policy", &files);
    delivery.ready(&revision).await;

    let mut applied = Vec::new();
    for [_, resource, name] in EXAMPLES {
        let object = team.ours(resource, name).await.unwrap();
        let writers: Vec<_> = writers(&object, "f:spec").collect();
        assert_eq!(writers, [("kustomize-controller", "")], "spec of {resource}/{name}");
        let writers: Vec<_> = writers_of(&object, "hedgerow").collect();
        assert_eq!(writers, [("hedgerow-status", "status")], "ours of {resource}/{name}");
        applied.push(written(&object));
    }
    // Flux finds no difference between Git and the cluster: nothing to write again.
    delivery.reconciled().await;
    for ([_, resource, name], applied) in EXAMPLES.iter().zip(applied) {
        assert_eq!(written(&team.ours(resource, name).await.unwrap()), applied, "{resource}/{name}");
    }
}

/// Generation, and when Flux wrote last.
fn written(object: &Value) -> [Value; 2] {
    let flux = entries(object).find(|entry| entry["manager"] == "kustomize-controller").unwrap();
    [object["metadata"]["generation"].clone(), flux["time"].clone()]
}

/// Manager and subresource of every entry of `managedFields` that has a field at the top.
fn writers<'a>(object: &'a Value, field: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    entries(object).filter(move |entry| entry["fieldsV1"].get(field).is_some()).map(name)
}

/// The same of the managers whose names begin so.
fn writers_of<'a>(object: &'a Value, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    entries(object).map(name).filter(move |(manager, _)| manager.starts_with(prefix))
}

fn entries(object: &Value) -> impl Iterator<Item = &Value> {
    object["metadata"]["managedFields"].as_array().into_iter().flatten()
}

fn name(entry: &Value) -> (&str, &str) {
    (entry["manager"].as_str().unwrap_or_default(), entry["subresource"].as_str().unwrap_or_default())
}
