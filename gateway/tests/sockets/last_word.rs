//! A provider whose own error is followed by a broken connection before anybody has looked, as happens to a stream of an h2
//! connection that is lost: the client sees the error, and that the answer is not whole.

use tokio::io::AsyncReadExt as _;

use crate::{
    pod::{ASKED, Then, ask, pod_answering},
    within,
};

const STREAM: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n\
                      data: {\"error\":{\"message\":\"boom\",\"type\":\"server_error\"}}\n\n";

#[tokio::test]
async fn the_last_word_of_a_provider_gets_out_before_the_answer_is_broken_off() {
    let pod = pod_answering(STREAM, Then::Break, |_| {});
    let mut client = ask(pod.address, ASKED).await;
    let mut answer = Vec::new();
    within(client.read_to_end(&mut answer)).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("boom"), "{answer}");
    assert!(!answer.ends_with("0\r\n\r\n"), "a clean end: {answer}");
}
