//! Delays and weights follow what is measured.

use std::time::Duration;

use hedgerow_config::{GatewayConfig, cohort::DelayStrategy};
use hedgerow_sim::{Dialect, Latency};

use crate::stand::{Stand, chat, cohort, config, provider, route, with_budget, with_room};

fn quantile(config: &mut GatewayConfig) {
    let delay = &mut config.cohorts[0].delay;
    delay.strategy = DelayStrategy::Quantile;
    delay.fixed_ms = None;
    delay.min_ms = 10;
    delay.max_ms = 5_000;
    delay.cold_start_ms = 4_000;
}

async fn ask(stand: &Stand, times: usize) {
    let asked: Vec<_> = (0..times)
        .map(|_| {
            let request = stand.chat(&chat("hello", true));
            tokio::spawn(async move { request.send().await.unwrap().bytes().await.unwrap() })
        })
        .collect();
    for request in asked {
        request.await.unwrap();
    }
}

#[tokio::test]
async fn a_cold_cell_has_the_cold_start_delay_and_learns_its_own_within_seconds() {
    let (a, b) = (provider("region-a", Dialect::OpenAi).await, provider("region-b", Dialect::OpenAi).await);
    let mut config = with_room(with_budget(config(vec![route(&a), route(&b)])));
    config.cohorts.push(cohort(1_000));
    quantile(&mut config);
    let stand = Stand::start(config).await;
    ask(&stand, 200).await;
    stand
        .until("delays far below the cold start", |stand| {
            let cells = stand.running.runtime.state().cells;
            let delays: Vec<_> = cells.iter().filter_map(|cell| cell.delay_ms).collect();
            delays.len() == 2 && delays.iter().all(|delay| (10..2_000).contains(delay))
        })
        .await;
}

#[tokio::test]
async fn a_route_that_turns_slow_loses_its_share_and_its_requests_go_elsewhere() {
    let (a, b) = (provider("region-a", Dialect::OpenAi).await, provider("region-b", Dialect::OpenAi).await);
    // Slow enough that a busy machine does not make either of them look slow.
    for sim in [&a, &b] {
        sim.update(|profile| profile.first_token = Latency::fixed(250.0));
    }
    let config = with_room(with_budget(config(vec![route(&a), route(&b)])));
    let stand = Stand::start(config).await;
    for _ in 0..10 {
        ask(&stand, 10).await;
    }
    stand
        .until("both cells know what is normal", |stand| {
            stand.running.runtime.state().cells.iter().filter(|cell| cell.delay_ms.is_some()).count() == 2
        })
        .await;
    a.update(|profile| profile.first_token = Latency::fixed(4_000.0));
    let slow = |stand: &Stand| {
        let state = stand.running.runtime.state();
        state.routes.iter().find(|route| route.route == "region-a").unwrap().weight_percent < 50
    };
    let deadline = tokio::time::Instant::now() + Duration::from_secs(40);
    while !slow(&stand) {
        assert!(tokio::time::Instant::now() < deadline, "{:?}", stand.running.runtime.state().routes);
        ask(&stand, 20).await;
    }
    let before = (a.stats().requests, b.stats().requests);
    ask(&stand, 100).await;
    let (on_a, on_b) = (a.stats().requests - before.0, b.stats().requests - before.1);
    assert!(on_a * 3 < on_b, "{on_a} on the slow route, {on_b} on the other");
    stand.idle().await;
}
