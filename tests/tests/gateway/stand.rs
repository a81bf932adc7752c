//! A gateway with its configuration, and a client.

use std::{collections::BTreeMap, sync::Once, time::Duration};

use hedgerow_config::{
    Cohort, GatewayConfig, Lane, Route, Settings,
    cohort::{
        Blind, CohortMatch, Contract, Deadline, Decision, DecisionState, Delay, DelayStrategy, HedgeTo, Mode,
        Retry,
    },
    gateway::{FILE, FleetId, SCHEMA},
    route::{Api, Auth, AuthScheme, FailureDomain, Model, OnCancel, Pricing, RampUp},
    state::InFlight,
};
use hedgerow_gateway::app::{App, Options, Running};
use hedgerow_sim::{Dialect, Provider, ProviderConfig};
use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};

/// Longest that anything here may take.
pub const SOON: Duration = Duration::from_secs(10);

/// A running gateway.
pub struct Stand {
    pub running: Running,
    pub client: reqwest::Client,
    _directory: tempfile::TempDir,
}

impl Stand {
    /// Starts a gateway on `config` and waits until it takes traffic.
    pub async fn start(config: GatewayConfig) -> Self {
        Self::with_secrets(config, &[]).await
    }

    /// The same with mounted secrets (`name`, `key`, value).
    pub async fn with_secrets(config: GatewayConfig, secrets: &[(&str, &str, &str)]) -> Self {
        static PROVIDER: Once = Once::new();
        PROVIDER.call_once(|| {
            let _ = rustls::crypto::ring::default_provider().install_default();
        });
        let directory = tempfile::tempdir().unwrap();
        for (name, key, value) in secrets {
            let place = directory.path().join("secrets").join(name);
            std::fs::create_dir_all(&place).unwrap();
            std::fs::write(place.join(key), value).unwrap();
        }
        std::fs::write(directory.path().join(FILE), config.write()).unwrap();
        let running = App::start(Options::local(directory.path().to_owned())).await.unwrap();
        tokio::time::timeout(SOON, running.ready()).await.expect("a configuration in force");
        let listening = async {
            while tokio::net::TcpStream::connect(running.address).await.is_err() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(SOON, listening).await.expect("an open traffic port");
        let client = reqwest::Client::builder().timeout(Duration::from_mins(1)).build().unwrap();
        Self { running, client, _directory: directory }
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.running.address)
    }

    /// A chat request.
    pub fn chat(&self, body: &Value) -> RequestBuilder {
        self.client.post(self.url("/v1/chat/completions")).json(body)
    }

    /// A messages request.
    pub fn messages(&self, body: &Value) -> RequestBuilder {
        self.client.post(self.url("/v1/messages")).header("anthropic-version", "2023-06-01").json(body)
    }

    /// Everything that must return to zero.
    pub fn in_flight(&self) -> InFlight {
        self.running.runtime.in_flight()
    }

    /// Waits until nothing is held any more.
    pub async fn idle(&self) {
        self.until("nothing in flight", |stand| stand.in_flight() == InFlight::default()).await;
    }

    /// Waits for a condition of the gateway.
    pub async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let waited = tokio::time::timeout(SOON, async {
            while !holds(self) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        });
        assert!(waited.await.is_ok(), "{what}: {:?}", self.in_flight());
    }

    /// Counters of a cohort.
    pub fn cohort(&self, name: &str) -> hedgerow_config::state::CohortReport {
        let state = self.running.runtime.state();
        state.cohorts.into_iter().find(|cohort| cohort.cohort == name).expect("the cohort")
    }
}

/// A provider with the default profile.
pub async fn provider(name: &str, dialect: Dialect) -> Provider {
    Provider::start(ProviderConfig { record: 64, ..ProviderConfig::new(name, dialect) }).await.unwrap()
}

/// A configuration with `routes` and nothing else.
pub fn config(routes: Vec<Route>) -> GatewayConfig {
    GatewayConfig {
        schema: SCHEMA.to_owned(),
        fleet: FleetId { namespace: "test".into(), name: "default".into() },
        objects: Vec::new(),
        settings: Settings::default(),
        routes,
        cohorts: Vec::new(),
        lanes: Vec::new(),
        budgets: Vec::new(),
    }
}

