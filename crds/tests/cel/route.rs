//! The rules of ProviderRoute beside those of the endpoint.

use hedgerow_crds::Kind::ProviderRoute;
use serde_json::json;

use super::{fails, passes, verdict};

#[test]
fn a_key_is_referenced_exactly_where_one_is_sent() {
    passes(ProviderRoute, &json!({ "auth": { "type": "Header", "header": "x-api-key" } }));
    passes(ProviderRoute, &json!({ "auth": { "type": "None", "secretRef": null } }));
    passes(ProviderRoute, &json!({ "auth": { "type": "Passthrough", "secretRef": null } }));
    fails(
        ProviderRoute,
        &json!({ "auth": { "secretRef": null } }),
        "spec.auth.secretRef: secretRef is required with type: Bearer or Header",
    );
    fails(
        ProviderRoute,
        &json!({ "auth": { "type": "None" } }),
        "spec.auth.secretRef: secretRef has a meaning only with type: Bearer or Header; remove it or change type",
    );
    fails(
        ProviderRoute,
        &json!({ "auth": { "type": "Header" } }),
        "spec.auth.header: header is required with type: Header",
    );
    fails(
        ProviderRoute,
        &json!({ "auth": { "header": "x-api-key" } }),
        "spec.auth.header: header has a meaning only with type: Header; remove it or change type",
    );
}

#[test]
fn a_clients_credential_never_goes_out_in_clear() {
    fails(
        ProviderRoute,
        &json!({ "auth": { "type": "Passthrough", "secretRef": null }, "insecureHttp": true }),
        "spec.auth.type: Passthrough would send the client's own credential unencrypted: remove insecureHttp or use \
         another type",
    );
}

#[test]
fn azure_is_for_azure() {
    passes(ProviderRoute, &json!({ "api": "AzureOpenAI", "azure": { "deployments": { "m": "d" } } }));
    fails(
        ProviderRoute,
        &json!({ "azure": {} }),
        "spec.azure: azure has a meaning only with api: AzureOpenAI; remove it or change api",
    );
    fails(
        ProviderRoute,
        &json!({ "api": "AzureOpenAI", "azure": { "deployments": { "m".repeat(129): "d" } } }),
        "spec.azure.deployments: a model's name has at most 128 characters",
    );
}

#[test]
fn static_headers_are_no_credentials() {
    passes(ProviderRoute, &json!({ "headers": { "OpenAI-Project": "p" } }));
    fails(
        ProviderRoute,
        &json!({ "headers": { "Authorization": "x" } }),
        "spec.headers: credentials and connection headers don't belong here: use auth for credentials",
    );
    fails(
        ProviderRoute,
        &json!({ "headers": { "a b": "x" } }),
        "spec.headers: a header name has 1 to 64 letters, digits and dashes",
    );
}

#[test]
fn authorities_come_from_one_place() {
    let reference = json!({ "name": "ca", "key": "ca.crt" });
    passes(ProviderRoute, &json!({ "tls": { "caSecretRef": reference } }));
    fails(
        ProviderRoute,
        &json!({ "tls": { "caSecretRef": reference, "caConfigMapRef": reference } }),
        "spec.tls.caConfigMapRef: set either caSecretRef or caConfigMapRef, not both",
    );
}

#[test]
fn durations_have_bounds() {
    for (field, patch, limits) in [
        ("rampUp.every", json!({ "rampUp": { "every": "25h" } }), "every (25h) must lie between 1s and 24h"),
        (
            "timeouts.connect",
            json!({ "timeouts": { "connect": "10ms" } }),
            "connect (10ms) must lie between 50ms and 60s",
        ),
        (
            "timeouts.firstToken",
            json!({ "timeouts": { "firstToken": "2h" } }),
            "firstToken (2h) must lie between 100ms and 1h",
        ),
        (
            "timeouts.idleBytes",
            json!({ "timeouts": { "idleBytes": "0s" } }),
            "idleBytes (0s) must lie between 100ms and 1h",
        ),
        (
            "timeouts.idleTokens",
            json!({ "timeouts": { "idleTokens": "61m" } }),
            "idleTokens (61m) must lie between 100ms and 1h",
        ),
        (
            "breaker.window",
            json!({ "breaker": { "window": "10ms" } }),
            "window (10ms) must lie between 1s and 1h",
        ),
        (
            "breaker.openFor",
            json!({ "breaker": { "openFor": "99ms" } }),
            "openFor (99ms) must lie between 100ms and 1h",
        ),
        (
            "breaker.maxOpenFor",
            json!({ "breaker": { "maxOpenFor": "25h" } }),
            "maxOpenFor (25h) must lie between 100ms and 24h",
        ),
        (
            "onCancel.audit.maxTime",
            json!({ "onCancel": { "audit": { "maxTime": "2h" } } }),
            "maxTime (2h) must lie between 100ms and 1h",
        ),
        (
            "models[0].firstTokenTimeout",
            json!({ "models": [{ "name": "m", "firstTokenTimeout": "2h" }] }),
            "firstTokenTimeout (2h) must lie between 100ms and 1h",
        ),
    ] {
        fails(ProviderRoute, &patch, &format!("spec.{field}: {limits}"));
    }
}

#[test]
fn what_is_no_duration_is_reported_once() {
    for text in ["5", "1 s", "-1s", "1d", "1µs"] {
        fails(
            ProviderRoute,
            &json!({ "timeouts": { "connect": text } }),
            &format!(
                "spec.timeouts.connect: '{text}' is not a duration: write for example 500ms, 30s, 5m or 1h30m"
            ),
        );
    }
    fails(
        ProviderRoute,
        &json!({ "breaker": { "openFor": "soon" } }),
        "spec.breaker.openFor: 'soon' is not a duration: write for example 500ms, 30s, 5m or 1h30m",
    );
}

#[test]
fn a_breaker_opens_at_most_for_its_maximum() {
    passes(ProviderRoute, &json!({ "breaker": { "openFor": "5m", "maxOpenFor": "300s" } }));
    fails(
        ProviderRoute,
        &json!({ "breaker": { "openFor": "6m" } }),
        "spec.breaker.openFor: openFor (6m) must be at most maxOpenFor (300s): lower openFor or raise maxOpenFor",
    );
}

#[test]
fn all_errors_are_told_together() {
    let told = verdict(
        ProviderRoute,
        &json!({ "endpoint": "http://10.0.0.7", "azure": {}, "timeouts": { "connect": "2m" } }),
    );
    assert_eq!(told.len(), 3, "{told:?}");
}
