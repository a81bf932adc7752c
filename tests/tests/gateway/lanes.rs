//! Load: who is let in, who waits, who is shed, and how the client is told.

use std::time::Duration;

use hedgerow_config::lane::Algorithm;
use hedgerow_sim::{Dialect, Marker};
use serde_json::Value;

use crate::stand::{Stand, chat, config, header, lane, provider, route};

fn held() -> Value {
    chat(&Marker { first_token_ms: Some(60_000.0), ..Marker::default() }.text(), true)
}

#[tokio::test]
async fn a_full_lane_sheds_with_retry_after_and_the_other_lane_goes_on() {
    let sim = provider("region-a", Dialect::OpenAi).await;
    let mut config = config(vec![route(&sim)]);
    let mut batch = lane("batch", 100);
    batch.concurrency.algorithm = Algorithm::Fixed;
    batch.concurrency.initial = 2;
    batch.concurrency.min = 2;
    batch.queue.max_wait_ms = 0;
    config.lanes.push(batch);
    let stand = Stand::start(config).await;
    let holding: Vec<_> =
        (0..2).map(|_| tokio::spawn(stand.chat(&held()).header("x-lane", "batch").send())).collect();
    stand.until("both are under way", |_| sim.stats().in_flight == 2).await;

    let shed = stand.chat(&chat("hello", true)).header("x-lane", "batch").send().await.unwrap();
    assert_eq!(shed.status(), 429);
    assert_eq!(header(&shed, "x-should-retry"), "true");
    let wait: u64 = header(&shed, "retry-after").parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(header(&shed, "x-hedgerow-lane"), "batch");
    let body: Value = shed.json().await.unwrap();
    assert_eq!(
        (&body["error"]["lane"], &body["error"]["code"]),
        (&"batch".into(), &"gateway_overloaded".into())
    );

    let served = stand.chat(&chat("hello", true)).send().await.unwrap();
    assert_eq!((served.status().as_u16(), header(&served, "x-hedgerow-lane")), (200, "default"));
    served.bytes().await.unwrap();
    for task in holding {
        task.abort();
    }
    stand.idle().await;
    let state = stand.running.runtime.state();
    let batch = state.lanes.iter().find(|lane| lane.lane == "batch").unwrap();
    assert_eq!((batch.admitted, batch.shed.values().sum::<u64>()), (2, 1));
}

#[tokio::test]
async fn who_waits_is_let_in_when_a_place_is_free_and_who_leaves_the_queue_leaves_nothing() {
    let sim = provider("region-a", Dialect::OpenAi).await;
    let mut config = config(vec![route(&sim)]);
    let mut narrow = lane("narrow", 100);
    narrow.concurrency.algorithm = Algorithm::Fixed;
    narrow.concurrency.initial = 4;
    narrow.queue.max_wait_ms = 5_000;
    narrow.queue.max_depth_percent = 100;
    config.lanes.push(narrow);
    let stand = Stand::start(config).await;
    let mut holding: Vec<_> =
        (0..4).map(|_| tokio::spawn(stand.chat(&held()).header("x-lane", "narrow").send())).collect();
    stand.until("all are under way", |_| sim.stats().in_flight == 4).await;
    let queued = |stand: &Stand| {
        let state = stand.running.runtime.state();
        state.lanes.iter().find(|lane| lane.lane == "narrow").unwrap().queued
    };
    let leaves = tokio::spawn(stand.chat(&chat("hello", false)).header("x-lane", "narrow").send());
    stand.until("one waits", |stand| queued(stand) == 1).await;
    let waits = tokio::spawn(stand.chat(&chat("hello", false)).header("x-lane", "narrow").send());
    stand.until("two wait", |stand| queued(stand) == 2).await;
    leaves.abort();
    stand.until("one has left", |stand| queued(stand) == 1).await;
    holding.pop().unwrap().abort();
    let answer = tokio::time::timeout(Duration::from_secs(5), waits).await.unwrap().unwrap().unwrap();
    assert_eq!(answer.status(), 200);
    for task in holding {
        task.abort();
    }
    stand.idle().await;
}

#[tokio::test]
async fn a_full_pod_refuses_at_the_gate_and_reads_a_large_body_to_its_end() {
    let sim = provider("region-a", Dialect::OpenAi).await;
    let mut config = config(vec![route(&sim)]);
    config.settings.max_in_flight = 1;
    let stand = Stand::start(config).await;
    let holding = tokio::spawn(stand.chat(&held()).send());
    stand.until("one is under way", |_| sim.stats().in_flight == 1).await;
    // Experiment E2: a connection that is closed early loses the 429 of a raw socket 20 times in 20 at 5 MB.
    for megabytes in [1, 5, 5, 20, 20] {
        let body = chat(&"x".repeat(megabytes * 1_000_000), true);
        let answer = stand.chat(&body).send().await.expect("the 429, not a broken pipe");
        assert_eq!((answer.status().as_u16(), header(&answer, "retry-after")), (429, "1"));
        let body: Value = answer.json().await.unwrap();
        assert_eq!(body["error"]["reason"], "PodFull", "{body}");
    }
    holding.abort();
    stand.idle().await;
}

#[tokio::test]
async fn a_full_route_is_said_to_be_full() {
    let sim = provider("region-a", Dialect::OpenAi).await;
    let mut config = config(vec![route(&sim)]);
    config.routes[0].limits.max_concurrent = Some(1);
    let stand = Stand::start(config).await;
    let holding = tokio::spawn(stand.chat(&held()).send());
    stand.until("one is under way", |_| sim.stats().in_flight == 1).await;
    let answer = stand.chat(&chat("hello", true)).send().await.unwrap();
    assert_eq!(answer.status(), 429);
    let body: Value = answer.json().await.unwrap();
    assert_eq!(body["error"]["reason"], "RouteSaturated", "{body}");
    holding.abort();
    stand.idle().await;
}
