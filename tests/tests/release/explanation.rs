//! What `kubectl explain` has to say about every field.

use serde_json::Value;

use crate::stand::Stand;

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

#[test]
fn no_field_is_without_a_description() {
    let stand = Stand::installed();
    let document = stand.kubectl(&["get", "--raw", "/openapi/v3/apis/hedgerow.dev/v1alpha1"]);
    let document: Value = serde_json::from_str(&document).unwrap();
    for kind in ["ProviderRoute", "HedgePolicy", "PriorityLane", "GatewayFleet"] {
        let schema = &document["components"]["schemas"][format!("dev.hedgerow.v1alpha1.{kind}")];
        let mut found = Vec::new();
        bare(schema, kind, &mut found);
        assert!(schema["properties"]["spec"]["properties"].is_object(), "{kind} has no schema");
        assert_eq!(found, Vec::<String>::new());
    }
    for path in [
        "proute.spec.auth",
        "hp.spec.guardrails.duplicateRate",
        "pl.spec.queue",
        "gf.spec.drain",
        "hp.status.cohorts",
    ] {
        let text = stand.kubectl(&["explain", path]);
        assert!(
            text.contains("DESCRIPTION") && !text.contains("<empty>") && !text.contains("<no description>"),
            "{text}"
        );
    }
}
