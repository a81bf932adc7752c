//! Traces: who is told, what is told, what providers get, and what a bad collector costs.

use std::{net::TcpListener, time::Instant};

use hedgerow_config::{GatewayConfig, settings::Traces};
use hedgerow_gateway::drain::Haste;
use hedgerow_sim::{Dialect, Marker, Provider};
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use reqwest::Response;

use crate::{
    collector::{Collector, Told, answer, said, taken},
    stand::{SOON, Stand, chat, cohort, config, header, provider, route, with_budget},
};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SAMPLED: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const UNSAMPLED: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
/// Part of every prompt here.
const PROMPT: &str = "the-prompt-is-nobodys-business";

/// Two providers, of which `region-a` is asked first, and a cohort that hedges after 50 ms.
async fn pair(endpoint: &str, sample_percent: u32) -> (Provider, Provider, Stand) {
    let (a, b) = (provider("region-a", Dialect::OpenAi).await, provider("region-b", Dialect::OpenAi).await);
    let mut config = with_budget(config(vec![route(&a), route(&b)]));
    config.routes[1].tier = 1;
    config.cohorts.push(cohort(50));
    config.settings.traces = Some(Traces { endpoint: endpoint.to_owned(), sample_percent });
    (a, b, Stand::start(config).await)
}

/// One provider and no cohort.
async fn single(endpoint: &str, sample_percent: u32) -> (Provider, Stand) {
    let sim = provider("region-a", Dialect::OpenAi).await;
    let settings = Some(Traces { endpoint: endpoint.to_owned(), sample_percent });
    let mut config: GatewayConfig = config(vec![route(&sim)]);
    config.settings.traces = settings;
    (sim, Stand::start(config).await)
}

async fn ask(stand: &Stand, prompt: &str, traceparent: &str) -> Response {
    let mut request = stand.chat(&chat(prompt, true)).header("tracestate", "vendor=1");
    if !traceparent.is_empty() {
        request = request.header("traceparent", traceparent);
    }
    request.send().await.unwrap()
}

/// A prompt that `region-a` answers after 30 s.
fn slow_on_a() -> String {
    let marker =
        Marker { provider: Some("region-a".into()), first_token_ms: Some(30_000.0), ..Marker::default() };
    format!("{PROMPT} {}", marker.text())
}

/// Values of `traceparent` and `tracestate` that a provider got; empty = none.
fn got(provider: &Provider) -> Vec<[String; 2]> {
    let text = |seen: &hedgerow_sim::provider::Seen, name: &str| {
        seen.headers.get(name).map_or_else(String::new, |value| value.to_str().unwrap().to_owned())
    };
    provider.seen().iter().map(|seen| ["traceparent", "tracestate"].map(|name| text(seen, name))).collect()
}

fn dropped(stand: &Stand) -> u64 {
    stand.running.runtime.metrics.spans_dropped.get()
}

fn attribute<'a>(span: &'a Told, name: &str) -> &'a str {
    span.said.get(name).map_or("", String::as_str)
}

#[tokio::test]
async fn a_hedged_user_action_is_one_trace_below_the_clients_span() {
    let collector = Collector::start().await;
    let (a, b, stand) = pair(&collector.endpoint, 0).await;
    let answer = ask(&stand, &slow_on_a(), SAMPLED).await;
    let request_id = header(&answer, "x-request-id").to_owned();
    answer.bytes().await.unwrap();
    let spans = collector.until(3).await;
    let [action, primary, hedge] = spans.as_slice() else { panic!("{spans:?}") };
    assert!(
        spans.iter().all(|span| span.ids[0] == TRACE && span.name == "chat chat" && !span.error),
        "{spans:?}"
    );
    assert_eq!((action.kind, action.ids[2].as_str()), (SpanKind::Server, "00f067aa0ba902b7"));
    for attempt in [primary, hedge] {
        assert_eq!((attempt.kind, &attempt.ids[2]), (SpanKind::Client, &action.ids[1]));
    }
    for (span, name, value) in [
        (action, "hedgerow.hedge.sent", "true"),
        (action, "hedgerow.hedge.delay_ms", "50"),
        (action, "hedgerow.winner.route", "region-b"),
        (action, "hedgerow.request.id", request_id.as_str()),
        (action, "http.response.status_code", "200"),
        (primary, "hedgerow.attempt.kind", "primary"),
        (primary, "hedgerow.attempt.outcome", "loser_canceled"),
        (hedge, "hedgerow.attempt.kind", "hedge"),
        (hedge, "hedgerow.attempt.outcome", "won"),
        (hedge, "hedgerow.route", "region-b"),
        (hedge, "gen_ai.provider.name", "sim"),
        (hedge, "server.address", "127.0.0.1"),
    ] {
        assert_eq!(attribute(span, name), value, "{name}");
    }
    let seen = [&action.events, &primary.events, &hedge.events].map(Vec::len);
    assert_eq!(seen, [1, 0, 1], "the first token is the hedge's");
    assert!(hedge.times.0 - primary.times.0 >= 50_000_000, "begun by the timer");
    let own = |span: &Told| [format!("00-{TRACE}-{}-01", span.ids[1]), "vendor=1".to_owned()];
    assert_eq!((got(&a), got(&b)), (vec![own(primary)], vec![own(hedge)]));
    let heard = &collector.heard()[0];
    assert_eq!(
        (heard.line.as_str(), heard.content_type.as_str()),
        ("POST /v1/traces", "application/x-protobuf")
    );
    let resource = said(&collector.batches()[0].resource.as_ref().unwrap().attributes);
    assert_eq!(
        (resource["service.name"].as_str(), resource["service.namespace"].as_str()),
        ("hedgerow-default", "test")
    );
    let bytes = &heard.body;
    assert!(!bytes.windows(PROMPT.len()).any(|window| window == PROMPT.as_bytes()), "a prompt was told");
    assert_eq!(dropped(&stand), 0);
}

