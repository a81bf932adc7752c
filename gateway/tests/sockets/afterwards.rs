//! A whole answer is booked when it has been written, and nobody has to wait for that.

use hedgerow_config::state::InFlight;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::{
    pod::{ask, pod_answering_whole},
    within,
};

const ASKED: &str = r#"{"model":"m","messages":[]}"#;
const ANSWER: &str = r#"{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#;
const REQUESTS: usize = 20;

#[tokio::test]
async fn requests_sent_in_one_go_find_the_only_place_of_their_route_free_and_each_is_booked_once() {
    let pod = pod_answering_whole(ANSWER, |config| config.routes[0].limits.max_concurrent = Some(1));
    let mut socket = ask(pod.address, ASKED).await;
    let head =
        format!("POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n", ASKED.len());
    socket.write_all((head + ASKED).repeat(REQUESTS - 1).as_bytes()).await.unwrap();
    let (mut text, mut piece) = (String::new(), [0; 4096]);
    while text.matches(ANSWER).count() < REQUESTS {
        let read = within(socket.read(&mut piece)).await.unwrap();
        assert_ne!(read, 0, "closed after {text}");
        text.push_str(std::str::from_utf8(&piece[..read]).unwrap());
    }
    assert_eq!(text.matches("HTTP/1.1 200").count(), REQUESTS, "{text}");
    pod.until(|held| held == InFlight::default()).await;
    assert_eq!(pod.runtime.state().routes[0].outcomes["won"], REQUESTS as u64);
}
