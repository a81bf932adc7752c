//! The generator measures what is there, and lies about nothing.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{net::SocketAddr, time::Duration};

use hedgerow_sim::{
    Dialect, Latency, Profile, Provider, ProviderConfig, Storm, Tokens,
    traffic::{
        Arrivals, ClosedLoop, Failure, OpenLoop, Outcome, RequestKind, RetryRule, Tally, Target,
        TrafficClass, Verdict,
    },
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    sync::mpsc::UnboundedReceiver,
};

const BOUND: Duration = Duration::from_secs(20);

async fn provider(profile: Profile) -> Provider {
    let config = ProviderConfig { profile, ..ProviderConfig::new("a", Dialect::OpenAi) };
    Provider::start(config).await.unwrap()
}

fn class() -> TrafficClass {
    TrafficClass::new("c", RequestKind::ChatStream, "m")
}

async fn next(outcomes: &mut UnboundedReceiver<Outcome>) -> Outcome {
    tokio::time::timeout(BOUND, outcomes.recv()).await.unwrap().unwrap()
}

#[tokio::test]
async fn latency_of_a_fixed_profile_is_measured_from_the_first_token() {
    let first_token = Latency::fixed(150.0);
    let output_tokens = Tokens { min: 5, max: 5 };
    let provider =
        provider(Profile { first_token, gap: Latency::fixed(20.0), output_tokens, ..Profile::default() })
            .await;
    let arrivals = Arrivals::Poisson { rps: 20.0 };
    let (traffic, mut outcomes) =
        OpenLoop::start(&Target::http1(provider.addr()), vec![(class(), arrivals)], 1);
    let mut tally = Tally::new(Duration::from_secs(1));
    let mut after_first = Duration::ZERO;
    for _ in 0..40 {
        let outcome = next(&mut outcomes).await;
        after_first = after_first.max(outcome.end.saturating_sub(outcome.first_token.unwrap()));
        tally.record(&outcome);
    }
    drop(traffic);
    let all = tally.all(Some("c"));
    assert_eq!((all.counts.answered, all.counts.failed), (40, 0));
    // Never early: a header or role chunk would be far below. How late depends on the machine; that it is the
    // first token and not the last is seen where at least one answer took its 80 ms after it.
    let ms = |time: Option<Duration>| time.unwrap().as_secs_f64() * 1000.0;
    assert!(ms(all.first_token.at(0.0)) >= 149.0 && ms(all.total.at(0.0)) >= 229.0);
    assert!(after_first >= Duration::from_millis(60), "{after_first:?}");
}

#[tokio::test]
async fn a_rate_change_counts_at_once_and_stop_waits_for_all() {
    let provider = provider(Profile::default()).await;
    let silent = vec![(class(), Arrivals::Poisson { rps: 0.0 })];
    let (traffic, mut outcomes) = OpenLoop::start(&Target::http1(provider.addr()), silent, 1);
    assert!(!traffic.set_arrivals("none", Arrivals::Poisson { rps: 1.0 }));
    assert!(traffic.set_arrivals("c", Arrivals::Poisson { rps: 100.0 }));
    let mut sequences = vec![next(&mut outcomes).await.sequence];
    traffic.stop().await;
    while let Some(outcome) = outcomes.recv().await {
        assert_eq!(outcome.verdict, Verdict::Answered);
        sequences.push(outcome.sequence);
    }
    sequences.sort_unstable();
    let arrived = sequences.len() as u64;
    assert_eq!(sequences, (0..arrived).collect::<Vec<_>>(), "one outcome for each arrival");
    let stats = provider.stats();
    assert_eq!((stats.requests, stats.completed), (arrived, arrived));
}

