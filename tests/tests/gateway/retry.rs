//! What follows an error: one more attempt where that helps, the truth where it does not.

use std::time::Duration;

use hedgerow_config::GatewayConfig;
use hedgerow_sim::{Dialect, Fault, Marker, Provider, Storm};
use serde_json::Value;

use crate::stand::{
    Stand, chat, cohort, config, header, messages, messages_route, provider, route, with_budget,
};

async fn pair(edit: impl FnOnce(&mut GatewayConfig)) -> (Provider, Provider, Stand) {
    let (a, b) = (provider("region-a", Dialect::OpenAi).await, provider("region-b", Dialect::OpenAi).await);
    let mut config = with_budget(config(vec![route(&a), route(&b)]));
    config.routes[1].tier = 1;
    config.cohorts.push(cohort(10_000));
    edit(&mut config);
    (a, b, Stand::start(config).await)
}

fn on_a(marker: Marker) -> String {
    Marker { provider: Some("region-a".into()), ..marker }.text()
}

#[tokio::test]
async fn what_fails_before_its_first_token_is_retried_at_once_on_another_route() {
    let faults = [
        Fault::Close,
        Fault::Html,
        Fault::Empty,
        Fault::ErrorInStream(0),
        Fault::EndEarly(0),
        Fault::CutAtToken(0),
    ];
    for fault in faults {
        let (a, b, stand) = pair(|_| {}).await;
        let prompt = on_a(Marker { fault: Some(fault.clone()), ..Marker::default() });
        for stream in [true, false] {
            let answer = stand.chat(&chat(&prompt, stream)).send().await.unwrap();
            let seen = (answer.status().as_u16(), header(&answer, "x-hedgerow-attempts").to_owned());
            assert_eq!(seen, (200, "2".to_owned()), "{fault:?} stream {stream}");
            assert_eq!(header(&answer, "x-hedgerow-route"), "region-b");
            answer.bytes().await.unwrap();
        }
        stand.idle().await;
        assert_eq!((a.stats().requests, b.stats().requests), (2, 2), "{fault:?}");
    }
}

#[tokio::test]
async fn a_429_never_starts_a_hedge_and_is_retried_once_on_another_quota_group() {
    let (a, b, stand) = pair(|config| {
        config.cohorts[0].delay.fixed_ms = Some(300);
        config.cohorts[0].retry.max_attempts = 3;
    })
    .await;
    a.update(|profile| profile.storms.push(Storm::of(100.0, 429).retry_after(5.0)));
    // The retry is slow, so its own timer fires: no hedge may follow, because a provider asked to slow down.
    let prompt =
        Marker { provider: Some("region-b".into()), first_token_ms: Some(900.0), ..Marker::default() };
    let answer = stand.chat(&chat(&prompt.text(), true)).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), header(&answer, "x-hedgerow-route")), (200, "region-b"));
    assert_eq!(header(&answer, "x-hedgerow-hedged"), "false");
    assert_eq!(header(&answer, "x-hedgerow-hedge-reason"), "Pushback");
    answer.bytes().await.unwrap();
    // The route is throttled for as long as it asked: the next request does not even try it.
    stand.chat(&chat("hello", true)).send().await.unwrap().bytes().await.unwrap();
    assert_eq!((a.stats().requests, b.stats().requests), (1, 2));
    stand.idle().await;
    assert_eq!(stand.cohort("all").total.hedges, 0);
}

#[tokio::test]
async fn in_one_quota_group_a_429_is_the_answer_with_the_providers_own_wait() {
    let (a, b, stand) = pair(|config| {
        for route in &mut config.routes {
            route.quota_group = "shared".into();
        }
    })
    .await;
    a.update(|profile| profile.storms.push(Storm::of(100.0, 429).retry_after(7.0)));
    let answer = stand.chat(&chat("hello", false)).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), header(&answer, "retry-after")), (429, "7"));
    assert_eq!((a.stats().requests, b.stats().requests), (1, 0));
    stand.idle().await;
}

