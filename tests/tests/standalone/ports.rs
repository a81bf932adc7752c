//! Addresses, processes, and what ends when.

use std::{
    net::{SocketAddr, TcpListener},
    time::Duration,
};

use hedgerow::standalone::{Options, Standalone};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::bench::{Bench, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_port_in_use_is_named_and_nothing_is_left_running() {
    let bench = Bench::new(5.0).await;
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap();
    let error = Standalone::start(Options { listen, ..bench.options() }).await.unwrap_err().to_string();
    assert!(error.contains(&format!("port {}", listen.port())) && error.contains("--listen"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_without_a_usable_route_says_what_is_wrong() {
    let bench = Bench::new(5.0).await;
    for region in ["a", "b"] {
        bench.write(
            &format!("region-{region}.yaml"),
            "apiVersion: hedgerow.dev/v1alpha1\nkind: ProviderRout\n",
        );
    }
    let error = bench.try_start().await.unwrap_err().to_string();
    assert!(error.contains("hedgerow init") && error.contains("region-a.yaml:"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_standalone_on_the_directory_is_refused_and_the_first_goes_on() {
    let bench = Bench::new(5.0).await;
    let running = bench.start().await;
    let error = bench.try_start().await.unwrap_err().to_string();
    assert!(
        error.contains("another standalone") && error.contains(bench.path().to_str().unwrap()),
        "{error}"
    );
    assert_eq!(bench.ask(&running, "chat").await.0, 200);
    running.shutdown().await.unwrap();
    let again = bench.start().await;
    assert_eq!(bench.ask(&again, "chat").await.0, 200);
    again.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_half_sent_body_is_told_to_come_again_and_does_not_hold_the_end() {
    let bench = Bench::new(5.0).await;
    let running = bench.start().await;
    let address = running.base_url("default").unwrap().strip_prefix("http://").unwrap().to_owned();
    let mut client = tokio::net::TcpStream::connect(&address).await.unwrap();
    let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n{";
    client.write_all(head.as_bytes()).await.unwrap();
    // Another request on the same gateway shows that this one has been read as far as it goes.
    assert_eq!(bench.ask(&running, "chat").await.0, 200);
    let ending = tokio::spawn(running.shutdown());
    let mut status = [0; 12];
    // The default time-out of the drain is ten minutes.
    tokio::time::timeout(Duration::from_secs(20), client.read_exact(&mut status)).await.unwrap().unwrap();
    assert_eq!(&status, b"HTTP/1.1 503");
    drop(client);
    tokio::time::timeout(Duration::from_secs(20), ending).await.unwrap().unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_share_the_port_and_all_end_with_the_standalone() {
    let bench = Bench::new(5.0).await;
    let running = Standalone::start(Options { replicas: 2, ..bench.options() }).await.unwrap();
    let admins: Vec<SocketAddr> = running.view().fleets[0].pods.iter().filter_map(|pod| pod.admin).collect();
    assert_eq!(admins.len(), 2);
    for _ in 0..8 {
        assert_eq!(bench.ask(&running, "chat").await.0, 200);
    }
    until(&running, "both are added up", |view| view.fleets[0].totals.requests == 8).await;
    running.shutdown().await.unwrap();
    for admin in admins {
        assert!(TcpListener::bind(admin).is_ok(), "{admin} is still in use");
    }
}
