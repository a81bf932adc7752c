//! The rules of GatewayFleet.

use hedgerow_crds::Kind::GatewayFleet;
use serde_json::json;

use super::{fails, passes, valid};

#[test]
fn the_name_leaves_room_for_the_children() {
    let mut fleet = valid(GatewayFleet);
    fleet["metadata"]["name"] = json!("f".repeat(40));
    assert_eq!(GatewayFleet.violations(&fleet, None), []);
    fleet["metadata"]["name"] = json!("f".repeat(41));
    let told: Vec<_> = GatewayFleet.violations(&fleet, None).iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "the name of a fleet has at most 40 characters, because its children are named hedgerow-<fleet>-..."
        ]
    );
}

#[test]
fn client_keys_come_from_a_secret() {
    passes(GatewayFleet, &json!({ "clientAuth": { "type": "ApiKeys", "secretName": "clients" } }));
    fails(
        GatewayFleet,
        &json!({ "clientAuth": { "type": "ApiKeys" } }),
        "spec.clientAuth.secretName: secretName is required with type: ApiKeys",
    );
    fails(
        GatewayFleet,
        &json!({ "clientAuth": { "secretName": "clients" } }),
        "spec.clientAuth.secretName: secretName has a meaning only with type: ApiKeys; remove it or change type",
    );
}

#[test]
fn tenants_come_from_where_there_is_something() {
    passes(GatewayFleet, &json!({ "tenantFrom": { "type": "Header", "header": "x-team" } }));
    passes(GatewayFleet, &json!({ "tenantFrom": { "type": "None" } }));
    fails(
        GatewayFleet,
        &json!({ "tenantFrom": { "type": "Header" } }),
        "spec.tenantFrom.header: header is required with type: Header",
    );
    fails(
        GatewayFleet,
        &json!({ "tenantFrom": { "type": "None", "header": "x-team" } }),
        "spec.tenantFrom.header: header has a meaning only with type: Header; remove it or change type",
    );
    fails(
        GatewayFleet,
        &json!({ "tenantFrom": { "type": "ApiKey" } }),
        "spec.tenantFrom.type: tenants can come from client keys only with clientAuth.type: ApiKeys",
    );
}

#[test]
fn an_autoscaler_has_a_range() {
    fails(
        GatewayFleet,
        &json!({ "autoscaling": { "mode": "CPU", "min": 11 } }),
        "spec.autoscaling.min: min (11) must be at most max (10): lower min or raise max",
    );
}

#[test]
fn durations_have_bounds() {
    for (field, patch, limits) in [
        (
            "drain.endpointDelay",
            json!({ "drain": { "endpointDelay": "6m" } }),
            "endpointDelay (6m) must lie between 0s and 5m",
        ),
        ("drain.timeout", json!({ "drain": { "timeout": "0s" } }), "timeout (0s) must lie between 1s and 2h"),
        (
            "sseKeepAlive.interval",
            json!({ "sseKeepAlive": { "interval": "11m" } }),
            "interval (11m) must lie between 0s and 10m",
        ),
    ] {
        fails(GatewayFleet, &patch, &format!("spec.{field}: {limits}"));
    }
}

#[test]
fn defaults_for_requests_in_no_cohort_obey_the_same_rules() {
    fails(
        GatewayFleet,
        &json!({ "defaults": { "deadline": { "stream": "31m" } } }),
        "spec.defaults.deadline.stream: stream (31m) must be at most total (30m): lower stream or raise total",
    );
}

#[test]
fn traces_go_to_a_collector_and_never_to_a_metadata_service() {
    for endpoint in ["http://otel-collector.observability.svc:4318", "https://otel.example.com/team"] {
        passes(GatewayFleet, &json!({ "traces": { "endpoint": endpoint, "samplePercent": 0 } }));
    }
    fails(
        GatewayFleet,
        &json!({ "traces": { "endpoint": "http://169.254.169.254" } }),
        "spec.traces.endpoint: endpoint must not be a link-local or metadata address: name the provider's host",
    );
    fails(
        GatewayFleet,
        &json!({ "traces": { "endpoint": "https://key:secret@otel.example.com" } }),
        "spec.traces.endpoint: endpoint must be a plain base URL: no credentials, no query, no fragment, no escapes",
    );
}
