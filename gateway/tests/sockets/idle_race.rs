//! A provider that closes idle connections in the moment in which the next request is sent (experiment E12: 231 of 1,500
//! requests were lost with a stock client).

use std::time::Duration;

use tokio::{
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};

use crate::{
    peer::{answer, listen, read_request, route, send, text, upstream},
    within,
};

const IDLE: Duration = Duration::from_millis(20);
const REQUESTS: u64 = 250;

/// Answers, and closes after 20 ms without a request.
async fn provider(listener: TcpListener) {
    loop {
        let socket = listener.accept().await.unwrap().0;
        tokio::spawn(serve(socket));
    }
}

async fn serve(mut socket: TcpStream) {
    loop {
        // Only silence closes: a request that has begun to arrive is read and answered.
        match timeout(IDLE, socket.readable()).await {
            Ok(Ok(())) => {}
            _ => return,
        }
        if read_request(&mut socket).await.is_none() {
            return;
        }
        answer(&mut socket, "ok").await;
    }
}

#[tokio::test]
async fn no_request_is_lost_to_a_connection_that_idles_out() {
    let (listener, address) = listen().await;
    tokio::spawn(provider(listener));
    let upstream = upstream(&route(&format!("http://{address}")), None);
    let mut kept = 0;
    for number in 0..REQUESTS {
        let response =
            within(send(&upstream)).await.unwrap_or_else(|error| panic!("request {number}: {error}"));
        kept += u64::from(response.reused);
        assert_eq!(text(response).await, "ok");
        // Around the provider's patience, a quarter of a millisecond at a time.
        sleep(Duration::from_micros(18_000 + 250 * (number % 17))).await;
    }
    assert!(kept > 0, "no connection was ever kept: nothing was raced");
}
