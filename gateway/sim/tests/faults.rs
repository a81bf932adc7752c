//! Every fault is seen by a client as what it is.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use hedgerow_sim::{
    Dialect, Fault, FaultRule, Latency, Profile, Provider, ProviderConfig, Quota, Storm,
    traffic::{Client, ClosedLoop, Failure, Outcome, RequestKind, RetryRule, Target, TrafficClass, Verdict},
};

async fn outcome(profile: Profile, kind: RequestKind) -> (Outcome, Provider) {
    let dialect = match kind {
        RequestKind::ChatStream | RequestKind::ChatJson => Dialect::OpenAi,
        RequestKind::MessagesStream | RequestKind::MessagesJson => Dialect::Anthropic,
    };
    // Only where nothing more will come is it given up soon.
    let endless = profile
        .faults
        .iter()
        .any(|rule| matches!(rule.fault, Fault::Stall | Fault::StallAtToken(_) | Fault::Hang));
    let timeout = Duration::from_secs(if endless { 1 } else { 30 });
    let provider =
        Provider::start(ProviderConfig { profile, ..ProviderConfig::new("a", dialect) }).await.unwrap();
    let class = TrafficClass { timeout, ..TrafficClass::new("c", kind, "m") };
    let target = Target::http1(provider.addr());
    let (_session, mut outcomes) =
        ClosedLoop::start(&target, class, 1, &Latency::fixed(0.0), RetryRule::NONE, 1);
    let outcome = tokio::time::timeout(Duration::from_mins(1), outcomes.recv()).await.unwrap().unwrap();
    (outcome, provider)
}

fn with(fault: Fault) -> Profile {
    Profile { faults: vec![FaultRule { percent: 100.0, fault }], ..Profile::default() }
}

#[tokio::test]
async fn every_fault_of_a_stream_has_its_own_look() {
    for kind in [RequestKind::ChatStream, RequestKind::MessagesStream] {
        for (fault, failure, tokens) in [
            (Fault::Stall, Failure::TimedOut, 0),
            (Fault::StallAtToken(2), Failure::TimedOut, 2),
            (Fault::Hang, Failure::TimedOut, 0),
            (Fault::Close, Failure::Connection, 0),
            (Fault::CutAtToken(0), Failure::Truncated, 0),
            (Fault::CutAtToken(3), Failure::Truncated, 3),
            (Fault::CutAtToken(16), Failure::Truncated, 16),
            (Fault::Html, Failure::Truncated, 0),
            (Fault::Empty, Failure::Truncated, 0),
            (Fault::BrokenFrames, Failure::Malformed, 0),
            (Fault::ErrorInStream(0), Failure::InBody, 0),
            (Fault::ErrorInStream(4), Failure::InBody, 4),
            (Fault::EndEarly(5), Failure::Truncated, 5),
        ] {
            let (outcome, _) = outcome(with(fault.clone()), kind).await;
            assert_eq!(outcome.verdict, Verdict::Failed(failure), "{kind:?} {fault:?}: {outcome:?}");
            assert_eq!(outcome.integrity.tokens, tokens, "{kind:?} {fault:?}");
        }
    }
}

#[tokio::test]
async fn every_fault_of_a_document_has_its_own_look() {
    for kind in [RequestKind::ChatJson, RequestKind::MessagesJson] {
        for (fault, failure) in [
            (Fault::Stall, Failure::TimedOut),
            (Fault::Hang, Failure::TimedOut),
            (Fault::Close, Failure::Connection),
            (Fault::CutAtByte(40), Failure::Truncated),
            (Fault::CutAtToken(3), Failure::Truncated),
            (Fault::Html, Failure::Malformed),
            (Fault::Empty, Failure::Malformed),
            (Fault::BrokenFrames, Failure::Malformed),
            (Fault::ErrorBody, Failure::InBody),
        ] {
            let (outcome, _) = outcome(with(fault.clone()), kind).await;
            assert_eq!(outcome.verdict, Verdict::Failed(failure), "{kind:?} {fault:?}: {outcome:?}");
        }
    }
}

