//! The gateway as a process of its own, in front of both providers, with everything that it writes read as it comes.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read},
    net::SocketAddr,
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
    time::Duration,
};

use hedgerow_config::{
    gateway::{FILE, SCHEMA},
    state::SpendState,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    canary::{self, CLIENT_KEY, ROUTE_KEY},
    ledger::Ledger,
};

/// Longest wait for a process that starts or ends.
const SOON: Duration = Duration::from_mins(1);

/// A route and how it is reached.
pub struct RouteOf {
    pub name: &'static str,
    pub api: &'static str,
    /// HTTP/2 over TLS, else HTTP/1.1 in plain text.
    pub http2: bool,
    pub tier: u32,
}

/// All routes.
pub const ROUTES: [RouteOf; 5] = [
    RouteOf { name: "one", api: "OpenAI", http2: false, tier: 0 },
    RouteOf { name: "two", api: "OpenAI", http2: true, tier: 0 },
    RouteOf { name: "three", api: "OpenAI", http2: false, tier: 1 },
    RouteOf { name: "four", api: "Anthropic", http2: false, tier: 0 },
    RouteOf { name: "five", api: "Anthropic", http2: true, tier: 0 },
];
/// Tenants, each with a key.
pub const TENANTS: [&str; 2] = ["acme", "globex"];

/// The running process.
pub struct Stand {
    pub traffic: SocketAddr,
    admin: SocketAddr,
    child: Child,
    stdin: Option<ChildStdin>,
    records: JoinHandle<Ledger>,
    log: JoinHandle<()>,
    _directory: tempfile::TempDir,
}