/// A route to `provider` that serves `chat`, in a region of its own.
pub fn route(provider: &Provider) -> Route {
    let name = provider.name().to_owned();
    Route {
        uid: format!("uid-{name}"),
        api: Api::OpenAI,
        endpoint: provider.base_url(),
        auth: Auth { scheme: AuthScheme::None, header: None, secret: None },
        azure: None,
        failure_domain: FailureDomain { provider: "sim".into(), region: name.clone() },
        data_boundary: None,
        tenants: Vec::new(),
        quota_group: format!("route/{name}"),
        models: vec![Model {
            name: "chat".into(),
            upstream_name: None,
            pricing: Some(Pricing {
                input_micros_per_million: 1_000_000,
                cached_input_micros_per_million: None,
                cache_write_micros_per_million: None,
                output_micros_per_million: 4_000_000,
            }),
            context_tokens: None,
            max_output_tokens: None,
            first_token_timeout_ms: None,
        }],
        tier: 0,
        weight: 100,
        suspend: false,
        ramp_up: RampUp { start_percent: 100, every_ms: 1_000 },
        limits: hedgerow_config::route::Limits::default(),
        timeouts: hedgerow_config::route::Timeouts::default(),
        breaker: hedgerow_config::route::Breaker::default(),
        on_cancel: OnCancel { audit_percent: 0, ..OnCancel::default() },
        capabilities: hedgerow_config::route::Capabilities::default(),
        tls: hedgerow_config::route::Tls::default(),
        headers: BTreeMap::new(),
        name,
    }
}

/// The same for a provider of the other dialect.
pub fn messages_route(provider: &Provider) -> Route {
    Route { api: Api::Anthropic, ..route(provider) }
}

/// A cohort that takes everything and hedges after `delay_ms`, without control group.
pub fn cohort(delay_ms: u64) -> Cohort {
    Cohort {
        policy: "policy".into(),
        name: "all".into(),
        mode: Mode::Enforce,
        matches: CohortMatch::default(),
        share_percent: 100,
        hedge_to: HedgeTo::default(),
        hedge_warm_cache: false,
        objective: None,
        delay: Delay {
            strategy: DelayStrategy::Fixed,
            quantile_percent: 95,
            min_ms: delay_ms.min(10),
            max_ms: 60_000,
            cold_start_ms: delay_ms,
            fixed_ms: Some(delay_ms),
        },
        deadline: Deadline::default(),
        max_spend_micros: None,
        duplicate_target_percent: 100,
        holdout_percent: 0,
        retry: Retry { backoff_base_ms: 10, backoff_max_ms: 50, ..Retry::default() },
        contract: Contract::default(),
        blind: Blind::default(),
        decision: Decision {
            state: DecisionState::Active,
            hedging_percent: 100,
            transition: 1,
            reason: None,
        },
    }
}

/// A lane with this name that takes what carries `x-lane: <name>`.
pub fn lane(name: &str, priority: u32) -> Lane {
    Lane {
        name: name.into(),
        priority,
        matches: Some(hedgerow_config::lane::LaneMatch {
            headers: [("x-lane".to_owned(), name.to_owned())].into(),
            ..hedgerow_config::lane::LaneMatch::default()
        }),
        ..Lane::built_in()
    }
}

/// A budget that never runs out in a test.
pub fn with_budget(mut config: GatewayConfig) -> GatewayConfig {
    config.settings.defaults.budget.ratio_percent = 1_000;
    config.settings.defaults.budget.cap = 1_000;
    config
}

/// A lane that lets everything in.
pub fn with_room(mut config: GatewayConfig) -> GatewayConfig {
    let mut wide = Lane { name: "wide".into(), ..Lane::built_in() };
    wide.concurrency.algorithm = hedgerow_config::lane::Algorithm::Fixed;
    wide.concurrency.initial = 800;
    config.lanes.push(wide);
    config
}

/// A chat request with this prompt.
pub fn chat(prompt: &str, stream: bool) -> Value {
    json!({ "model": "chat", "stream": stream, "messages": [{ "role": "user", "content": prompt }] })
}

/// A messages request with this prompt.
pub fn messages(prompt: &str, stream: bool) -> Value {
    json!({
        "model": "chat", "stream": stream, "max_tokens": 64,
        "messages": [{ "role": "user", "content": prompt }],
    })
}

/// A header of an answer as text, empty when it is absent.
pub fn header<'a>(response: &'a Response, name: &str) -> &'a str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

/// Sources (`region-a#17`) of all tokens in a body.
pub fn sources(body: &str) -> std::collections::BTreeSet<String> {
    body.split(|c: char| !(c.is_ascii_alphanumeric() || "-#:".contains(c)))
        .filter(|word| word.contains('#') && word.contains(':'))
        .filter_map(|word| word.split(':').next().map(str::to_owned))
        .collect()
}
