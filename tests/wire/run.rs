//! Plays a case and says what differs.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use hedgerow_tests::canary::{ANSWER, PROMPT, ROUTE_KEY, USER, WORDS};
use tokio::task::JoinSet;

use crate::{
    case::{Case, Expect},
    client::{self, Answer},
    gateway::Gateway,
    plant,
    provider::{Provider, find},
};

/// How long effects may take that a case waits for: hang-ups, gauges back at zero.
const SETTLE: Duration = Duration::from_secs(3);

/// Runs all cases of a group and fails with all differences.
pub async fn group(name: &str, text: &str) {
    let mut cases: Vec<Case> =
        serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{name}.yaml: {error}"));
    let (mut differences, mut planted, mut recorded) = (Vec::new(), BTreeSet::new(), 0);
    for case in &mut cases {
        plant::case(case);
        let Played { differences: found, planted: seen, records } = run(case).await;
        planted.extend(seen);
        recorded += records;
        println!(
            "{} {} {} ({})",
            if found.is_empty() { "ok  " } else { "FAIL" },
            case.id,
            case.about,
            case.report
        );
        differences.extend(found.into_iter().map(|what| format!("{}: {what}", case.id)));
    }
    println!("{name}: {} cases", cases.len());
    assert!(!cases.is_empty(), "{name}.yaml holds no case");
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
    // What was never there, or never written, could not be told.
    for word in [PROMPT, ANSWER, ROUTE_KEY, USER] {
        assert!(planted.contains(word), "{name}: {word} never came through");
    }
    assert!(recorded > 0, "{name}: no record was written");
}

/// What came of a case.
struct Played {
    differences: Vec<String>,
    /// Planted words that came through.
    planted: BTreeSet<&'static str>,
    /// Records written.
    records: usize,
}

/// Runs one case.
async fn run(case: &Case) -> Played {
    let mut providers = BTreeMap::new();
    for (name, scripts) in &case.routes {
        providers.insert(name.clone(), Provider::start(scripts.clone()).await);
    }
    let gateway = Gateway::start(case, &providers).await;
    let mut differences = Vec::new();
    let beside = beside(case, &gateway, &providers, &mut differences).await;
    for turn in 1..=case.request.times {
        match client::ask(gateway.address, &case.request).await {
            Ok(answer) if turn == case.request.times => {
                check_answer(&case.expect, &answer, &providers, &mut differences);
            }
            Ok(_) => {}
            Err(error) => differences.push(format!("the client failed: {error}")),
        }
    }
    drop(beside);
    settle(case, &gateway, &providers, &mut differences).await;
    check_providers(&case.expect, &providers, &mut differences);
    differences.extend(metrics(&case.expect, &gateway).await);
    let left = gateway.end().await;
    differences.extend(left.leaks);
    Played { differences, planted: planted(&providers), records: left.records.lines().count() }
}

/// Lets others ask first, and waits until the providers have seen them. They leave when the set is dropped.
async fn beside(
    case: &Case,
    gateway: &Gateway,
    providers: &BTreeMap<String, Provider>,
    differences: &mut Vec<String>,
) -> JoinSet<()> {
    let mut asking = JoinSet::new();
    for _ in 0..case.request.beside {
        let (address, request) = (gateway.address, case.request.clone());
        asking.spawn(async move {
            // Whether and how they are answered is not what the case is about.
            let _ = client::ask(address, &request).await;
        });
    }
    let seen =
        || providers.values().map(|provider| provider.seen.lock().unwrap().requests.len()).sum::<usize>();
    let all = async {
        while seen() < case.request.beside {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    if tokio::time::timeout(SETTLE, all).await.is_err() {
        differences.push(format!("of {} who asked before, {} came through", case.request.beside, seen()));
    }
    asking
}

/// Planted words in what the providers received and sent.
fn planted(providers: &BTreeMap<String, Provider>) -> BTreeSet<&'static str> {
    let mut words = BTreeSet::new();
    for provider in providers.values() {
        let seen = provider.seen.lock().unwrap();
        let sent = String::from_utf8_lossy(&seen.sent);
        let there = |word: &&str| sent.contains(word) || seen.requests.iter().any(|text| text.contains(word));
        words.extend(WORDS.into_iter().filter(|word| there(word)));
    }
    words
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
    headers_of_ours(expect, answer).into_iter().for_each(&mut differs);
    for (name, wanted) in &expect.headers {
        let found = answer.headers.get(name).map_or("", String::as_str);
        if found != wanted {
            differs(format!("header {name}: {found:?} instead of {wanted:?}"));
        }
    }
}

/// The request id that every answer has, and what Hedgerow says of itself.
fn headers_of_ours(expect: &Expect, answer: &Answer) -> Vec<String> {
    let mut differences = Vec::new();
    let id = answer.headers.get("x-request-id").map_or("", String::as_str);
    if answer.status != 0 && id.starts_with("req_") == expect.bare {
        differences.push(format!("request id {id:?}"));
    }
    if answer.headers.get("request-id").map_or("", String::as_str) != id {
        differences.push("another request id for Anthropic's SDKs".to_owned());
    }
    let told: BTreeMap<String, String> = answer
        .headers
        .iter()
        .filter_map(|(name, value)| {
            let value = if value.starts_with("ua_") { "*" } else { value.as_str() };
            Some((name.strip_prefix("x-hedgerow-")?.to_owned(), value.to_owned()))
        })
        .collect();
    if let Some(wanted) = expect.hedgerow.as_ref().filter(|wanted| **wanted != told) {
        differences.push(format!("Hedgerow says {told:?} instead of {wanted:?}"));
    }
    differences
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
