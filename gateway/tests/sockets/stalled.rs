//! A client that asks and does not read: what its user action holds comes back, and the records say why.

use std::{net::SocketAddr, time::Duration};

use bytes::Bytes;
use hedgerow_config::{GatewayConfig, state::InFlight};
use hedgerow_gateway::front::{closing::Phase, server::Limits};
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{io::AsyncReadExt as _, net::TcpStream};

use crate::{
    pod::{ASKED, Pod, plain, pod},
    within,
};

/// Asks over h2c with a window of 1 KiB that is never opened again. The connection is read.
async fn streamed(address: SocketAddr) -> (http2::SendRequest<Full<Bytes>>, http::Response<Incoming>) {
    let socket = TcpStream::connect(address).await.unwrap();
    let handshake = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(1024)
        .handshake(TokioIo::new(socket));
    let (mut sender, connection) = handshake.await.unwrap();
    tokio::spawn(connection);
    let request =
        Request::post(format!("http://{address}/v1/chat/completions")).body(Full::from(ASKED)).unwrap();
    let answer = within(sender.send_request(request)).await.unwrap();
    (sender, answer)
}

fn short_patience() -> Limits {
    Limits { patience: Duration::from_millis(300), ..Limits::default() }
}

/// Nothing ends before the test does.
fn endless(_: &mut GatewayConfig) {}

fn soon_over(config: &mut GatewayConfig) {
    config.settings.defaults.deadline.total_ms = 700;
}

/// Limits, configuration, and what the records then say of attempt and user action.
type Round = (Limits, fn(&mut GatewayConfig), [&'static str; 3]);

fn rounds() -> [Round; 2] {
    [
        (short_patience(), endless, ["client_gone", "canceled", "client_stalled"]),
        (Limits::default(), soon_over, ["timed_out", "gateway_error", "gateway_deadline"]),
    ]
}

/// Waits until the one user action has begun and ended: by what it leaves behind, because a slow machine may not see it run.
async fn begins_and_ends(pod: &Pod) {
    let booked = || pod.runtime.state().routes[0].outcomes.values().sum::<u64>();
    pod.until(|held| booked() == 1 && held == InFlight::default()).await;
}

/// Outcome of the attempt; class and error of the user action.
fn told(pod: Pod) -> [String; 3] {
    let records = pod.records();
    assert_eq!(records.len(), 2, "{records:?}");
    [&records[0]["outcome"], &records[1]["status_class"], &records[1]["error"]]
        .map(|word| word.as_str().unwrap().to_owned())
}

#[tokio::test]
async fn over_http_1_a_client_that_does_not_read_loses_its_connection() {
    for (limits, change, wanted) in rounds() {
        let pod = pod(limits, change);
        let mut client = plain(pod.address).await;
        begins_and_ends(&pod).await;
        let mut seen = Vec::new();
        // A reset is as good an end as any.
        let _ = within(client.read_to_end(&mut seen)).await;
        assert!(!seen.ends_with(b"0\r\n\r\n"), "a clean end");
        assert_eq!(told(pod), wanted);
    }
}

#[tokio::test]
async fn over_h2c_a_stream_whose_window_stays_closed_is_reset_and_the_connection_goes_on() {
    for (limits, change, wanted) in rounds() {
        let pod = pod(limits, change);
        let (mut sender, answer) = streamed(pod.address).await;
        begins_and_ends(&pod).await;
        assert!(within(answer.into_body().collect()).await.is_err(), "a clean end");
        let models = Request::get(format!("http://{}/v1/models", pod.address)).body(Full::default()).unwrap();
        assert_eq!(within(sender.send_request(models)).await.unwrap().status(), 200);
        assert_eq!(told(pod), wanted);
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_does_not_hold_a_leaving_pod() {
    let pod = pod(Limits::default(), endless);
    let (_plain, streamed) = (plain(pod.address).await, streamed(pod.address).await);
    pod.until(|held| held.lane_permits == 2).await;
    pod.runtime.abort();
    pod.closing.advance(Phase::Cut);
    pod.until(|held| held == InFlight::default()).await;
    drop(streamed);
    within(pod.served).await.unwrap();
}
