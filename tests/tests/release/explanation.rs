//! What `kubectl explain` has to say about every field.

use std::{thread, time::Duration};

use serde_json::Value;

use crate::stand::Stand;

const KINDS: [&str; 4] = ["ProviderRoute", "HedgePolicy", "PriorityLane", "GatewayFleet"];

/// Fields below a schema without a description, by path. `$ref`s lead to Kubernetes' own types.
fn bare(schema: &Value, path: &str, found: &mut Vec<String>) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        let own = field.get("allOf").is_none() && field.get("$ref").is_none();
        if own && field["description"].as_str().unwrap_or_default().is_empty() {
            found.push(path.clone());
        }
        bare(field, &path, found);
        bare(&field["items"], &path, found);
        bare(&field["additionalProperties"], &path, found);
    }
}

/// The published document. The API server publishes definitions some seconds after it has established them.
fn published(stand: &Stand) -> Value {
    for _ in 0..120 {
        let text = stand.ask(&["get", "--raw", "/openapi/v3/apis/hedgerow.dev/v1alpha1"]).unwrap_or_default();
        let document: Value = serde_json::from_str(&text).unwrap_or_default();
        let schemas = &document["components"]["schemas"];
        if KINDS.iter().all(|kind| schemas[format!("dev.hedgerow.v1alpha1.{kind}")].is_object()) {
            return document;
        }
        thread::sleep(Duration::from_millis(500));
    }
    panic!("the definitions are not published after a minute");
}

#[test]
fn no_field_is_without_a_description() {
    let stand = Stand::installed();
    let document = published(&stand);
    for kind in KINDS {
        let schema = &document["components"]["schemas"][format!("dev.hedgerow.v1alpha1.{kind}")];
        let mut found = Vec::new();
        bare(schema, kind, &mut found);
        assert!(schema["properties"]["spec"]["properties"].is_object(), "{kind} has no schema");
        assert_eq!(found, Vec::<String>::new());
    }
    for path in [
        "providerroutes.spec.auth",
        "hedgepolicies.spec.guardrails.duplicateRate",
        "prioritylanes.spec.queue",
        "gatewayfleets.spec.drain",
        "hedgepolicies.status.cohorts",
    ] {
        let text = stand.kubectl(&["explain", path]);
        assert!(
            text.contains("DESCRIPTION") && !text.contains("<empty>") && !text.contains("<no description>"),
            "{text}"
        );
    }
}