impl Stand {
    /// Starts a gateway in front of a provider over HTTP/1.1 and one over HTTP/2 under `ca`.
    pub async fn start(http1: SocketAddr, http2: SocketAddr, ca: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        secrets(directory.path(), ca);
        let config = configuration(http1, http2);
        fs::write(directory.path().join(FILE), config.to_string()).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_test-gateway"))
            .args(["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--until-stdin-closes"])
            // Also what nobody reads on an ordinary day.
            .args(["--log", "debug,h2=info,hedgerow_gateway=trace", "--config"])
            .arg(directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let records = thread::spawn(move || Ledger::read(stdout));
        let ports: Arc<Mutex<Ports>> = Arc::default();
        let found = ports.clone();
        let log = thread::spawn(move || read_log(stderr, &found));
        let waited = tokio::time::timeout(SOON, async {
            loop {
                if let Ports { traffic: Some(traffic), admin: Some(admin), open: true } =
                    *ports.lock().unwrap()
                {
                    return (traffic, admin);
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        let (traffic, admin) = waited.await.expect("a gateway that takes traffic");
        Self { traffic, admin, stdin: child.stdin.take(), child, records, log, _directory: directory }
    }

    /// An answer of the admin port.
    pub async fn admin(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.admin).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        canary::search(path, &text);
        text
    }

    /// Attempts that were booked and sent.
    pub async fn attempts(&self) -> u64 {
        let text = self.admin("/metrics").await;
        let attempts = text.lines().filter(|line| line.starts_with("hedgerow_attempts_total{"));
        let sent = attempts.filter(|line| !line.contains("\"withdrawn\""));
        sent.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap() as u64).sum()
    }

    /// Everything that must return to zero, as `/state` tells it.
    pub async fn in_flight(&self) -> Value {
        self.state().await["inFlight"].clone()
    }

    async fn state(&self) -> Value {
        let text = self.admin("/state").await;
        let (_, body) = text.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(&body[body.find('{').unwrap()..=body.rfind('}').unwrap()]).unwrap()
    }

    /// What it has spent.
    pub async fn spend(&self) -> SpendState {
        serde_json::from_value(self.state().await["spend"].clone()).unwrap()
    }

    /// Resident memory in bytes.
    pub fn resident(&self) -> u64 {
        let status =
            fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("a living process");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    /// Open files and sockets.
    pub fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.child.id())).expect("a living process").count()
    }

    /// Asks it to leave; everything that it wrote.
    pub async fn stop(mut self) -> Ledger {
        drop(self.stdin.take());
        let ended = tokio::time::timeout(SOON, async {
            loop {
                if let Some(status) = self.child.try_wait().unwrap() {
                    return status;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        let status = ended.await.expect("a gateway that leaves when it is asked to");
        assert!(status.success(), "{status}");
        // A panic of a reader is a finding.
        let log = std::mem::replace(&mut self.log, thread::spawn(|| ()));
        log.join().expect("a log without secrets and panics");
        let records = std::mem::replace(&mut self.records, thread::spawn(Ledger::default));
        records.join().expect("records without secrets")
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        // Nothing to do where it has ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Default)]
struct Ports {
    traffic: Option<SocketAddr>,
    admin: Option<SocketAddr>,
    open: bool,
}

fn read_log(stderr: impl Read, ports: &Mutex<Ports>) {
    for line in BufReader::new(stderr).lines() {
        let line = line.unwrap();
        assert!(!line.contains("panicked"), "{line}");
        if line.trim().is_empty() {
            continue;
        }
        canary::search("the log", &line);
        let Ok(told) = serde_json::from_str::<Value>(&line) else { panic!("no line of the log: {line}") };
        let mut ports = ports.lock().unwrap();
        let address = |name: &str| told[name].as_str().and_then(|text| text.parse().ok());
        ports.traffic = address("traffic").or(ports.traffic);
        ports.admin = address("admin").or(ports.admin);
        ports.open |= told["message"] == "traffic port open";
    }
}

fn secrets(directory: &Path, ca: &str) {
    let write = |name: &str, key: &str, value: &str| {
        let place = directory.join("secrets").join(name);
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join(key), value).unwrap();
    };
    write("upstream", "ca.crt", ca);
    for route in &ROUTES {
        write("keys", route.name, &format!("{ROUTE_KEY}-{}", route.name));
    }
    for tenant in TENANTS {
        write("clients", tenant, &format!("{CLIENT_KEY}-{tenant}"));
    }
}

fn configuration(http1: SocketAddr, http2: SocketAddr) -> Value {
    let routes: Vec<Value> = ROUTES.iter().map(|route| self::route(route, http1, http2)).collect();
    json!({
        "schema": SCHEMA, "fleet": { "namespace": "test", "name": "default" },
        "settings": {
            "tenantFrom": "ApiKey",
            "clientAuth": { "type": "ApiKeys", "secretName": "clients" },
            "defaults": { "budget": { "ratioPercent": 1000, "cap": 1000, "retryReservePerSecond": 100 } },
        },
        "routes": routes,
        "cohorts": [{
            "policy": "chaos", "name": "all", "mode": "Enforce", "sharePercent": 95, "holdoutPercent": 5,
            "duplicateTargetPercent": 100, "hedgeWarmCache": true,
            "delay": { "strategy": "Fixed", "quantilePercent": 95, "minMs": 10, "maxMs": 8000, "coldStartMs": 60, "fixedMs": 60 },
            "deadline": { "streamMs": 3000, "completeMs": 3000, "totalMs": 10000 },
            "retry": { "maxAttempts": 3, "backoffBaseMs": 5, "backoffMaxMs": 20 },
            "blind": { "afterMs": 3_600_000, "action": "Continue" },
            "decision": { "state": "Active", "hedgingPercent": 100, "transition": 1 },
        }],
        "lanes": [
            { "name": "narrow", "priority": 100, "match": { "headers": { "x-lane": "narrow" } },
              "concurrency": { "algorithm": "Fixed", "initial": 4 }, "queue": { "maxWaitMs": 50, "maxDepthPercent": 50 } },
            { "name": "wide", "priority": 50, "concurrency": { "algorithm": "Fixed", "initial": 800 } },
        ],
    })
}

fn route(route: &RouteOf, http1: SocketAddr, http2: SocketAddr) -> Value {
    let endpoint = if route.http2 { format!("https://{http2}") } else { format!("http://{http1}") };
    let tls = if route.http2 {
        json!({ "ca": { "name": "upstream", "key": "ca.crt" }, "serverName": "localhost" })
    } else {
        json!({})
    };
    json!({
        "name": route.name, "uid": route.name, "api": route.api, "endpoint": endpoint, "tls": tls, "tier": route.tier,
        "auth": { "type": "Bearer", "secret": { "name": "keys", "key": route.name } },
        "failureDomain": { "provider": "chaos", "region": route.name }, "quotaGroup": route.name,
        "models": [{ "name": "m", "pricing": { "inputMicrosPerMillion": 1_000_000, "outputMicrosPerMillion": 4_000_000 } }],
        // How the provider knows by which route it is asked.
        "headers": { "x-route": route.name },
        "rampUp": { "startPercent": 100, "everyMs": 1000 },
        "timeouts": { "connectMs": 5000, "firstTokenMs": 800, "idleBytesMs": 400, "idleTokensMs": 2000 },
        // Faults are to go on, so nothing rests because of them.
        "breaker": { "consecutiveFailures": 0, "failurePercent": 0, "slowPercent": 0 },
        "onCancel": { "auditPercent": 10, "auditMaxMs": 2000 },
    })
}
