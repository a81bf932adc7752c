//! A client that leaves while its answer is under way, with bytes behind its request that nobody reads (experiment E11).

use hedgerow_config::state::InFlight;
use tokio::{io::AsyncWriteExt as _, net::TcpStream};

use crate::{
    leaving::start,
    peer::{closed, read_request},
    within,
};

const ASKED: &str = "POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: 41\r\n\r\n\
    {\"model\":\"m\",\"stream\":true,\"messages\":[]}";

#[tokio::test]
async fn a_client_that_vanishes_is_noticed_even_after_pipelined_bytes() {
    let next = ASKED.repeat(3);
    for after in ["", "\r\n", "\r\n\r\n", "GET /v1/models HTTP/1.1\r\n", &next] {
        let (running, _directory, listener) = start(60_000).await;
        let mut client = TcpStream::connect(running.address).await.unwrap();
        client.write_all((ASKED.to_owned() + after).as_bytes()).await.unwrap();
        let mut provider = within(listener.accept()).await.unwrap().0;
        within(read_request(&mut provider)).await.unwrap();
        drop(client);
        // The provider never answers: only the gateway can end this.
        within(closed(&mut provider)).await;
        within(async {
            while running.runtime.in_flight() != InFlight::default() {
                tokio::time::sleep(std::time::Duration::from_millis(2)).await;
            }
        })
        .await;
    }
}
