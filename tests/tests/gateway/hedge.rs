//! The race: a slow primary is overtaken, the loser is cancelled, and the client gets one attempt's bytes.

use std::time::Duration;

use hedgerow_config::{
    cohort::{DecisionState, Mode},
    state::CohortCounters,
};
use hedgerow_sim::{Dialect, Marker, Provider};
use serde_json::Value;

use crate::stand::{Stand, chat, cohort, config, header, provider, route, sources, with_budget, with_room};

/// Two providers, requests that `slow` answers after 30 s, and a cohort that hedges after `delay_ms`.
async fn pair(
    delay_ms: u64,
    edit: impl FnOnce(&mut hedgerow_config::GatewayConfig),
) -> (Provider, Provider, Stand) {
    let (a, b) = (provider("region-a", Dialect::OpenAi).await, provider("region-b", Dialect::OpenAi).await);
    let mut config = with_budget(config(vec![route(&a), route(&b)]));
    // The primary is always region-a.
    config.routes[1].tier = 1;
    config.cohorts.push(cohort(delay_ms));
    edit(&mut config);
    (a, b, Stand::start(config).await)
}

fn slow_on_a() -> String {
    Marker { provider: Some("region-a".into()), first_token_ms: Some(30_000.0), ..Marker::default() }.text()
}

fn totals(stand: &Stand) -> CohortCounters {
    stand.cohort("all").total
}

#[tokio::test]
async fn a_hedge_overtakes_a_slow_stream_and_the_loser_is_cancelled_at_once() {
    let (a, b, stand) = pair(50, |_| {}).await;
    let answer = stand.chat(&chat(&slow_on_a(), true)).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(header(&answer, "x-hedgerow-route"), "region-b");
    assert_eq!(header(&answer, "x-hedgerow-hedged"), "true");
    assert_eq!(header(&answer, "x-hedgerow-attempts"), "2");
    a.wait_for(|stats| stats.cancelled == 1, Duration::from_millis(500)).await.unwrap();
    let text = answer.text().await.unwrap();
    let sources = sources(&text);
    assert_eq!(sources.len(), 1, "one attempt only: {sources:?}");
    assert!(sources.first().unwrap().starts_with("region-b"));
    assert!(text.trim_end().ends_with("[DONE]"));
    stand.idle().await;
    stand.until("settled", |stand| totals(stand).originals == 1).await;
    let total = totals(&stand);
    assert_eq!((total.hedges, total.wins, total.errors), (1, 1, 0));
    assert!(total.cost_lost.0 > 0 && total.cost > total.cost_without, "{total:?}");
    assert_eq!(b.stats().completed, 1);
}

#[tokio::test]
async fn a_hedge_overtakes_a_slow_complete_answer() {
    let (a, _b, stand) = pair(50, |_| {}).await;
    let answer = stand.chat(&chat(&slow_on_a(), false)).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), header(&answer, "x-hedgerow-route")), (200, "region-b"));
    a.wait_for(|stats| stats.cancelled == 1, Duration::from_millis(500)).await.unwrap();
    let body: Value = answer.json().await.unwrap();
    assert_eq!(sources(&body.to_string()).len(), 1);
    stand.idle().await;
}

#[tokio::test]
async fn a_fast_primary_is_never_hedged() {
    let (_a, b, stand) = pair(5_000, |_| {}).await;
    for _ in 0..20 {
        let answer = stand.chat(&chat("hello", true)).send().await.unwrap();
        assert_eq!(header(&answer, "x-hedgerow-route"), "region-a");
        answer.bytes().await.unwrap();
    }
    stand.idle().await;
    assert_eq!(b.stats().requests, 0);
}

#[tokio::test]
async fn tokens_of_two_attempts_are_never_mixed_when_both_answer_at_the_same_time() {
    let (_a, _b, stand) = pair(20, |config| *config = with_room(config.clone())).await;
    let prompt = Marker { first_token_ms: Some(40.0), ..Marker::default() }.text();
    let answers = (0..40).map(|_| {
        let request = stand.chat(&chat(&prompt, true));
        tokio::spawn(async move { request.send().await.unwrap().text().await.unwrap() })
    });
    for answer in answers.collect::<Vec<_>>() {
        let text = answer.await.unwrap();
        assert_eq!(sources(&text).len(), 1, "{text}");
        assert!(text.trim_end().ends_with("[DONE]"));
    }
    stand.idle().await;
}

