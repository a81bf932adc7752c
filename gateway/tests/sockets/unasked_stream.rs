//! A provider that streams although a whole answer was asked for.

use hedgerow_config::state::InFlight;
use hedgerow_gateway::front::server::Limits;
use tokio::io::AsyncReadExt as _;

use crate::{
    pod::{ask, pod},
    within,
};

#[tokio::test]
async fn a_stream_is_no_whole_answer_however_long_it_is() {
    let pod = pod(Limits::default(), |_| {});
    let mut client = ask(pod.address, r#"{"model":"m","messages":[]}"#).await;
    let mut head = [0; 12];
    within(client.read_exact(&mut head)).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 502");
    pod.until(|held| held == InFlight::default()).await;
    assert_eq!(pod.records()[0]["outcome"], "invalid");
}