#[tokio::test]
async fn a_cut_at_a_byte_delivers_exactly_the_bytes_before_it() {
    let profile = with(Fault::CutAtByte(777));
    let config = ProviderConfig { profile, ..ProviderConfig::new("a", Dialect::OpenAi) };
    let provider = Provider::start(config).await.unwrap();
    for target in [Target::http1(provider.addr()), Target::h2c(provider.addr())] {
        let client = Client::new(target);
        let request = TrafficClass::new("c", RequestKind::ChatStream, "m").request(0, 0).unwrap();
        let mut reply = client.send(request).await.unwrap();
        let mut bytes = 0;
        let error = loop {
            match reply.chunk().await {
                Ok(piece) => bytes += piece.expect("a cut is no clean end").len(),
                Err(error) => break error,
            }
        };
        assert_eq!(bytes, 777, "{error}");
    }
    provider.wait_for(|stats| stats.cut == 2, Duration::from_secs(5)).await.unwrap();
}

#[tokio::test]
async fn a_storm_tells_what_it_was_told_to_tell() {
    let storm = Storm { code: Some("slow_down".into()), retry_after_ms: Some(1500), ..Storm::of(100.0, 503) };
    let profile = Profile { storms: vec![storm.retry_after(2.0)], ..Profile::default() };
    let (outcome, provider) = outcome(profile, RequestKind::ChatStream).await;
    assert_eq!(outcome.verdict, Verdict::Failed(Failure::Status(503)));
    assert_eq!(outcome.retry_after, Some(Duration::from_millis(1500)), "milliseconds are read first");
    let stats = provider.stats();
    assert!(stats.refused >= 1 && stats.by_status[&503] >= 1 && stats.output_tokens_billed == 0);
}

#[tokio::test]
async fn a_used_up_quota_is_429_with_the_wait() {
    let quota = Quota { requests_per_minute: Some(0), max_concurrent: None };
    for quota in [Quota { max_concurrent: Some(0), ..quota }, Quota { requests_per_minute: Some(1), ..quota }]
    {
        let config = ProviderConfig {
            profile: Profile { quota, ..Profile::default() },
            ..ProviderConfig::new("a", Dialect::Anthropic)
        };
        let provider = Provider::start(config).await.unwrap();
        let client = Client::new(Target::http1(provider.addr()));
        let class = TrafficClass::new("c", RequestKind::MessagesJson, "m");
        let mut last = None;
        for n in 0..2 {
            let mut reply = client.send(class.request(n, 0).unwrap()).await.unwrap();
            let text = reply.rest(10_000).await.unwrap();
            last = Some((reply.head, String::from_utf8(text).unwrap()));
        }
        let (head, text) = last.unwrap();
        assert_eq!(head.status, 429, "{quota:?}");
        assert!(text.contains("rate_limit_error"), "{text}");
        let wait: u32 = head.headers["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
        assert!(provider.stats().throttled >= 1);
    }
}

#[tokio::test]
async fn behaviour_changes_over_http_while_it_runs() {
    let provider = Provider::start(ProviderConfig::new("a", Dialect::OpenAi)).await.unwrap();
    let client = Client::new(Target::http1(provider.addr()));
    let put = |body: &'static str| {
        let request = http::Request::builder().method("PUT").uri("/__sim/profile");
        client.send(request.body(http_body_util::Full::from(body)).unwrap())
    };
    assert_eq!(put(r#"{"storms":[{"status":418}]}"#).await.unwrap().head.status, 200);
    assert_eq!(put(r#"{"strms":[]}"#).await.unwrap().head.status, 400, "a misspelt profile changes nothing");
    let request = TrafficClass::new("c", RequestKind::ChatJson, "m").request(0, 0).unwrap();
    assert_eq!(client.send(request).await.unwrap().head.status, 418);
    let stats = http::Request::builder().uri("/__sim/stats").body(http_body_util::Full::default()).unwrap();
    let text = client.send(stats).await.unwrap().rest(100_000).await.unwrap();
    let stats: hedgerow_sim::Stats = serde_json::from_slice(&text).unwrap();
    assert_eq!((stats.requests, stats.refused), (1, 1));
}
