//! A real gateway in front of scripted providers.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use hedgerow_config::gateway::SCHEMA;
use hedgerow_gateway::{
    app::{App, Options, Running},
    drain::Haste,
};
use hedgerow_tests::canary::{self, ROUTE_KEY};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::{
    case::Case,
    provider::Provider,
    told::{self, Records},
};

/// What a gateway has left behind.
pub struct Left {
    /// Where it told a planted word.
    pub leaks: Vec<String>,
    /// Its records.
    pub records: String,
}

/// A gateway with its own ports and its own directory.
pub struct Gateway {
    /// Traffic.
    pub address: SocketAddr,
    admin: SocketAddr,
    running: Running,
    records: Records,
    _directory: tempfile::TempDir,
}

impl Gateway {
    /// Starts a gateway with one route per provider, in tiers by name.
    pub async fn start(case: &Case, providers: &BTreeMap<String, Provider>) -> Self {
        told::listen();
        let directory = tempfile::tempdir().expect("a directory");
        let secret = directory.path().join("secrets/routes");
        std::fs::create_dir_all(&secret).expect("a directory");
        std::fs::write(secret.join("key"), ROUTE_KEY).expect("a file");
        let config = configuration(case, providers);
        std::fs::write(directory.path().join("gateway.json"), config.to_string()).expect("a file");
        let options = Options { records: true, ..Options::local(directory.path().to_owned()) };
        let records = Records::default();
        let running = App::start_with(options, records.clone()).await.expect("a gateway");
        tokio::time::timeout(Duration::from_secs(5), running.ready())
            .await
            .unwrap_or_else(|_| panic!("{}: the configuration was not taken: {config:#}", case.id));
        let (address, admin) = (running.address, running.admin_address);
        Self { address, admin, running, records, _directory: directory }
    }

    /// Samples of `/metrics`, one per line.
    pub async fn metrics(&self) -> Vec<String> {
        let text = self.admin("/metrics").await;
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    }

    /// An answer of the admin port.
    async fn admin(&self, path: &str) -> String {
        let mut stream = tokio::net::TcpStream::connect(self.admin).await.expect("the admin port");
        let request = format!("GET {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("a request");
        let mut text = String::new();
        stream.read_to_string(&mut text).await.expect("an answer");
        text
    }

    /// What is in flight; empty when nothing is.
    pub async fn in_flight(&self) -> Vec<String> {
        let gauges = ["hedgerow_in_flight{", "hedgerow_attempts_in_flight{", "hedgerow_queued{"];
        let mut lines = self.metrics().await;
        lines.retain(|line| gauges.iter().any(|gauge| line.starts_with(gauge)) && !line.ends_with(" 0"));
        if self.running.runtime.actions_in_flight() != 0 {
            lines.push("user actions".to_owned());
        }
        lines
    }

    /// Stops it; it must have told nothing.
    pub async fn stop(self) {
        let leaks = self.end().await.leaks;
        assert!(leaks.is_empty(), "{}", leaks.join("\n"));
    }

    /// Stops it, and looks through all that it told.
    pub async fn end(self) -> Left {
        let (metrics, state) = (self.admin("/metrics").await, self.admin("/state").await);
        self.running.shutdown(Haste::Now).await;
        let records = self.records.text();
        let places =
            [("/metrics", &metrics), ("/state", &state), ("a record", &records), ("the log", &told::log())];
        let leaks = places.iter().filter_map(|(place, text)| canary::told(place, text)).collect();
        assert!(metrics.contains("# EOF") && state.contains("\"digest\""), "not read to their ends");
        Left { leaks, records }
    }
}

fn configuration(case: &Case, providers: &BTreeMap<String, Provider>) -> Value {
    let anthropic = case.request.path.contains("messages");
    let routes: Vec<Value> = providers
        .iter()
        .enumerate()
        .map(|(tier, (name, provider))| {
            let mut route = json!({
                "name": name, "uid": name, "api": if anthropic { "Anthropic" } else { "OpenAI" },
                "endpoint": format!("http://{}", provider.address),
                "auth": { "type": "Bearer", "secret": { "name": "routes", "key": "key" } },
                "failureDomain": { "provider": name, "region": "test" }, "quotaGroup": name, "tier": tier,
                "models": [{ "name": "m", "pricing": { "inputMicrosPerMillion": 1_000_000, "outputMicrosPerMillion": 1_000_000 } }],
                "rampUp": { "startPercent": 100, "everyMs": 1000 },
                // A loser that is audited is not hung up on.
                "onCancel": { "auditPercent": 0 },
            });
            merge(&mut route, &case.route);
            route
        })
        .collect();
    let mut settings =
        json!({ "defaults": { "retry": { "maxAttempts": 2, "backoffBaseMs": 20, "backoffMaxMs": 50 } } });
    merge(&mut settings, &case.settings);
    let cohorts: Vec<Value> = case.hedge_ms.map(cohort).into_iter().collect();
    json!({
        "schema": SCHEMA, "fleet": { "namespace": "test", "name": "default" }, "settings": settings, "routes": routes,
        "cohorts": cohorts, "lanes": case.lanes.as_array().cloned().unwrap_or_default(),
    })
}

/// A cohort of everything that hedges after a fixed time.
fn cohort(delay_ms: u64) -> Value {
    json!({
        "policy": "test", "name": "all", "mode": "Enforce", "sharePercent": 100, "deadline": {}, "duplicateTargetPercent": 100,
        "holdoutPercent": 0, "retry": { "maxAttempts": 2, "backoffBaseMs": 20, "backoffMaxMs": 50 },
        "delay": {
            "strategy": "Fixed", "quantilePercent": 95, "minMs": 10, "maxMs": 8000, "coldStartMs": delay_ms, "fixedMs": delay_ms,
        },
        "blind": { "afterMs": 3_600_000, "action": "Continue" },
        "decision": { "state": "Active", "hedgingPercent": 100, "transition": 1 },
    })
}

/// Merges objects key by key; anything else replaces, `null` leaves.
pub fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (_, Value::Null) => {}
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}
