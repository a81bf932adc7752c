//! A new configuration under load: nothing is lost, counts go on, an older decision is ignored.

use std::time::Duration;

use hedgerow_config::{
    GatewayConfig,
    cohort::{DecisionState, Mode},
    settings::Hedging,
};
use hedgerow_sim::{Dialect, Marker};

use crate::stand::{Stand, chat, cohort, config, header, provider, route, with_budget, with_room};

#[tokio::test]
async fn requests_in_flight_keep_their_configuration_and_no_request_is_lost() {
    let (a, b) = (provider("region-a", Dialect::OpenAi).await, provider("region-b", Dialect::OpenAi).await);
    let mut first = with_room(with_budget(config(vec![route(&a)])));
    first.cohorts.push(cohort(10_000));
    let mut second = first.clone();
    second.routes = vec![route(&b)];
    let stand = Stand::start(first.clone()).await;
    let prompt = Marker { first_token_ms: Some(30.0), gap_ms: Some(3.0), ..Marker::default() }.text();
    let mut requests = Vec::new();
    for round in 0..40_u32 {
        let next = if round % 2 == 0 { &second } else { &first };
        for _ in 0..5 {
            let request = stand.chat(&chat(&prompt, true));
            requests.push(tokio::spawn(async move {
                let answer = request.send().await.unwrap();
                let status = answer.status().as_u16();
                (status, answer.text().await.unwrap())
            }));
        }
        stand.running.runtime.apply(next.clone(), format!("digest-{round}")).unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for request in requests {
        let (status, text) = request.await.unwrap();
        assert_eq!(status, 200, "{text}");
        assert!(text.trim_end().ends_with("[DONE]"), "{text}");
    }
    stand.idle().await;
    stand.until("all are counted", |stand| stand.cohort("all").total.originals == 200).await;
    assert_eq!(stand.running.runtime.state().digest, "digest-39");
    assert!(a.stats().completed > 0 && b.stats().completed > 0);
}

#[tokio::test]
async fn a_smaller_transition_is_ignored_and_a_larger_one_obeyed() {
    let sim = provider("region-a", Dialect::OpenAi).await;
    let mut config = config(vec![route(&sim)]);
    config.cohorts.push(cohort(50));
    let stand = Stand::start(config.clone()).await;
    let with = |transition, state| {
        let mut next = config.clone();
        next.cohorts[0].decision.transition = transition;
        next.cohorts[0].decision.state = state;
        next
    };
    let apply = |next| stand.running.runtime.apply(next, "next".into()).unwrap();
    apply(with(5, DecisionState::Suspended));
    assert_eq!(stand.cohort("all").state, DecisionState::Suspended);
    apply(with(4, DecisionState::Active));
    assert_eq!((stand.cohort("all").state, stand.cohort("all").transition), (DecisionState::Suspended, 5));
    apply(with(6, DecisionState::Trial));
    assert_eq!(stand.cohort("all").state, DecisionState::Trial);
}

/// Takes hedging away from a running request.
type Edit = fn(&mut GatewayConfig);

#[tokio::test]
async fn no_hedge_is_sent_once_a_later_configuration_forbids_it_and_the_primary_goes_on() {
    let edits: [(&str, Edit); 5] = [
        ("GuardrailSuspended", |config| {
            let decision = &mut config.cohorts[0].decision;
            (decision.transition, decision.state) = (decision.transition + 1, DecisionState::Suspended);
        }),
        ("CohortDisabled", |config| config.cohorts[0].mode = Mode::Disabled),
        ("Observe", |config| config.cohorts[0].mode = Mode::Observe),
        ("CohortDisabled", |config| config.settings.hedging = Hedging::Forbidden),
        ("CohortDisabled", |config| config.cohorts.clear()),
    ];
    for (reason, edit) in edits {
        let (a, b) =
            (provider("region-a", Dialect::OpenAi).await, provider("region-b", Dialect::OpenAi).await);
        let mut config = with_budget(config(vec![route(&a), route(&b)]));
        config.routes[1].tier = 1;
        config.cohorts.push(cohort(300));
        let stand = Stand::start(config.clone()).await;
        let prompt =
            Marker { provider: Some("region-a".into()), first_token_ms: Some(600.0), ..Marker::default() };
        let request = stand.chat(&chat(&prompt.text(), true));
        let request = tokio::spawn(async move { request.send().await.unwrap() });
        a.wait_for(|stats| stats.requests == 1, Duration::from_secs(2)).await.unwrap();
        edit(&mut config);
        stand.running.runtime.apply(config, "later".into()).unwrap();
        let answer = request.await.unwrap();
        assert_eq!((answer.status().as_u16(), header(&answer, "x-hedgerow-hedge-reason")), (200, reason));
        answer.bytes().await.unwrap();
        stand.idle().await;
        assert_eq!((a.stats().completed, b.stats().requests), (1, 0), "{reason}");
    }
}

#[tokio::test]
async fn a_configuration_that_cannot_be_used_changes_nothing() {
    let sim = provider("region-a", Dialect::OpenAi).await;
    let good = config(vec![route(&sim)]);
    let stand = Stand::start(good.clone()).await;
    let mut bad = good;
    bad.routes[0].endpoint = "ftp://nowhere".into();
    let error = stand.running.runtime.apply(bad, "bad".into()).unwrap_err();
    assert!(error.to_string().contains("region-a"), "{error}");
    let answer = stand.chat(&chat("hello", false)).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), header(&answer, "x-hedgerow-route")), (200, "region-a"));
}

#[tokio::test]
async fn a_cell_starts_again_when_the_upstream_model_changes() {
    let sim = provider("region-a", Dialect::OpenAi).await;
    let mut config = config(vec![route(&sim)]);
    let stand = Stand::start(config.clone()).await;
    stand.chat(&chat("hello", false)).send().await.unwrap();
    config.routes[0].models[0].upstream_name = Some("chat-2".into());
    stand.running.runtime.apply(config, "next".into()).unwrap();
    stand.chat(&chat("hello", false)).send().await.unwrap();
    let state = stand.running.runtime.state();
    assert_eq!(state.cells.len(), 1);
    assert_eq!((state.cells[0].generation, state.cells[0].events.len()), (1, 1));
    assert!(String::from_utf8_lossy(&sim.seen()[1].body).contains("\"chat-2\""));
}
