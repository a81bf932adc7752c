//! Who notices what when one side leaves.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use hedgerow_sim::{
    Dialect, Latency, OnCancel, Profile, Provider, ProviderConfig,
    traffic::{Client, Reply, RequestKind, Target, TrafficClass},
};

/// Every wait of these tests ends far below this, or the test fails.
const BOUND: Duration = Duration::from_secs(5);

async fn provider(profile: Profile) -> Provider {
    let config = ProviderConfig { profile, ..ProviderConfig::new("region-a", Dialect::OpenAi) };
    Provider::start(config).await.unwrap()
}

async fn send(client: &Client, kind: RequestKind) -> Reply {
    client.send(TrafficClass::new("c", kind, "m").request(0, 0).unwrap()).await.unwrap()
}

/// Tokens at 10 ms, 60 s apart: nothing is written that could fail, so only the socket tells who left.
fn silent_after_one_token(on_cancel: OnCancel) -> Profile {
    let (first_token, gap) = (Latency::fixed(10.0), Latency::fixed(60_000.0));
    Profile { first_token, gap, on_cancel, ..Profile::default() }
}

#[tokio::test]
async fn a_client_that_leaves_a_stream_is_noticed_while_nothing_is_written() {
    for h2 in [false, true] {
        let provider = provider(silent_after_one_token(OnCancel::Stops)).await;
        let target = if h2 { Target::h2c(provider.addr()) } else { Target::http1(provider.addr()) };
        let client = Client::new(target);
        let mut reply = send(&client, RequestKind::ChatStream).await;
        while !String::from_utf8_lossy(&reply.chunk().await.unwrap().unwrap()).contains("region-a#1:0 ") {}
        drop(reply);
        let stats = provider.wait_for(|stats| stats.cancelled == 1, BOUND).await.unwrap();
        assert_eq!((stats.in_flight, stats.completed), (0, 0), "h2 {h2}");
        assert_eq!(stats.cancels[0].tokens, 1);
        assert_eq!(stats.output_tokens_billed, 1, "what was sent is billed");
        assert!(stats.input_tokens_billed > 0);
    }
}

#[tokio::test]
async fn a_client_that_leaves_before_the_headers_is_noticed() {
    for h2 in [false, true] {
        let profile = Profile { first_token: Latency::fixed(60_000.0), ..Profile::default() };
        let provider = provider(profile).await;
        let target = if h2 { Target::h2c(provider.addr()) } else { Target::http1(provider.addr()) };
        let client = Client::new(target);
        let request = TrafficClass::new("c", RequestKind::ChatJson, "m").request(0, 0).unwrap();
        tokio::select! {
            _ = client.send(request) => panic!("nobody answers"),
            stats = provider.wait_for(|stats| stats.in_flight == 1, BOUND) => assert!(stats.is_ok()),
        }
        provider.wait_for(|stats| stats.cancelled == 1 && stats.in_flight == 0, BOUND).await.unwrap();
    }
}

#[tokio::test]
async fn a_provider_that_goes_on_bills_everything_and_counts_a_late_completion() {
    let profile = Profile {
        first_token: Latency::fixed(5.0),
        gap: Latency::fixed(20.0),
        on_cancel: OnCancel::Continues,
        ..Profile::default()
    };
    let provider = provider(profile).await;
    let client = Client::new(Target::http1(provider.addr()));
    drop(send(&client, RequestKind::ChatStream).await);
    let left = provider.wait_for(|stats| stats.cancelled == 1, BOUND).await.unwrap();
    assert_eq!((left.late_running, left.output_tokens_billed), (1, 0));
    let late = provider.wait_for(|stats| stats.late_completions == 1, BOUND).await.unwrap();
    assert_eq!((late.late_running, late.output_tokens_billed), (0, 16));
}

#[tokio::test]
async fn a_killed_provider_never_looks_like_a_clean_end() {
    let provider = provider(silent_after_one_token(OnCancel::Continues)).await;
    let client = Client::new(Target::http1(provider.addr()));
    let mut reply = send(&client, RequestKind::ChatStream).await;
    reply.chunk().await.unwrap();
    let addr = provider.addr();
    provider.kill().await;
    while let Some(piece) = reply.chunk().await.transpose() {
        let Ok(piece) = piece else {
            // The port is free at once: the next provider may have it.
            let config = ProviderConfig { listen: addr, ..ProviderConfig::new("region-b", Dialect::OpenAi) };
            Provider::start(config).await.unwrap();
            return;
        };
        assert!(!piece.ends_with(b"[DONE]\n\n"));
    }
    panic!("the stream ended cleanly");
}

#[tokio::test]
async fn figures_add_up_after_everything() {
    let provider = provider(silent_after_one_token(OnCancel::Stops)).await;
    let client = Client::new(Target::http1(provider.addr()));
    for _ in 0..5 {
        drop(send(&client, RequestKind::ChatStream).await);
    }
    let s = provider.wait_for(|stats| stats.in_flight == 0, BOUND).await.unwrap();
    assert_eq!(s.requests, s.in_flight + s.completed + s.cancelled + s.cut + s.refused);
    provider.wait_for(|stats| stats.connections == 0, BOUND).await.unwrap();
    provider.reset();
    assert_eq!(provider.stats().requests, 0);
}
