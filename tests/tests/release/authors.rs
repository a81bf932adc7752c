//! Two authors with the same right to write routes; one of them may read the key that the routes send.

use crate::stand::{Stand, role};

const ROUTES: &str = "{apiGroups: [hedgerow.dev], resources: [providerroutes, gatewayfleets], verbs: [get, create, update, patch]}";
const THE_KEY: &str =
    "{apiGroups: [''], resources: [secrets], resourceNames: [hedgerow-default-keys], verbs: [get]}";

fn route(name: &str, host: &str, auth: &str) -> String {
    format!(
        "apiVersion: hedgerow.dev/v1alpha1\nkind: ProviderRoute\nmetadata: {{name: {name}}}\nspec:\n  api: OpenAI\n  \
         endpoint: https://{host}\n  auth: {auth}\n  failureDomain: {{provider: openai, region: us}}\n  models: [{{name: m}}]\n"
    )
}

fn refused(outcome: Result<String, String>, words: &str) {
    let refusal = outcome.expect_err("it has to be refused");
    assert!(refusal.contains(words), "{refusal}");
}

#[test]
fn who_may_not_read_a_secret_cannot_make_a_gateway_send_it() {
    let stand = Stand::installed();
    stand.write(&format!("{}---\n{}", role("ann", &[ROUTES, THE_KEY]), role("bob", &[ROUTES])));
    let bearer = "{secretRef: {key: openai}}";
    let mine = route("mine", "api.openai.com", bearer);
    stand.apply("ann", &mine).unwrap();
    let message = &format!("you may not get Secret hedgerow-default-keys in namespace {}", stand.team);
    refused(stand.apply("bob", &route("bobs", "evil.example.com", bearer)), message);
    // The key could also be led away by an edit of somebody else's route.
    refused(stand.apply("bob", &route("mine", "evil.example.com", bearer)), message);
    let named = "{secretRef: {name: hedgerow-default-keys, key: openai}}";
    refused(stand.apply("bob", &route("bobs", "evil.example.com", named)), message);
    refused(
        stand.apply("ann", &route("other", "api.openai.com", "{secretRef: {name: hedgerow-other, key: k}}")),
        "Secret hedgerow-other",
    );
    let authorities = format!(
        "{}  tls: {{caSecretRef: {{name: hedgerow-ca, key: ca.crt}}}}\n",
        route("tls", "a.example.com", "{type: None}")
    );
    refused(stand.apply("bob", &authorities), "you may not get Secret hedgerow-ca");
    // What sends no key is his to write, and so is metadata.
    stand.apply("bob", &route("bobs", "api.openai.com", "{type: Passthrough}")).unwrap();
    let labelled = stand.attempt("bob", &["-n", &stand.team, "label", "providerroute/mine", "team=a"]);
    labelled.unwrap();
}

#[test]
fn who_may_not_read_secrets_cannot_put_a_proxy_between_gateways_and_providers() {
    let stand = Stand::installed();
    let all = "{apiGroups: [''], resources: [secrets], verbs: [get]}";
    stand.write(&format!("{}---\n{}", role("ann", &[ROUTES, all]), role("bob", &[ROUTES])));
    let fleet = |spec: &str| {
        format!(
            "apiVersion: hedgerow.dev/v1alpha1\nkind: GatewayFleet\nmetadata: {{name: default}}\nspec: {spec}\n"
        )
    };
    stand.apply("bob", &fleet("{replicas: 1}")).unwrap();
    let message = "decide who sees the keys";
    refused(stand.apply("bob", &fleet("{egress: {httpsProxy: 'http://evil.example.com:3128'}}")), message);
    refused(stand.apply("bob", &fleet("{traces: {endpoint: 'http://kubernetes.default.svc'}}")), message);
    refused(stand.apply("bob", &fleet("{template: {env: [{name: SSL_CERT_FILE, value: /etc/x}]}}")), message);
    stand.apply("ann", &fleet("{egress: {httpsProxy: 'http://proxy.example.com:3128'}}")).unwrap();
    // Once it is there, whoever cannot set it cannot change anything else beside it either, but metadata.
    stand.attempt("bob", &["-n", &stand.team, "label", "gatewayfleet/default", "team=a"]).unwrap();
}
