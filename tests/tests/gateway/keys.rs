//! Client keys, tenants and provider credentials.

use hedgerow_config::{
    route::{Auth, AuthScheme, SecretKey},
    settings::{ClientAuth, ClientAuthKind, TenantFrom},
};
use hedgerow_sim::{Dialect, Provider, ProviderConfig};
use serde_json::Value;

use crate::stand::{Stand, chat, config, header, provider, route};

#[tokio::test]
async fn a_client_needs_a_known_key_and_is_the_tenant_that_the_key_names() {
    let (a, b) = (provider("region-a", Dialect::OpenAi).await, provider("region-b", Dialect::OpenAi).await);
    let mut config = config(vec![route(&a), route(&b)]);
    config.settings.client_auth =
        ClientAuth { kind: ClientAuthKind::ApiKeys, secret_name: Some("clients".into()) };
    config.settings.tenant_from = TenantFrom::ApiKey;
    config.routes[0].tenants = vec!["team-a".into()];
    config.routes[1].tenants = vec!["team-b".into()];
    let secrets = [("clients", "team-a", "key-a"), ("clients", "team-b.laptop", "key-b\n")];
    let stand = Stand::with_secrets(config, &secrets).await;
    for (key, route) in [("key-a", "region-a"), ("key-b", "region-b")] {
        let answer = stand.chat(&chat("hello", false)).bearer_auth(key).send().await.unwrap();
        assert_eq!((answer.status().as_u16(), header(&answer, "x-hedgerow-route")), (200, route));
    }
    let unknown = stand.chat(&chat("hello", false)).bearer_auth("key-c").send().await.unwrap();
    assert_eq!(unknown.status(), 401);
    let none = stand.chat(&chat("hello", false)).send().await.unwrap();
    assert_eq!(none.status(), 401);
    let body: Value = none.json().await.unwrap();
    assert_eq!(body["error"]["code"], "gateway_unauthorized", "{body}");
    // The client's own key never reaches a provider.
    for sim in [&a, &b] {
        assert!(sim.seen().iter().all(|seen| !seen.headers.contains_key("authorization")));
    }
    stand.idle().await;
}

async fn keyed(name: &str, key: &str) -> Provider {
    let own =
        ProviderConfig { record: 8, api_key: Some(key.into()), ..ProviderConfig::new(name, Dialect::OpenAi) };
    Provider::start(own).await.unwrap()
}

fn bearer() -> Auth {
    let secret = SecretKey { name: "providers".into(), key: "openai".into() };
    Auth { scheme: AuthScheme::Bearer, header: None, secret: Some(secret) }
}

#[tokio::test]
async fn a_routes_key_is_put_on_its_attempts() {
    let sim = keyed("region-a", "sk-right").await;
    let mut config = config(vec![route(&sim)]);
    config.routes[0].auth = bearer();
    let stand = Stand::with_secrets(config, &[("providers", "openai", "sk-right")]).await;
    let answer = stand.chat(&chat("hello", false)).send().await.unwrap();
    assert_eq!(answer.status(), 200);
}

#[tokio::test]
async fn a_refused_key_blocks_its_route_and_the_other_one_serves() {
    let (a, b) = (keyed("region-a", "sk-right").await, provider("region-b", Dialect::OpenAi).await);
    let mut config = config(vec![route(&a), route(&b)]);
    config.routes[0].auth = bearer();
    config.routes[1].tier = 1;
    let stand = Stand::with_secrets(config, &[("providers", "openai", "sk-wrong")]).await;
    for attempts in ["2", "1"] {
        let answer = stand.chat(&chat("hello", false)).send().await.unwrap();
        assert_eq!((answer.status().as_u16(), header(&answer, "x-hedgerow-route")), (200, "region-b"));
        assert_eq!(header(&answer, "x-hedgerow-attempts"), attempts);
    }
    let refused = &stand.running.runtime.state().routes[0];
    assert_eq!(refused.outcomes.get("failed"), Some(&1), "asked once: {refused:?}");
    assert_eq!(refused.blocked, "CredentialsRejected");
    drop(a);
}

#[tokio::test]
async fn a_missing_secret_takes_its_route_out_and_says_so() {
    let (a, b) = (provider("region-a", Dialect::OpenAi).await, provider("region-b", Dialect::OpenAi).await);
    let mut config = config(vec![route(&a), route(&b)]);
    config.routes[0].auth = bearer();
    let stand = Stand::start(config).await;
    let answer = stand.chat(&chat("hello", false)).send().await.unwrap();
    assert_eq!(header(&answer, "x-hedgerow-route"), "region-b");
    assert_eq!(stand.running.runtime.state().routes[0].blocked, "CredentialMissing");
}

#[tokio::test]
async fn the_callers_own_key_goes_through_and_binds_the_request_to_one_route() {
    let (a, b) = (keyed("region-a", "sk-own").await, keyed("region-b", "sk-own").await);
    let mut config = config(vec![route(&a), route(&b)]);
    for route in &mut config.routes {
        route.auth.scheme = AuthScheme::Passthrough;
    }
    let stand = Stand::start(config).await;
    let right = stand.chat(&chat("hello", false)).bearer_auth("sk-own").send().await.unwrap();
    assert_eq!(right.status(), 200);
    for _ in 0..8 {
        let wrong = stand.chat(&chat("hello", false)).bearer_auth("sk-other").send().await.unwrap();
        assert_eq!((wrong.status().as_u16(), header(&wrong, "x-hedgerow-attempts")), (401, "1"));
    }
    // Somebody's bad key is no judgement on the route.
    let right = stand.chat(&chat("hello", false)).bearer_auth("sk-own").send().await.unwrap();
    assert_eq!(right.status(), 200);
    assert_eq!(a.stats().requests.min(b.stats().requests), 0, "one home route");
}