#[tokio::test]
async fn when_all_routes_are_throttled_we_say_so_with_the_shortest_wait() {
    let (a, b, stand) = pair(|_| {}).await;
    a.update(|profile| profile.storms.push(Storm::of(100.0, 429).retry_after(9.0)));
    b.update(|profile| profile.storms.push(Storm::of(100.0, 429).retry_after(4.0)));
    stand.chat(&chat("hello", false)).send().await.unwrap();
    let answer = stand.chat(&chat("hello", false)).send().await.unwrap();
    assert_eq!(answer.status(), 429);
    let wait: u64 = header(&answer, "retry-after").parse().unwrap();
    assert!((3..=4).contains(&wait), "{wait}");
    assert_eq!(header(&answer, "x-should-retry"), "true");
    let body: Value = answer.json().await.unwrap();
    assert_eq!(body["error"]["code"], "gateway_overloaded", "{body}");
    assert_eq!((a.stats().requests, b.stats().requests), (1, 1));
}

#[tokio::test]
async fn an_error_of_the_request_itself_is_not_retried() {
    let (_a, b, stand) = pair(|_| {}).await;
    let prompt = on_a(Marker { status: Some(400), ..Marker::default() });
    let answer = stand.chat(&chat(&prompt, true)).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), header(&answer, "x-should-retry")), (400, "false"));
    assert_eq!(b.stats().requests, 0);
    stand.idle().await;
}

#[tokio::test]
async fn the_only_route_is_tried_again_after_a_back_off() {
    let sim = provider("region-a", Dialect::OpenAi).await;
    let mut config = with_budget(config(vec![route(&sim)]));
    config.cohorts.push(cohort(10_000));
    let stand = Stand::start(config).await;
    sim.update(|profile| profile.storms.push(Storm::of(100.0, 500)));
    let answer = stand.chat(&chat("hello", true)).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), header(&answer, "x-hedgerow-attempts")), (500, "2"));
    assert_eq!(sim.stats().requests, 2);
    stand.idle().await;
}

#[tokio::test]
async fn a_total_outage_costs_no_more_than_ratio_cap_and_reserve() {
    let (a, b, stand) = pair(|config| {
        config.settings.defaults.budget = hedgerow_config::cohort::BudgetRule::default();
        // Neither breaker shall help here.
        for route in &mut config.routes {
            route.breaker.consecutive_failures = 0;
            route.breaker.failure_percent = 0;
        }
    })
    .await;
    for sim in [&a, &b] {
        sim.update(|profile| profile.storms.push(Storm::of(100.0, 500)));
    }
    let began = tokio::time::Instant::now();
    let originals = 200_u32;
    for _ in 0..originals {
        let answer = stand.chat(&chat("hello", true)).send().await.unwrap();
        assert_eq!(answer.status(), 500);
    }
    let seconds = began.elapsed().as_secs_f64();
    let attempts = (a.stats().requests + b.stats().requests) as f64;
    let bound = 1.1 * f64::from(originals) + 50.0 + seconds;
    assert!(attempts <= bound, "{attempts} attempts, bound {bound}");
    let lanes = stand.running.runtime.state().lanes;
    let failed: u64 = lanes.iter().map(|lane| lane.failed).sum();
    assert_eq!(failed, u64::from(originals), "each user action, whatever became of its attempts");
    stand.idle().await;
}

#[tokio::test]
async fn a_provider_that_is_not_there_gives_a_clear_error_in_each_dialect() {
    for dialect in [Dialect::OpenAi, Dialect::Anthropic] {
        let sim = provider("region-a", dialect).await;
        let openai = matches!(dialect, Dialect::OpenAi);
        let gateway = if openai { route(&sim) } else { messages_route(&sim) };
        let stand = Stand::start(config(vec![gateway])).await;
        sim.shutdown().await;
        let request =
            if openai { stand.chat(&chat("x", true)) } else { stand.messages(&messages("x", true)) };
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 502);
        let body: Value = answer.json().await.unwrap();
        assert_eq!(body["error"]["code"], "gateway_upstream_failed", "{body}");
        assert_eq!(body.get("type").is_some(), !openai, "the caller's dialect: {body}");
        stand.idle().await;
    }
}

#[tokio::test]
async fn a_provider_that_never_answers_ends_at_the_deadline() {
    let (a, _b, stand) = pair(|config| {
        config.routes.truncate(1);
        config.cohorts[0].deadline.stream_ms = 600;
    })
    .await;
    let answer = stand.chat(&chat(&on_a(Marker { fault: Some(Fault::Hang), ..Marker::default() }), true));
    let answer = answer.send().await.unwrap();
    assert_eq!(answer.status(), 504);
    a.wait_for(|stats| stats.cancelled == 1, Duration::from_secs(1)).await.unwrap();
    stand.idle().await;
    assert_eq!(stand.cohort("all").total.errors, 1);
}
