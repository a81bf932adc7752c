//! What attempts cost, to the last unit.

use std::time::Duration;

use hedgerow_config::{cohort::Cohort, money::Picos, route::CancelBilling};
use hedgerow_sim::{Dialect, Marker};

use crate::stand::{Stand, chat, cohort, config, header, provider, route, with_budget};

/// Prices of the test routes: 1 per input token, 4 per output token, in micro-units.
fn micros(input: u64, output: u64) -> Picos {
    Picos(u128::from(input + 4 * output) * 1_000_000)
}

#[tokio::test]
async fn streamed_and_complete_answers_of_the_same_usage_cost_the_same_exactly() {
    let sim = provider("region-a", Dialect::OpenAi).await;
    let mut config = config(vec![route(&sim)]);
    config.cohorts.push(cohort(60_000));
    let stand = Stand::start(config).await;
    let prompt = Marker { input_tokens: Some(100), tokens: Some(7), ..Marker::default() }.text();
    for stream in [true, false] {
        stand.chat(&chat(&prompt, stream)).send().await.unwrap().bytes().await.unwrap();
    }
    stand.until("both are settled", |stand| stand.cohort("all").total.originals == 2).await;
    let spend = stand.running.runtime.state().spend;
    let billed = sim.stats();
    assert_eq!(spend.total, micros(billed.input_tokens_billed, billed.output_tokens_billed));
    assert_eq!(spend.winners, spend.total);
    assert_eq!(spend.estimated, Picos(0));
    let total = stand.cohort("all").total;
    assert_eq!((total.cost, total.cost_without, total.cost_lost), (spend.total, spend.total, Picos(0)));
}

#[tokio::test]
async fn a_cancelled_loser_costs_its_input_and_more_where_the_provider_bills_on() {
    for (billing, at_least_output) in [(CancelBilling::Unknown, 0), (CancelBilling::Continues, 50)] {
        let (a, b) =
            (provider("region-a", Dialect::OpenAi).await, provider("region-b", Dialect::OpenAi).await);
        let mut config = with_budget(config(vec![route(&a), route(&b)]));
        config.routes[0].on_cancel.billing = billing;
        config.routes[1].tier = 1;
        config.cohorts.push(cohort(30));
        let stand = Stand::start(config).await;
        let prompt =
            Marker { provider: Some("region-a".into()), first_token_ms: Some(30_000.0), ..Marker::default() };
        let mut body = chat(&prompt.text(), true);
        body["max_tokens"] = 50.into();
        let answer = stand.chat(&body).send().await.unwrap();
        assert_eq!(header(&answer, "x-hedgerow-route"), "region-b");
        answer.bytes().await.unwrap();
        a.wait_for(|stats| stats.cancelled == 1, Duration::from_secs(2)).await.unwrap();
        stand.until("settled", |stand| stand.cohort("all").total.originals == 1).await;
        let spend = stand.running.runtime.state().spend;
        assert!(spend.losers > micros(0, at_least_output), "{spend:?}");
        assert_eq!(spend.estimated, spend.losers, "only the loser is not exact: {spend:?}");
        let total = stand.cohort("all").total;
        assert_eq!((total.cost, total.cost_lost), (spend.total, spend.losers));
        assert!(total.cost_without < total.cost && total.cost_without.0 > 0, "{total:?}");
        assert_eq!(total.extra_by_route.keys().collect::<Vec<_>>(), ["region-b"]);
    }
}

#[tokio::test]
async fn whole_answers_of_primaries_tell_whether_the_slow_ones_are_long_ones() {
    let (a, b) = (provider("region-a", Dialect::OpenAi).await, provider("region-b", Dialect::OpenAi).await);
    let mut config = with_budget(config(vec![route(&a), route(&b)]));
    config.routes[1].tier = 1;
    // Every firing is withheld, so that the slow one ends by itself.
    config.cohorts.push(Cohort { holdout_percent: 100, ..cohort(500) });
    let stand = Stand::start(config).await;
    for (stream, tokens, first_token_ms) in [(true, 5, 0.0), (false, 7, 0.0), (false, 90, 600.0)] {
        let prompt =
            Marker { tokens: Some(tokens), first_token_ms: Some(first_token_ms), ..Marker::default() };
        stand.chat(&chat(&prompt.text(), stream)).send().await.unwrap().bytes().await.unwrap();
    }
    stand.until("all are settled", |stand| stand.cohort("all").total.originals == 3).await;
    let total = stand.cohort("all").total;
    assert_eq!((total.answers, total.answers_tokens), (2, 97), "streams are not looked at");
    assert_eq!((total.slow_answers, total.slow_answers_tokens), (1, 90));
    assert!(total.slow_answers_ms >= 600 && total.answers_ms >= total.slow_answers_ms, "{total:?}");
}

#[tokio::test]
async fn a_refused_attempt_costs_nothing() {
    let sim = provider("region-a", Dialect::OpenAi).await;
    let stand = Stand::start(config(vec![route(&sim)])).await;
    let prompt = Marker { status: Some(429), retry_after_s: Some(1.0), ..Marker::default() }.text();
    let answer = stand.chat(&chat(&prompt, true)).send().await.unwrap();
    assert_eq!(answer.status(), 429);
    stand.idle().await;
    assert_eq!(stand.running.runtime.state().spend.total, Picos(0));
}
