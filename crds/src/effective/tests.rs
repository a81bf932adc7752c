use serde_json::json;

use super::*;
use crate::v1alpha1::{
    GatewayFleetSpec, HedgePolicySpec, ProviderRouteSpec, gateway_fleet::TenantSource, hedge_policy::Mode,
};

fn policy(extra: &serde_json::Value) -> HedgePolicySpec {
    let mut spec =
        json!({ "cohorts": [{ "name": "a" }, { "name": "b", "mode": "Observe", "sharePercent": 10 }] });
    spec.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
    serde_json::from_value(spec).expect("a policy")
}

fn route(extra: &serde_json::Value) -> ProviderRouteSpec {
    let mut spec = json!({
        "api": "OpenAI", "endpoint": "https://api.example.com", "auth": { "secretRef": { "key": "k" } },
        "failureDomain": { "provider": "p", "region": "r" }, "models": [{ "name": "m" }],
    });
    spec.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
    serde_json::from_value(spec).expect("a route")
}

#[test]
fn a_cohort_takes_the_policys_mode_unless_it_has_its_own() {
    let all = cohorts(&policy(&json!({ "mode": "Enforce" })));
    assert_eq!((all[0].mode, all[0].share_percent), (Mode::Enforce, 100));
    assert_eq!((all[1].mode, all[1].share_percent), (Mode::Observe, 10));
    assert!(!all[0].hedge_warm_cache);
}

#[test]
fn suspension_of_policy_or_cohort_disables() {
    let all = cohorts(&policy(&json!({ "mode": "Enforce", "suspend": true })));
    assert!(all.iter().all(|c| c.mode == Mode::Disabled));
    let one =
        policy(&json!({ "mode": "Enforce", "cohorts": [{ "name": "a", "suspend": true }, { "name": "b" }] }));
    assert_eq!(cohorts(&one).iter().map(|c| c.mode).collect::<Vec<_>>(), [Mode::Disabled, Mode::Enforce]);
}

#[test]
fn an_objective_is_for_99_percent_of_requests() {
    let spec = policy(&json!({ "cohorts": [{ "name": "a", "objective": { "firstToken": "2s" } }] }));
    assert_eq!(cohort(&spec, &spec.cohorts[0]).objective.map(|o| o.percent), Some(99));
}

#[test]
fn a_model_takes_name_and_time_out_from_the_route() {
    let model = &models(&route(&json!({})))[0];
    assert_eq!(model.upstream_name, "m");
    assert_eq!(model.first_token_timeout.as_str(), "300s");
    assert_eq!(model.deployment, None);
    assert_eq!(model.pricing, None);
}

#[test]
fn half_a_price_list_is_unpriced_and_cached_input_costs_at_most_input() {
    let spec = route(&json!({ "models": [
        { "name": "half", "pricing": { "inputMicrosPerMillion": 5 } },
        { "name": "whole", "pricing": { "inputMicrosPerMillion": 5, "outputMicrosPerMillion": 9 } },
    ] }));
    let all = models(&spec);
    assert_eq!(all[0].pricing, None);
    assert_eq!(
        all[1].pricing.map(|p| (p.cached_input_micros_per_million, p.cache_write_micros_per_million)),
        Some((5, 5))
    );
}

#[test]
fn an_azure_model_is_deployed_under_its_upstream_name_unless_listed() {
    let spec = route(&json!({
        "api": "AzureOpenAI", "azure": { "deployments": { "listed": "blue" } },
        "models": [{ "name": "listed" }, { "name": "free", "upstreamName": "up" }, { "name": "*" }],
    }));
    let names: Vec<_> = models(&spec).into_iter().map(|m| m.deployment.map(|d| d.0)).collect();
    assert_eq!(names, [Some("blue".to_owned()), Some("up".to_owned()), None]);
}

#[test]
fn references_default_to_the_fleet() {
    let spec = route(&json!({ "gateway": "blue" }));
    let key = secret(&spec).expect("a reference");
    assert_eq!((key.name.0.as_str(), key.key.0.as_str()), ("hedgerow-blue-keys", "k"));
    assert_eq!(quota_group("east", &spec), "route/east");
    assert_eq!(quota_group("east", &route(&json!({ "quotaGroup": "org" }))), "org");
}

#[test]
fn tenants_come_from_client_keys_when_there_are_any() {
    let of = |spec: serde_json::Value| {
        tenant_source(&serde_json::from_value::<GatewayFleetSpec>(spec).expect("a fleet")).0
    };
    assert_eq!(of(json!({})), TenantSource::None);
    assert_eq!(of(json!({ "clientAuth": { "type": "ApiKeys", "secretName": "s" } })), TenantSource::ApiKey);
    assert_eq!(of(json!({ "tenantFrom": { "type": "Header", "header": "x-team" } })), TenantSource::Header);
}
