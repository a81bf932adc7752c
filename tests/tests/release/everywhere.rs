//! An operator for the whole cluster: fleets of the same name in two namespaces have nothing to do with each other.

use crate::stand::Stand;

const ROUTE: &str = "
apiVersion: hedgerow.dev/v1alpha1
kind: ProviderRoute
metadata: {name: only}
spec:
  api: OpenAI
  endpoint: https://api.example.com
  auth: {type: None}
  failureDomain: {provider: example, region: east}
  models: [{name: model}]
";

#[test]
fn one_operator_serves_every_namespace_and_the_end_of_one_is_not_the_end_of_another() {
    let stand = Stand::installed();
    let other = format!("{}-other", stand.team);
    stand.create_team(&other);
    let namespaces = [stand.team.as_str(), other.as_str()];
    for namespace in namespaces {
        stand.write_in(namespace, ROUTE);
    }
    let ready = ["wait", "--for=condition=Ready", "proute/only", "--timeout=90s"];
    for namespace in namespaces {
        // Made by the operator, so it can only be waited for once it is there.
        stand.kubectl(&[&["--namespace", namespace], &ready[..]].concat());
        let address = ["get", "gf", "default", "--output=jsonpath={.status.address}"];
        let address = stand.kubectl(&[&["--namespace", namespace], &address[..]].concat());
        assert_eq!(address, format!("hedgerow-default.{namespace}.svc:8080"));
    }
    let pods = |namespace: &str| {
        stand.kubectl(&[
            "--namespace",
            namespace,
            "get",
            "pods",
            "--output=jsonpath={.items[*].metadata.uid}",
        ])
    };
    let before = pods(&stand.team);
    stand.kubectl(&["delete", "namespace", &other, "--timeout=90s"]);
    stand.write(&ROUTE.replace("{name: model}", "{name: model}, {name: more}"));
    stand.kubectl(&[&["--namespace", &stand.team], &ready[..]].concat());
    assert_eq!(pods(&stand.team), before, "the same pods run the change");
}
