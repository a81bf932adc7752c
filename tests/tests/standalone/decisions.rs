//! Guardrails and holds, from the counters of real gateways to what these then do.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use hedgerow::{
    domain::guardrail::Request,
    standalone::{Running, View, hold},
};
use hedgerow_config::state::InFlight;
use serde_json::Value;

use crate::bench::{Bench, condition, until};

/// Hedges more than half of all requests after 100 ms; short windows. Nearly every hedge costs and none is needed.
const GREEDY: &str = "apiVersion: hedgerow.dev/v1alpha1
kind: HedgePolicy
metadata:
  name: greedy
spec:
  mode: Enforce
  cohorts:
    - name: json
      match:
        stream: false
  delay:
    strategy: Fixed
    fixed: 100ms
    min: 10ms
    coldStart: 100ms
  budget:
    ratioPercent: 100
    cap: 1000
  duplicateTargetPercent: 60
  holdoutPercent: 0
  ramp:
    startPercent: 100
    every: 1s
  guardrails:
    window: 30s
    minRequests: 20
    duplicateRate:
      tripPercent: 95
      rearmPercent: 90
    extraSpend:
      tripPercent: 10
      rearmPercent: 5
    winRate:
      minPercent: 0
    cooldown: 5s
    maxCooldown: 10s
    trialFor: 5s
";

fn state(view: &View) -> &str {
    view.fleets[0].cohorts.first().map_or("", |cohort| &cohort.state)
}

/// What the gateways themselves obey.
fn gateways_hedge(bench: &Bench) -> Value {
    let text = std::fs::read_to_string(bench.path().join(".run/default/gateway.json")).unwrap();
    let config: Value = serde_json::from_str(&text).unwrap();
    config["cohorts"][0]["decision"]["state"].clone()
}

/// Asks one request after the other until told to stop; returns how many failed. The prompts are long, so that a hedge is
/// not nearly free.
async fn traffic(bench: &Bench, running: &Running, stop: &AtomicBool) -> u32 {
    let mut failed = 0;
    let prompt = "Say it once more. ".repeat(50);
    while !stop.load(Ordering::Relaxed) {
        if bench.ask_about(running, "chat", &prompt).await.0 != 200 {
            failed += 1;
        }
    }
    failed
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guardrail_trips_survives_a_restart_and_lets_hedging_back_in() {
    let bench = Bench::new(300.0).await;
    bench.write("policy.yaml", GREEDY);
    let running = bench.start().await;
    let stop = AtomicBool::new(false);
    let tripped = async {
        let view = until(&running, "tripped", |view| state(view) == "Suspended").await;
        stop.store(true, Ordering::Relaxed);
        view
    };
    let (view, failed) = tokio::join!(tripped, traffic(&bench, &running, &stop));
    assert_eq!(failed, 0, "a trip suspends hedging, never requests");
    let entry = view.decisions.iter().find(|entry| entry.to == "Suspended").unwrap();
    assert_eq!((entry.reason.as_str(), entry.signal.as_deref()), ("ExtraSpendExceeded", Some("extraSpend")));
    assert!(entry.line.starts_with("json suspended: extra spend "), "{}", entry.line);
    assert_eq!(gateways_hedge(&bench), "Suspended");
    let status = bench.status("HedgePolicy", "greedy");
    assert_eq!(condition(&status, "GuardrailBreached")["reason"], "ExtraSpendExceeded", "{status}");
    assert_eq!(condition(&status, "Ready")["status"], "True", "a breach is a load decision, not a failure");
    let transition = view.fleets[0].cohorts[0].transition;
    running.shutdown().await.unwrap();

    // No request is slow enough to be hedged any more, so the trial passes.
    bench.answer_after(2.0);
    let running = bench.start().await;
    let first = until(&running, "it continues", |view| !view.fleets[0].cohorts.is_empty()).await;
    let cohort = &first.fleets[0].cohorts[0];
    assert!(
        cohort.transition >= transition && cohort.state != "Active",
        "the latch is in the status: {cohort:?}"
    );
    let stop = AtomicBool::new(false);
    let back = async {
        let view = until(&running, "re-armed", |view| state(view) == "Active").await;
        stop.store(true, Ordering::Relaxed);
        view
    };
    let (view, failed) = tokio::join!(back, traffic(&bench, &running, &stop));
    assert_eq!(failed, 0);
    assert!(view.decisions.iter().any(|entry| entry.to == "Trial"), "{:?}", view.decisions);
    assert_eq!(gateways_hedge(&bench), "Active");
    let quiet =
        until(&running, "nothing is in flight", |view| view.fleets[0].leaks == InFlight::default()).await;
    assert_eq!(quiet.fleets[0].totals.in_flight, 0);
    running.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_by_hand_is_obeyed_and_ended_by_a_resume() {
    let bench = Bench::new(5.0).await;
    bench.write("policy.yaml", GREEDY);
    let running = bench.start().await;
    until(&running, "on", |view| state(view) == "Active").await;
    let now = || running.view().at_unix_ms;
    let time = |unix_ms: u64| jiff::Timestamp::UNIX_EPOCH + Duration::from_millis(unix_ms);
    hold::request(bench.path(), "greedy", "json", &Request::Suspend { until: time(now() + 3_600_000) })
        .unwrap();
    until(&running, "held", |view| state(view) == "Suspended").await;
    assert_eq!(gateways_hedge(&bench), "Suspended");
    let status = bench.status("HedgePolicy", "greedy");
    assert_eq!(status["status"]["cohorts"][0]["reason"], "Suspended", "{status}");
    assert!(status["status"]["cohorts"][0]["hold"]["until"].is_string(), "{status}");
    assert_eq!(bench.ask(&running, "chat").await.0, 200);
    hold::request(bench.path(), "greedy", "all", &Request::Resume { asked: time(now()) }).unwrap();
    until(&running, "resumed", |view| state(view) == "Active").await;
    running.shutdown().await.unwrap();
}
