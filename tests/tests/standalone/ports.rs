//! Addresses, processes, and what ends when.

use std::net::{SocketAddr, TcpListener};

use hedgerow::standalone::{Options, Standalone};

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
