//! One object changes: when the operator has written the configuration, and when every pod of the fleet runs it.

use std::{collections::BTreeSet, process::Command, time::Duration};

use hedgerow_crds::Kind;
use hedgerow_tests::audit::Log;
use jiff::{Timestamp, Unit};
use serde_json::{Value, json};

use crate::{
    api::root,
    crowd::Crowd,
    team::{SOON, until},
};

/// Pods of a fleet, unless its author says otherwise.
const PODS: usize = 2;
/// A machine that does nothing else needs less than 1 s to write and 3 s in all; a busy one may need more.
const WITHIN: Duration = Duration::from_secs(15);

/// Changes a policy, a price and a model of one fleet after another, prints how long it took, and fails where that was long.
pub(crate) async fn is_soon_in_force(log: &mut Log, crowd: &Crowd) {
    println!("{:8} {:>28} {:>28}", "change", "configuration written, ms", "in every pod, ms");
    for (kind, change) in [("policy", policy as fn(usize) -> Change), ("price", price), ("model", model)] {
        let (mut written, mut everywhere) = (Vec::new(), Vec::new());
        for (n, namespace) in crowd.serving().iter().enumerate() {
            let [first, last] = apply(log, crowd, namespace, change(n)).await;
            written.push(first);
            everywhere.push(last);
        }
        println!("{kind:8} {:>28} {:>28}", spread(&mut written), spread(&mut everywhere));
        assert!(everywhere.iter().all(|took| *took < WITHIN.as_millis()), "{kind}: {everywhere:?}");
    }
}

/// An object and what becomes of its spec.
type Change = (Kind, &'static str, Value);

fn policy(n: usize) -> Change {
    (Kind::HedgePolicy, "policy-0", json!({ "holdoutPercent": 6 + n }))
}

fn price(n: usize) -> Change {
    let price = json!({ "inputMicrosPerMillion": 2_000_000 + n, "outputMicrosPerMillion": 8_000_000 });
    (Kind::ProviderRoute, "route-0", json!({ "models": [{ "name": "model-0", "pricing": price }] }))
}

fn model(n: usize) -> Change {
    (Kind::ProviderRoute, "route-1", json!({ "models": [{ "name": format!("new-{n}") }] }))
}

/// Milliseconds from the request to the configuration in the API server, and to the last pod that runs it.
async fn apply(log: &mut Log, crowd: &Crowd, namespace: &str, change: Change) -> [u128; 2] {
    let pods = addresses(crowd, namespace).await;
    let before = digests(&pods);
    log.more(|_| false).unwrap();
    let started = Timestamp::now();
    write(crowd, namespace, change).await;
    let ended = until("every pod to run the new configuration", SOON, async || {
        let after = digests(&pods);
        (after.len() == 1 && after.is_disjoint(&before)).then(Timestamp::now)
    })
    .await;
    let writes = log
        .more(|entry| {
            entry.namespace == namespace
                && entry.name == "hedgerow-default"
                && entry.right() == "patch configmaps"
        })
        .unwrap();
    let written = writes.first().expect("the configuration was written").answered;
    [since(started, written), since(started, ended)]
}

/// Applies a part of a spec, as its author would.
async fn write(crowd: &Crowd, namespace: &str, (kind, name, spec): Change) {
    let path = format!("/apis/hedgerow.dev/v1alpha1/namespaces/{namespace}/{}/{name}", kind.plural());
    let object = json!({
        "apiVersion": "hedgerow.dev/v1alpha1", "kind": kind.as_str(), "metadata": { "name": name }, "spec": spec,
    });
    let written = crowd.api.apply(&path, &object.to_string(), false).await;
    written.unwrap_or_else(|refusal| panic!("{}", refusal.message()));
}

fn since(start: Timestamp, end: Timestamp) -> u128 {
    (end - start).total(Unit::Millisecond).unwrap().max(0.0) as u128
}

/// Addresses of a fleet's pods.
async fn addresses(crowd: &Crowd, namespace: &str) -> Vec<String> {
    let list = crowd.api.get(&format!("/api/v1/namespaces/{namespace}/pods")).await.unwrap();
    let pods = list["items"].as_array().unwrap().iter();
    let addresses: Vec<_> =
        pods.filter_map(|pod| pod["status"]["podIP"].as_str().map(str::to_owned)).collect();
    assert_eq!(addresses.len(), PODS);
    addresses
}

/// What the pods say that they run, each digest once; asked from inside the cluster's network.
fn digests(pods: &[String]) -> BTreeSet<String> {
    let urls = pods.iter().map(|address| format!("http://{address}:9090/state?only=digest"));
    let output = Command::new(root().join("tests/cluster/exec"))
        .args(["curl", "--silent", "--fail", "--max-time", "5", "--write-out", "\\n"])
        .args(urls)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answers = String::from_utf8(output.stdout).unwrap();
    let digest = |line: &str| {
        let answer: Value = serde_json::from_str(line).unwrap();
        answer["digest"].as_str().unwrap().to_owned()
    };
    answers.lines().filter(|line| !line.is_empty()).map(digest).collect()
}

/// Median and longest.
fn spread(times: &mut [u128]) -> String {
    times.sort_unstable();
    format!("median {}, longest {}", times[times.len() / 2], times[times.len() - 1])
}
