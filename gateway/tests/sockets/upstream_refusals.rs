//! What is refused before a byte of a request leaves.

use std::time::Duration;

use hedgerow_config::route::SecretKey;
use hedgerow_gateway::upstream::{Setup, SetupError, Upstream, UpstreamError, UpstreamShared};

use crate::{
    peer::{listen, route, send, upstream},
    within,
};

#[tokio::test]
async fn metadata_addresses_are_refused_after_resolution() {
    for endpoint in
        ["http://169.254.169.254", "http://[::ffff:169.254.169.254]", "http://[fd00:ec2::254]/latest"]
    {
        let error = within(send(&upstream(&route(endpoint), None))).await.unwrap_err();
        assert!(
            matches!(error, UpstreamError::AddressRefused { .. }) && !error.sent(),
            "{endpoint}: {error:?}"
        );
    }
}

#[tokio::test]
async fn a_closed_port_says_that_nothing_was_sent() {
    let (listener, address) = listen().await;
    drop(listener);
    let error = within(send(&upstream(&route(&format!("http://{address}")), None))).await.unwrap_err();
    assert!(matches!(error, UpstreamError::Connect { .. }) && !error.sent(), "{error:?}");
}

#[tokio::test]
async fn a_peer_that_never_shakes_hands_runs_into_the_connect_timeout() {
    let (listener, address) = listen().await;
    let mut route = route(&format!("https://localhost:{}", address.port()));
    route.timeouts.connect_ms = 100;
    let upstream = upstream(&route, None);
    let silent = tokio::spawn(async move {
        let kept = listener.accept().await.unwrap();
        tokio::time::sleep(Duration::from_mins(1)).await;
        drop(kept);
    });
    let error = within(send(&upstream)).await.unwrap_err();
    assert!(matches!(error, UpstreamError::ConnectTimeout { timeout_ms: 100, .. }), "{error:?}");
    assert!(!error.sent());
    silent.abort();
}

#[tokio::test]
async fn a_route_with_an_unusable_ca_or_endpoint_is_not_set_up() {
    let shared = UpstreamShared::new().unwrap();
    let mut with_ca = route("https://localhost:1");
    with_ca.tls.ca = Some(SecretKey { name: "ca".to_owned(), key: "pem".to_owned() });
    for pem in [None, Some(&b"no certificate"[..])] {
        let setup = Setup { ca: pem, ..Setup::default() };
        assert!(matches!(Upstream::new(&with_ca, &shared, &setup), Err(SetupError::Ca { .. })));
    }
    assert!(matches!(
        Upstream::new(&route("https://0x7f.1"), &shared, &Setup::default()),
        Err(SetupError::Endpoint { .. })
    ));
}
