//! Who may connect to pods, and where pods may connect to.

use super::*;

fn policy(settings: Value) -> Value {
    let mut stage = Stage { settings, ..Stage::new() };
    stage.routes.push(("own".to_owned(), route("own")));
    stage.routes[1].1["endpoint"] = "http://vllm.models.svc:8000".into();
    stage.child(ChildKind::NetworkPolicy).object["spec"].take()
}

#[test]
fn who_may_send_requests_follows_from_how_clients_authenticate() {
    let own = json!({ "podSelector": {} });
    let everywhere = json!({ "namespaceSelector": {} });
    let one = json!({ "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": "apps" } } });
    let two = json!({ "namespaceSelector": { "matchExpressions": [
        { "key": "kubernetes.io/metadata.name", "operator": "In", "values": ["apps", "batch"] },
    ] } });
    let keys =
        |allow: Value| json!({ "clientAuth": { "type": "ApiKeys", "secretName": "s", "allowFrom": allow } });
    let open = |allow: Value| json!({ "clientAuth": { "allowFrom": allow } });
    for (settings, from) in [
        (open(json!([])), json!([own])),
        (open(json!(["apps"])), json!([own, one])),
        (open(json!(["batch", "apps"])), json!([own, two])),
        (open(json!(["*"])), json!([everywhere])),
        (keys(json!([])), Value::Null),
        (keys(json!(["*"])), Value::Null),
        (keys(json!(["apps"])), json!([own, one])),
    ] {
        let spec = policy(settings.clone());
        assert_eq!(spec["ingress"][0].get("from").cloned().unwrap_or_default(), from, "{settings}");
        assert_eq!(spec["ingress"][0]["ports"], json!([{ "port": 8080, "protocol": "TCP" }]));
        assert_eq!(spec["ingress"][1]["ports"], json!([{ "port": 9090, "protocol": "TCP" }]));
        assert_eq!(spec["ingress"][1]["from"], json!([everywhere]));
    }
}

#[test]
fn pods_reach_names_the_ports_of_their_endpoints_and_no_metadata_service() {
    let spec = policy(json!({
        "egress": { "httpsProxy": "http://proxy.example.com:3128" },
        "traces": { "endpoint": "http://otel.watch.svc:4318" },
    }));
    assert_eq!(spec["policyTypes"], json!(["Ingress", "Egress"]));
    let [names, outside, inside] = spec["egress"].as_array().unwrap().as_slice() else {
        unreachable!("three rules: {spec}")
    };
    assert_eq!(
        names,
        &json!({ "ports": [{ "port": 53, "protocol": "UDP" }, { "port": 53, "protocol": "TCP" }] })
    );
    let ports: Vec<_> = outside["ports"].as_array().unwrap().iter().map(|port| &port["port"]).collect();
    assert_eq!(ports, [443, 3128, 4318, 8000]);
    assert_eq!(outside["to"][0]["ipBlock"]["cidr"], "0.0.0.0/0");
    assert_eq!(outside["to"][0]["ipBlock"]["except"][0], "169.254.0.0/16");
    assert_eq!(outside["to"][1]["ipBlock"]["cidr"], "::/0");
    let namespaces =
        json!([{ "key": "kubernetes.io/metadata.name", "operator": "In", "values": ["models", "watch"] }]);
    assert_eq!(inside, &json!({ "to": [{ "namespaceSelector": { "matchExpressions": namespaces } }] }));
}

#[test]
fn without_routes_pods_reach_names_only() {
    let stage = Stage { routes: Vec::new(), ..Stage::new() };
    let spec = stage.child(ChildKind::NetworkPolicy).object["spec"].take();
    assert_eq!(spec["egress"].as_array().unwrap().len(), 1, "{spec}");
}