#[tokio::test]
async fn waiting_for_a_stalled_server_is_part_of_the_latency() {
    // Accepts and never answers until told: the open loop goes on arriving, and the outcomes say how long.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let class = TrafficClass { timeout: Duration::from_millis(200), ..class() };
    let arrivals = Arrivals::Poisson { rps: 100.0 };
    let (_traffic, mut outcomes) =
        OpenLoop::start(&Target::http1(listener.local_addr().unwrap()), vec![(class, arrivals)], 1);
    let (first, second) = (next(&mut outcomes).await, next(&mut outcomes).await);
    assert_eq!(first.verdict, Verdict::Failed(Failure::TimedOut));
    assert!(first.end >= Duration::from_millis(200));
    let apart = second.intended.saturating_sub(first.intended);
    assert!(apart < Duration::from_millis(200), "arrivals did not wait for answers: {apart:?}");
}

#[tokio::test]
async fn sessions_retry_as_the_sdk_does_and_say_so() {
    let storm = Storm { retry_after_ms: Some(5), ..Storm::of(100.0, 503) };
    let provider = provider(Profile { storms: vec![storm], ..Profile::default() }).await;
    let (sessions, mut outcomes) = ClosedLoop::start(
        &Target::http1(provider.addr()),
        class(),
        3,
        &Latency::fixed(1.0),
        RetryRule::OPENAI_PYTHON,
        1,
    );
    let failed = next(&mut outcomes).await;
    assert_eq!((failed.verdict, failed.tries), (Verdict::Failed(Failure::Status(503)), 3));
    provider.set(Profile::default());
    while next(&mut outcomes).await.verdict != Verdict::Answered {}
    sessions.stop().await;
    assert_eq!(provider.stats().in_flight, 0, "sessions end after what they are doing");
}

/// A server that answers each connection with this and closes it.
async fn canned(status: &str, headers: &str, body: String) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let length = body.len();
    let answer =
        format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}");
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"}") {
                if stream.read_buf(&mut request).await.unwrap() == 0 {
                    break;
                }
            }
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    addr
}

fn frames(texts: &[&str]) -> String {
    let chunk =
        |text| format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
    let end =
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    texts.iter().map(chunk).collect::<String>() + end
}

async fn verdict(addr: SocketAddr) -> Outcome {
    let (_session, mut outcomes) =
        ClosedLoop::start(&Target::http1(addr), class(), 1, &Latency::fixed(0.0), RetryRule::NONE, 1);
    next(&mut outcomes).await
}

#[tokio::test]
async fn an_answer_of_two_attempts_is_caught_however_complete_it_looks() {
    for (texts, verdict_is) in [
        (["a#1:0 ", "a#1:1 "], Verdict::Answered),
        (["a#1:0 ", "b#7:1 "], Verdict::Failed(Failure::Mixed)),
        (["a#1:0 ", "a#2:1 "], Verdict::Failed(Failure::Mixed)),
        (["a#1:0 ", "a#1:0 "], Verdict::Failed(Failure::Mixed)),
    ] {
        let headers =
            "content-type: text/event-stream\r\nx-hedgerow-hedged: true\r\nx-hedgerow-attempts: 2\r\n";
        let outcome = verdict(canned("200 OK", headers, frames(&texts)).await).await;
        assert_eq!(outcome.verdict, verdict_is, "{texts:?}");
        assert_eq!((outcome.gateway.hedged, outcome.gateway.attempts), (true, Some(2)));
    }
}

#[tokio::test]
async fn only_the_gateways_own_429_is_a_shed() {
    for (kind, verdict_is) in
        [("gateway_overloaded", Verdict::Shed), ("requests", Verdict::Failed(Failure::Status(429)))]
    {
        let body = format!(r#"{{"error":{{"message":"x","type":"{kind}","code":null}}}}"#);
        let addr = canned("429 Too Many Requests", "retry-after: 2\r\n", body).await;
        let outcome = verdict(addr).await;
        assert_eq!((outcome.verdict, outcome.retry_after), (verdict_is, Some(Duration::from_secs(2))));
    }
}
