//! Ten thousand random schedules: providers that are slow, fail, stall and cut, clients that leave at any moment,
//! reloads in between. Whatever happens, everything that was held comes back, every attempt that was sent is booked, and
//! no client sees the bytes of two attempts.
//!
//! The real router, race and relay over scripted transports in paused time: an hour of waiting takes milliseconds, and a
//! seed is a schedule.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod pod;
mod script;

use std::{sync::Arc, time::Duration};

use axum::body::Body;
use fastrand::Rng;
use hedgerow_config::{GatewayConfig, state::InFlight};
use hedgerow_gateway::{
    front::router::{Router, router},
    runtime::Runtime,
};
use http::Request;
use http_body_util::BodyExt as _;
use tower::ServiceExt as _;

use script::{Script, Upstreams};

/// Schedules in all.
const SCHEDULES: u64 = 10_000;
/// Schedules that run at the same time.
const BATCH: u64 = 50;

struct Pod {
    runtime: Arc<Runtime>,
    router: Router,
    script: Arc<Script>,
}

fn pod(seed: u64) -> Pod {
    let script = Arc::new(Script::new(seed));
    let runtime = pod::runtime(Upstreams(script.clone()), configuration(0));
    Pod { router: router(runtime.clone()), runtime, script }
}

fn configuration(variant: u64) -> GatewayConfig {
    let mut config = GatewayConfig::read(include_bytes!("schedules/gateway.json")).unwrap();
    config.cohorts[0].delay.fixed_ms = Some(200 + 100 * (variant % 3));
    config.routes[1].weight = 50 + 50 * (variant % 2) as u32;
    config
}

/// What one client saw.
enum Seen {
    Left,
    Answered { status: u16, sources: Vec<String>, whole: bool },
}

async fn client(router: Router, mut rng: Rng) -> Seen {
    let stream = rng.bool();
    let body = format!(
        r#"{{"model":"chat","stream":{stream},"messages":[{{"role":"user","content":"{}"}}]}}"#,
        "x".repeat(rng.usize(0..200))
    );
    let mut request =
        Request::post("/v1/chat/completions").header("x-lane", if rng.bool() { "a" } else { "b" });
    if rng.u8(..) < 20 {
        request = request.header("x-stainless-retry-count", "1");
    }
    let request = request.body(Body::from(body)).unwrap();
    let patience = match rng.u8(..) {
        0..100 => Duration::from_millis(rng.u64(0..2_000)),
        _ => Duration::from_hours(1),
    };
    let reads_slowly = rng.u8(..) < 30;
    let whole = async {
        let answer = router.oneshot(request).await.unwrap();
        let status = answer.status().as_u16();
        let mut body = answer.into_body();
        let mut text = Vec::new();
        loop {
            if reads_slowly {
                tokio::time::sleep(Duration::from_millis(700)).await;
            }
            match body.frame().await {
                Some(Ok(frame)) => text.extend_from_slice(&frame.into_data().unwrap_or_default()),
                Some(Err(_)) => return (status, text, false),
                None => return (status, text, true),
            }
        }
    };
    match tokio::time::timeout(patience, whole).await {
        Err(_) => Seen::Left,
        Ok((status, text, whole)) => {
            let text = String::from_utf8(text).unwrap();
            Seen::Answered {
                status,
                sources: script::sources(&text),
                whole: whole && script::whole(&text, stream),
            }
        }
    }
}

fn check(seen: &Seen, seed: u64) {
    let Seen::Answered { status, sources, whole } = seen else { return };
    assert!(sources.len() <= 1, "seed {seed}: bytes of {sources:?}");
    if *status == 200 && *whole {
        assert_eq!(sources.len(), 1, "seed {seed}: a whole answer has a source");
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_fails_or_leaves_when_nothing_is_lost_and_nothing_is_mixed() {
    let pod = pod(1);
    let tick = tokio::spawn(pod.runtime.clone().tick());
    let (mut answered, mut left) = (0_u64, 0_u64);
    for batch in 0..SCHEDULES / BATCH {
        let clients: Vec<_> = (0..BATCH)
            .map(|place| {
                let seed = batch * BATCH + place;
                (seed, tokio::spawn(client(pod.router.clone(), Rng::with_seed(seed))))
            })
            .collect();
        if batch % 7 == 3 {
            tokio::time::sleep(Duration::from_millis(300)).await;
            pod.runtime.apply(configuration(batch), batch.to_string()).unwrap();
        }
        for (seed, client) in clients {
            let seen = client.await.unwrap();
            check(&seen, seed);
            match seen {
                Seen::Left => left += 1,
                Seen::Answered { .. } => answered += 1,
            }
        }
        // Audited losers may go on for 30 s.
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert_eq!(pod.runtime.in_flight(), InFlight::default(), "batch {batch}");
        assert_eq!(pod.script.open(), 0, "batch {batch}: attempts still open at the providers");
    }
    tick.abort();
    assert!(answered > SCHEDULES / 3 && left > SCHEDULES / 20, "{answered} answered, {left} left");
    check_books(&pod);
}

/// Every attempt that was sent is booked once, and no limit was broken.
fn check_books(pod: &Pod) {
    let state = pod.runtime.state();
    let withdrawn = |outcome: &str| outcome == "withdrawn";
    let booked: u64 = state
        .routes
        .iter()
        .flat_map(|route| &route.outcomes)
        .filter(|(outcome, _)| !withdrawn(outcome))
        .map(|(_, count)| count)
        .sum();
    assert_eq!(booked, pod.script.sent(), "attempts booked and sent");
    let total = &state.cohorts[0].total;
    assert!(total.hedges > 100 && total.wins > 10 && total.audited > 0, "{total:?}");
    assert!(total.hedges <= total.originals, "{total:?}");
    for route in &state.routes {
        assert_eq!(route.in_flight, 0);
    }
    assert_eq!(state.spend.winners + state.spend.losers + state.spend.retries, state.spend.total);
    // `wins` of actions that were settled, hedges of firings: the ring knows no other hedge than those that were sent.
    let hedges_at_providers = pod.script.sent().saturating_sub(total.originals);
    assert!(total.hedges <= hedges_at_providers + total.not_enrolled, "{total:?}");
}
