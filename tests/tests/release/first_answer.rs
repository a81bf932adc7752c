//! How long a newcomer waits: from an empty cluster to an answer in an official SDK.

use std::time::{Duration, Instant};

use crate::stand::{Stand, TEAM, printed};

/// Longest time from `helm install` to the answer, images already on the node.
const WITHIN: Duration = Duration::from_mins(1);

#[test]
#[expect(clippy::disallowed_methods, reason = "the time that a person waits is what is measured")]
fn an_official_sdk_has_its_first_answer_within_a_minute_of_helm_install() {
    let python = printed("tests/sdk/run", &["--python"]);
    let stand = Stand::bare();
    stand.kubectl(&["create", "namespace", TEAM]);
    stand.kubectl(&[
        "-n",
        TEAM,
        "create",
        "deployment",
        "provider",
        "--image=hedgerow-sim:0.1.0",
        "--",
        "/hedgerow-sim",
        "provider",
        "--listen",
        "0.0.0.0:8000",
    ]);
    stand.kubectl(&["-n", TEAM, "expose", "deployment", "provider", "--port=8000"]);
    stand.kubectl(&["-n", TEAM, "rollout", "status", "deployment/provider", "--timeout=60s"]);

    let start = Instant::now();
    stand.helm(&[
        "install",
        "hedgerow",
        "charts/hedgerow",
        "--namespace=hedgerow-system",
        "--create-namespace",
        "--set=tenancy.allowedEndpoints={*}",
        // Nothing that matters to a start, but a namespace looks again only after half of its pods' grace.
        "--set=fleetDefaults.drain.timeout=5s",
        "--wait",
    ]);
    let installed = start.elapsed();
    stand.shell(&format!("kubectl -n {TEAM} apply -f - <<'YAML'\n{ROUTE}YAML"));
    stand.kubectl(&["-n", TEAM, "wait", "--for=condition=Ready", "proute/only", "--timeout=60s"]);
    let ready = start.elapsed();
    let service = ["-n", TEAM, "get", "service", "hedgerow-default", "--output=jsonpath={.spec.clusterIP}"];
    let address = stand.kubectl(&service);
    let said =
        stand.shell(&format!("{} - http://{address}:8080/v1 <<'PYTHON'\n{CLIENT}PYTHON", python.trim()));
    let answered = start.elapsed();

    println!("installed after {installed:.1?}, ready after {ready:.1?}, answered after {answered:.1?}");
    assert_eq!(said.trim(), "chat.completion");
    assert!(answered < WITHIN, "{answered:?}");
}

const ROUTE: &str = "\
apiVersion: hedgerow.dev/v1alpha1
kind: ProviderRoute
metadata: {name: only}
spec:
  api: OpenAI
  endpoint: http://provider.team-a.svc.cluster.local:8000
  insecureHttp: true
  auth: {type: None}
  failureDomain: {provider: scripted, region: here}
  models: [{name: model}]
";

/// With the two retries that it has by itself: a Service takes up to a second to lead to pods that are ready.
const CLIENT: &str = "\
import sys, openai
client = openai.OpenAI(base_url=sys.argv[1], api_key='sk-any', timeout=10)
print(client.chat.completions.create(model='model', messages=[{'role': 'user', 'content': 'hello'}]).object)
";