#[tokio::test]
async fn what_the_client_does_not_sample_passes_as_it_came_and_is_not_told() {
    let collector = Collector::start().await;
    let (a, _b, stand) = pair(&collector.endpoint, 100).await;
    for traceparent in [UNSAMPLED, SAMPLED] {
        ask(&stand, &slow_on_a(), traceparent).await.bytes().await.unwrap();
    }
    collector.until(3).await;
    stand.idle().await;
    stand.running.shutdown(Haste::Now).await;
    assert_eq!(collector.spans().len(), 3, "the sampled one alone");
    assert_eq!(got(&a)[0], [UNSAMPLED, "vendor=1"]);
}

#[tokio::test]
async fn a_trace_that_begins_here_has_the_number_of_the_request_and_begins_for_the_provider_too() {
    let collector = Collector::start().await;
    let (sim, stand) = single(&collector.endpoint, 100).await;
    for traceparent in ["", "garbage"] {
        let answer = ask(&stand, PROMPT, traceparent).await;
        let trace = header(&answer, "x-request-id").trim_start_matches("req_").to_owned();
        answer.bytes().await.unwrap();
        collector
            .until_heard("the trace", |heard| {
                heard.spans().iter().filter(|span| span.ids[0] == trace).count() == 2
            })
            .await;
        let spans = collector.spans();
        let attempt =
            spans.iter().find(|span| span.ids[0] == trace && span.kind == SpanKind::Client).unwrap();
        assert_eq!(got(&sim).last().unwrap(), &[format!("00-{trace}-{}-01", attempt.ids[1]), String::new()]);
    }
}

#[tokio::test]
async fn beyond_the_share_only_what_was_hedged_or_failed_is_told() {
    let collector = Collector::start().await;
    let (a, _b, stand) = pair(&collector.endpoint, 0).await;
    ask(&stand, PROMPT, "").await.bytes().await.unwrap();
    let hedged = ask(&stand, &slow_on_a(), "").await;
    let failing = Marker { status: Some(400), ..Marker::default() }.text();
    let refused = ask(&stand, &failing, "").await;
    assert_eq!(refused.status(), 400);
    let broken = ask(&stand, &Marker { status: Some(500), ..Marker::default() }.text(), "").await;
    assert!(broken.status().is_server_error());
    let traces = [&hedged, &broken].map(|answer| header(answer, "x-request-id").replace("req_", ""));
    hedged.bytes().await.unwrap();
    stand.idle().await;
    stand.running.shutdown(Haste::Now).await;
    let mut told: Vec<_> = collector.spans().into_iter().map(|span| span.ids[0].clone()).collect();
    told.dedup();
    assert_eq!(told, traces);
    let last = collector.spans().pop().unwrap();
    assert!(last.error && last.said.contains_key("error.type"), "{last:?}");
    assert!(got(&a).iter().all(|[traceparent, state]| traceparent.is_empty() && state == "vendor=1"));
}

#[tokio::test]
async fn without_a_collector_nothing_is_added_to_what_providers_get() {
    let sim = provider("region-a", Dialect::OpenAi).await;
    let stand = Stand::start(config(vec![route(&sim)])).await;
    for traceparent in ["", SAMPLED] {
        ask(&stand, PROMPT, traceparent).await.bytes().await.unwrap();
        assert_eq!(got(&sim).last().unwrap(), &[traceparent, "vendor=1"]);
    }
    stand.idle().await;
    assert_eq!(dropped(&stand), 0, "nothing was made that could be lost");
}

