//! Plays a case and says what differs.

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;

use crate::{
    case::{Case, Expect},
    client::{self, Answer},
    gateway::Gateway,
    provider::{Provider, find},
};

/// How long effects may take that a case waits for: hang-ups, gauges back at zero.
const SETTLE: Duration = Duration::from_secs(3);

/// Runs all cases of a group and fails with all differences.
pub async fn group(name: &str, text: &str) {
    let cases: Vec<Case> =
        serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{name}.yaml: {error}"));
    let mut differences = Vec::new();
    for case in &cases {
        let found = run(case).await;
        println!(
            "{} {} {} ({})",
            if found.is_empty() { "ok  " } else { "FAIL" },
            case.id,
            case.about,
            case.report
        );
        differences.extend(found.into_iter().map(|what| format!("{}: {what}", case.id)));
    }
    assert!(!cases.is_empty(), "{name}.yaml holds no case");
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}

/// A row that nothing can be played for yet.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Waiting {
    id: String,
    report: String,
    why: String,
}

/// Names the rows that wait, so that nobody takes them for passed.
pub fn waiting(text: &str) {
    let rows: Vec<Waiting> =
        serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("waiting.yaml: {error}"));
    for row in &rows {
        println!("wait {} {} ({})", row.id, row.why, row.report);
        assert!(!row.why.is_empty(), "{} does not say what it waits for", row.id);
    }
}

/// Runs one case; the differences from what it expects.
async fn run(case: &Case) -> Vec<String> {
    let mut providers = BTreeMap::new();
    for (name, scripts) in &case.routes {
        providers.insert(name.clone(), Provider::start(scripts.clone()).await);
    }
    let gateway = Gateway::start(case, &providers).await;
    let mut differences = Vec::new();
    for turn in 1..=case.request.times {
        match client::ask(gateway.address, &case.request).await {
            Ok(answer) if turn == case.request.times => {
                check_answer(&case.expect, &answer, &providers, &mut differences);
            }
            Ok(_) => {}
            Err(error) => differences.push(format!("the client failed: {error}")),
        }
    }
    settle(case, &gateway, &providers, &mut differences).await;
    check_providers(&case.expect, &providers, &mut differences);
    differences.extend(metrics(&case.expect, &gateway).await);
    gateway.stop().await;
    differences
}

/// Waits for what follows an answer.
async fn settle(
    case: &Case,
    gateway: &Gateway,
    providers: &BTreeMap<String, Provider>,
    differences: &mut Vec<String>,
) {
    let hung_up = |name: &String| providers[name].seen.lock().unwrap().hung_up;
    let settled = async {
        while !case.expect.hung_up.iter().all(hung_up) || !gateway.in_flight().await.is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    if tokio::time::timeout(SETTLE, settled).await.is_err() {
        let waiting: Vec<_> = case.expect.hung_up.iter().filter(|name| !hung_up(name)).collect();
        let flight = gateway.in_flight().await;
        differences.push(format!("not settled: not hung up on {waiting:?}, in flight {flight:?}"));
    }
}

fn check_answer(
    expect: &Expect,
    answer: &Answer,
    providers: &BTreeMap<String, Provider>,
    differences: &mut Vec<String>,
) {
    let body = String::from_utf8_lossy(&answer.body);
    let mut differs = |what: String| differences.push(format!("{what}\n    in {} {body:?}", answer.status));
    if answer.status != expect.status {
        differs(format!("status {} instead of {}", answer.status, expect.status));
    }
    if !answer.left && answer.ended == expect.aborted {
        differs(format!("the body {}", if answer.ended { "ended cleanly" } else { "broke off" }));
    }
    if expect.body.as_ref().is_some_and(|wanted| *wanted != body) {
        differs("another body".to_owned());
    }
    if let Some(name) = &expect.same_as
        && providers[name].seen.lock().unwrap().sent != answer.body
    {
        differs(format!("not the bytes of {name}"));
    }
    let mut from = 0;
    for part in &expect.contains {
        match find(&answer.body[from..], part.as_bytes()) {
            Some(at) => from += at + part.len(),
            None => differs(format!("{part:?} is missing or out of order")),
        }
    }
    for part in expect.lacks.iter().filter(|part| body.contains(part.as_str())) {
        differs(format!("{part:?} must not be there"));
    }
    for (name, wanted) in &expect.headers {
        let found = answer.headers.get(name).map_or("", String::as_str);
        if found != wanted {
            differs(format!("header {name}: {found:?} instead of {wanted:?}"));
        }
    }
}

fn check_providers(expect: &Expect, providers: &BTreeMap<String, Provider>, differences: &mut Vec<String>) {
    for (name, provider) in providers {
        let seen = provider.seen.lock().unwrap();
        let wanted = expect.attempts.get(name).copied().unwrap_or(0);
        if seen.requests.len() != wanted || seen.surplus {
            differences.push(format!("{name} was asked {} times instead of {wanted}", seen.requests.len()));
        }
        let received = seen.requests.join("\n");
        for part in expect.received.get(name).into_iter().flatten() {
            if !received.contains(part.as_str()) {
                differences.push(format!("{name} did not receive {part:?}\n    in {received:?}"));
            }
        }
        for part in expect.withheld.get(name).into_iter().flatten() {
            if received.contains(part.as_str()) {
                differences.push(format!("{name} received {part:?}\n    in {received:?}"));
            }
        }
    }
}

/// What is not counted as expected, once everything had its time: some gauges are written once a second.
async fn metrics(expect: &Expect, gateway: &Gateway) -> Vec<String> {
    let mut last = Vec::new();
    let counted = async {
        loop {
            last = miscounted(expect, &gateway.metrics().await);
            if last.is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    // The difference that is left is the finding, not the time.
    let _ = tokio::time::timeout(SETTLE, counted).await;
    last
}

fn miscounted(expect: &Expect, samples: &[String]) -> Vec<String> {
    let mut differences = Vec::new();
    for (wanted, value) in &expect.metrics {
        let found = sum(wanted, samples);
        if (found - value).abs() > 1e-9 {
            differences.push(format!("{wanted} is {found} instead of {value}"));
        }
    }
    for wanted in expect.above_zero.iter().filter(|wanted| sum(wanted, samples) <= 0.0) {
        differences.push(format!("{wanted} is not above 0"));
    }
    differences
}

/// Sums all samples that carry the wanted name and labels.
fn sum(wanted: &str, samples: &[String]) -> f64 {
    let (name, labels) = wanted.split_once('{').unwrap_or((wanted, ""));
    let labels: Vec<&str> =
        labels.trim_end_matches('}').split(',').filter(|label| !label.is_empty()).collect();
    let carries = |sample: &&String| {
        let own = sample.split(['{', ' ']).next() == Some(name);
        own && labels.iter().all(|label| sample.contains(label))
    };
    let number = |sample: &String| sample.rsplit(' ').next().and_then(|number| number.parse::<f64>().ok());
    samples.iter().filter(carries).filter_map(number).sum()
}
