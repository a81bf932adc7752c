//! A standalone that was killed could not say so: its status files still read as ready.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use hedgerow::standalone::{GatewayCommand, Options, Standalone};
use serde_json::Value;

use crate::bench::{Bench, condition};

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(40);

/// The program itself on a directory, killed when this is dropped.
struct Process(Child);

impl Process {
    fn start(directory: &Path) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_test-hedgerow"))
            .args(["standalone", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--config"])
            .arg(directory)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self(child)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // SIGKILL, which nothing can prepare for.
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Status and reason of `Ready`.
fn ready(object: &Value) -> [&str; 2] {
    let ready = condition(object, "Ready");
    [ready["status"].as_str().unwrap_or_default(), ready["reason"].as_str().unwrap_or_default()]
}

async fn until(what: &str, look: impl Fn() -> bool) {
    let seen = tokio::time::timeout(PATIENCE, async {
        while !look() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    assert!(seen.await.is_ok(), "not in {PATIENCE:?}: {what}");
}

fn exists(bench: &Bench, file: &str) -> bool {
    bench.path().join(".status").join(file).exists()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_standalone_left_is_taken_back_before_the_next_one_runs() {
    let bench = Bench::new(5.0).await;
    let killed = Process::start(bench.path());
    until("the route to be ready", || {
        exists(&bench, "ProviderRoute.region-a.yaml")
            && ready(&bench.status("ProviderRoute", "region-a")) == ["True", "Ready"]
    })
    .await;
    drop(killed);
    let left = bench.status("ProviderRoute", "region-a");
    assert_eq!(ready(&left), ["True", "Ready"], "nobody was left to say otherwise");
    let time = |name: &str| -> jiff::Timestamp {
        left["metadata"]["annotations"][name].as_str().unwrap().parse().unwrap()
    };
    let believed = time("hedgerow.dev/stale-after").duration_since(time("hedgerow.dev/written"));
    assert_eq!(
        believed,
        jiff::SignedDuration::from_secs(90),
        "but the file says how long it can be believed"
    );

    // Even a start that comes to nothing takes it back.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let options = Options { listen: taken.local_addr().unwrap(), ..bench.options() };
    Standalone::start(options).await.unwrap_err();
    for (kind, name) in [("ProviderRoute", "region-a"), ("GatewayFleet", "default")] {
        assert_eq!(ready(&bench.status(kind, name)), ["False", "NoReadyPods"], "{kind}");
    }
    assert_eq!(bench.status("GatewayFleet", "default")["status"]["pods"]["ready"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn gateways_that_only_start_are_not_ready_although_those_before_were() {
    let bench = Bench::new(5.0).await;
    bench.start().await.shutdown().await.unwrap();
    let killed = Process::start(bench.path());
    until("the route to be ready", || ready(&bench.status("ProviderRoute", "region-a")) == ["True", "Ready"])
        .await;
    drop(killed);

    let silent = GatewayCommand { program: "/bin/sh".into(), args: vec!["-c".into(), "read nothing".into()] };
    let starting = tokio::spawn(Standalone::start(Options { gateway: silent, ..bench.options() }));
    for (kind, name) in [("ProviderRoute", "region-a"), ("GatewayFleet", "default")] {
        until(&format!("{kind} to be right"), || {
            ready(&bench.status(kind, name)) == ["False", "NoReadyPods"]
        })
        .await;
    }
    let fleet = bench.status("GatewayFleet", "default");
    assert_eq!(fleet["status"]["pods"]["ready"], 0, "{fleet}");
    starting.abort();
}