#[tokio::test]
async fn switches_and_gates_keep_the_primary_alone_and_name_themselves() {
    type Edit = fn(&mut hedgerow_config::GatewayConfig);
    let cases: [(&str, Edit); 9] = [
        ("CohortDisabled", |config| config.cohorts[0].mode = Mode::Disabled),
        ("Observe", |config| config.cohorts[0].mode = Mode::Observe),
        ("GuardrailSuspended", |config| config.cohorts[0].decision.state = DecisionState::Suspended),
        ("NotEnrolled", |config| config.cohorts[0].share_percent = 0),
        ("NoAttemptsLeft", |config| config.cohorts[0].retry.max_attempts = 1),
        ("NoAlternate", |config| {
            let domain = config.routes[0].failure_domain.clone();
            config.routes[1].failure_domain = domain;
        }),
        ("NoAlternate", |config| {
            config.routes[0].data_boundary = Some("eu".into());
            config.routes[1].data_boundary = Some("us".into());
        }),
        ("Withheld", |config| config.cohorts[0].holdout_percent = 100),
        ("SpendCeiling", |config| config.cohorts[0].max_spend_micros = Some(1)),
    ];
    for (reason, edit) in cases {
        let (_a, b, stand) = pair(10, edit).await;
        let prompt =
            Marker { provider: Some("region-a".into()), first_token_ms: Some(80.0), ..Marker::default() };
        let mut body = chat(&prompt.text(), true);
        body["max_tokens"] = 64.into();
        let answer = stand.chat(&body).send().await.unwrap();
        assert_eq!((answer.status().as_u16(), header(&answer, "x-hedgerow-hedge-reason")), (200, reason));
        assert_eq!(header(&answer, "x-hedgerow-hedged"), "false", "{reason}");
        answer.bytes().await.unwrap();
        stand.idle().await;
        assert_eq!(b.stats().requests, 0, "{reason}");
        let total = totals(&stand);
        assert_eq!(total.withheld, u64::from(reason == "Withheld"), "{reason}");
        assert_eq!(
            total.hedges,
            u64::from(reason == "Observe"),
            "{reason}: observing counts what it would send"
        );
    }
}

#[tokio::test]
async fn a_request_with_a_tool_of_the_provider_is_never_sent_twice() {
    let (_a, b, stand) = pair(10, |_| {}).await;
    let prompt =
        Marker { provider: Some("region-a".into()), first_token_ms: Some(80.0), ..Marker::default() };
    let mut body = chat(&prompt.text(), true);
    body["tools"] = serde_json::json!([{ "type": "web_search" }]);
    let answer = stand.chat(&body).send().await.unwrap();
    assert_eq!(header(&answer, "x-hedgerow-hedge-reason"), "Ineligible");
    answer.bytes().await.unwrap();
    assert_eq!(b.stats().requests, 0);
}

#[tokio::test]
async fn a_repetition_by_the_client_is_one_attempt_without_a_hedge() {
    let (_a, b, stand) = pair(10, |_| {}).await;
    let prompt =
        Marker { provider: Some("region-a".into()), first_token_ms: Some(80.0), ..Marker::default() };
    let request = stand.chat(&chat(&prompt.text(), true)).header("x-stainless-retry-count", "1");
    let answer = request.send().await.unwrap();
    assert_eq!(header(&answer, "x-hedgerow-hedge-reason"), "ClientRetrying");
    answer.bytes().await.unwrap();
    stand.idle().await;
    assert_eq!((b.stats().requests, totals(&stand).originals), (0, 0));
}

#[tokio::test]
async fn without_budget_the_primary_stays_alone() {
    let (_a, b, stand) = pair(10, |config| {
        config.settings.defaults.budget.ratio_percent = 0;
        config.settings.defaults.budget.cap = 1;
    })
    .await;
    let prompt =
        Marker { provider: Some("region-a".into()), first_token_ms: Some(60.0), ..Marker::default() };
    let mut reasons = Vec::new();
    for _ in 0..6 {
        let answer = stand.chat(&chat(&prompt.text(), true)).send().await.unwrap();
        reasons.push(header(&answer, "x-hedgerow-hedge-reason").to_owned());
        answer.bytes().await.unwrap();
    }
    assert_eq!(reasons.last().map(String::as_str), Some("BudgetEmpty"), "{reasons:?}");
    stand.idle().await;
    assert!(b.stats().requests <= 2, "{:?}", b.stats());
}

#[tokio::test]
async fn an_audited_loser_is_read_to_its_end_and_booked_outside_the_users_permit() {
    let (a, _b, stand) = pair(30, |config| config.routes[0].on_cancel.audit_percent = 100).await;
    // The loser has sent its headers, is overtaken, and then finishes.
    let prompt = Marker {
        provider: Some("region-a".into()),
        first_token_ms: Some(400.0),
        headers_percent: Some(0.0),
        ..Marker::default()
    };
    let answer = stand.chat(&chat(&prompt.text(), true)).send().await.unwrap();
    assert_eq!(header(&answer, "x-hedgerow-route"), "region-b");
    answer.bytes().await.unwrap();
    stand.until("the user's permits are back", |stand| stand.in_flight().lane_permits == 0).await;
    a.wait_for(|stats| stats.completed == 1, Duration::from_secs(5)).await.unwrap();
    stand.idle().await;
    stand.until("settled", |stand| totals(stand).audited == 1).await;
    assert_eq!(totals(&stand).late, 1);
}