#[tokio::test]
async fn a_collector_that_is_away_silent_or_wrong_costs_spans_and_no_request() {
    let away = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let silent = Collector::with(|_| None).await;
    let refusing = Collector::with(|_| Some(answer(400, b"no"))).await;
    let elsewhere = Collector::with(|_| Some(answer(307, b""))).await;
    let busy = Collector::with(|_| Some(answer(503, b""))).await;
    for endpoint in [away, silent.endpoint, refusing.endpoint, elsewhere.endpoint, busy.endpoint] {
        let (_sim, stand) = single(&endpoint, 100).await;
        let begun = Instant::now();
        for _ in 0..10 {
            let answer = ask(&stand, PROMPT, "").await;
            assert_eq!(answer.status(), 200);
            answer.bytes().await.unwrap();
        }
        stand.idle().await;
        let runtime = stand.running.runtime.clone();
        let left = tokio::time::timeout(SOON, stand.running.shutdown(Haste::Now)).await;
        assert!(left.is_ok(), "{endpoint}: still leaving after {:?}", begun.elapsed());
        assert_eq!(runtime.metrics.spans_dropped.get(), 20, "{endpoint}");
    }
}

#[tokio::test]
async fn what_a_busy_collector_puts_off_is_told_later_and_once() {
    let collector =
        Collector::with(|number| Some(if number == 0 { answer(503, b"") } else { taken(0) })).await;
    let (_sim, stand) = single(&collector.endpoint, 100).await;
    ask(&stand, PROMPT, "").await.bytes().await.unwrap();
    collector.until_heard("the batch again", |heard| heard.heard().len() == 2).await;
    let heard = collector.heard();
    assert_eq!(heard[0].body, heard[1].body);
    let runtime = stand.running.runtime.clone();
    stand.running.shutdown(Haste::Now).await;
    assert_eq!((runtime.metrics.spans_dropped.get(), collector.heard().len()), (0, 2));
}

#[tokio::test]
async fn what_a_collector_says_it_has_refused_is_counted_and_nonsense_is_not() {
    let collector =
        Collector::with(|number| Some(if number == 0 { taken(1) } else { answer(200, b"\xff\xff\xff") }))
            .await;
    let (_sim, stand) = single(&collector.endpoint, 100).await;
    ask(&stand, PROMPT, "").await.bytes().await.unwrap();
    stand.until("one span is counted", |stand| dropped(stand) == 1).await;
    ask(&stand, PROMPT, "").await.bytes().await.unwrap();
    collector.until(4).await;
    stand.idle().await;
    let runtime = stand.running.runtime.clone();
    stand.running.shutdown(Haste::Now).await;
    assert_eq!(runtime.metrics.spans_dropped.get(), 1);
}

#[tokio::test]
async fn a_leaving_pod_tells_what_it_still_has() {
    let collector = Collector::start().await;
    let (_sim, stand) = single(&collector.endpoint, 100).await;
    ask(&stand, PROMPT, "").await.bytes().await.unwrap();
    stand.idle().await;
    stand.running.shutdown(Haste::Now).await;
    assert_eq!(collector.spans().len(), 2);
}

#[tokio::test]
async fn a_new_configuration_moves_traces_elsewhere_or_ends_them_and_loses_none() {
    let (first, second) = (Collector::start().await, Collector::start().await);
    let (sim, stand) = single(&first.endpoint, 100).await;
    let runtime = stand.running.runtime.clone();
    ask(&stand, PROMPT, "").await.bytes().await.unwrap();
    stand.until("settled", |_| sim.stats().completed == 1).await;
    stand.idle().await;
    let mut next = config(vec![route(&sim)]);
    next.settings.traces = Some(Traces { endpoint: second.endpoint.clone(), sample_percent: 100 });
    runtime.apply(next.clone(), "second".into()).unwrap();
    ask(&stand, PROMPT, "").await.bytes().await.unwrap();
    second.until(2).await;
    first.until(2).await;
    next.settings.traces = None;
    runtime.apply(next, "third".into()).unwrap();
    ask(&stand, PROMPT, SAMPLED).await.bytes().await.unwrap();
    assert_eq!(got(&sim).last().unwrap(), &[SAMPLED, "vendor=1"]);
    stand.idle().await;
    stand.running.shutdown(Haste::Now).await;
    assert_eq!((first.spans().len(), second.spans().len()), (2, 2));
    assert_eq!(runtime.metrics.spans_dropped.get(), 0);
}
