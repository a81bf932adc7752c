//! A directory of YAML, two scripted providers, and a standalone that runs on them.

use std::{fs, path::Path, sync::Arc, time::Duration};

use hedgerow::standalone::{GatewayCommand, Options, Records, Running, Screen, Standalone, StartError, View};
use hedgerow_sim::{Dialect, Latency, Profile, Provider, ProviderConfig, Storm};
use serde_json::{Value, json};

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(40);

/// Two regions and a directory that names them.
pub(crate) struct Bench {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) providers: Vec<Provider>,
    client: reqwest::Client,
}

impl Bench {
    /// Providers that answer after `first_token_ms`, and one route to each.
    pub(crate) async fn new(first_token_ms: f64) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let directory = tempfile::tempdir().unwrap();
        let mut providers = Vec::new();
        for region in ["a", "b"] {
            let config = ProviderConfig {
                profile: profile(first_token_ms),
                ..ProviderConfig::new(&format!("region-{region}"), Dialect::OpenAi)
            };
            let provider = Provider::start(config).await.unwrap();
            let route = route(region, provider.addr().port(), "chat");
            fs::write(directory.path().join(format!("region-{region}.yaml")), route).unwrap();
            providers.push(provider);
        }
        Self { directory, providers, client: reqwest::Client::new() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        fs::write(self.path().join(file), text).unwrap();
    }

    /// Sets both providers' first token.
    pub(crate) fn answer_after(&self, first_token_ms: f64) {
        self.providers.iter().for_each(|provider| provider.set(profile(first_token_ms)));
    }

    /// Both providers answer everything with an error.
    pub(crate) fn fail(&self) {
        self.providers
            .iter()
            .for_each(|provider| provider.update(|profile| profile.storms.push(Storm::of(100.0, 500))));
    }

    pub(crate) fn options(&self) -> Options {
        Options {
            listen: "127.0.0.1:0".parse().unwrap(),
            admin: "127.0.0.1:0".parse().unwrap(),
            gateway: GatewayCommand { program: env!("CARGO_BIN_EXE_test-gateway").into(), args: Vec::new() },
            records: Records::Discard,
            screen: Screen::Silent,
            scrape_every: Duration::from_millis(250),
            poll_every: Duration::from_millis(100),
            ..Options::new(self.path()).unwrap()
        }
    }

    pub(crate) async fn start(&self) -> Running {
        self.try_start().await.unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) async fn try_start(&self) -> Result<Running, StartError> {
        Standalone::start(self.options()).await
    }

    /// One request as an SDK sends it: its status and body.
    pub(crate) async fn ask(&self, running: &Running, model: &str) -> (u16, Value) {
        self.ask_about(running, model, "hello").await
    }

    /// The same with another prompt.
    pub(crate) async fn ask_about(&self, running: &Running, model: &str, prompt: &str) -> (u16, Value) {
        let url = format!("{}/v1/chat/completions", running.base_url("default").unwrap());
        let body =
            json!({ "model": model, "messages": [{ "role": "user", "content": prompt }], "max_tokens": 16 });
        let response = self.client.post(url).json(&body).send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    /// The models that clients see.
    pub(crate) async fn models(&self, running: &Running) -> Vec<String> {
        let url = format!("{}/v1/models", running.base_url("default").unwrap());
        let body: Value = self.client.get(url).send().await.unwrap().json().await.unwrap();
        body["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|model| model["id"].as_str().unwrap().to_owned())
            .collect()
    }

    /// A status file, as JSON.
    pub(crate) fn status(&self, kind: &str, name: &str) -> Value {
        let path = self.path().join(".status").join(format!("{kind}.{name}.yaml"));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_saphyr::from_str(&text).unwrap()
    }
}

fn profile(first_token_ms: f64) -> Profile {
    Profile { first_token: Latency::fixed(first_token_ms), ..Profile::default() }
}

/// A route to a provider on this machine.
pub(crate) fn route(region: &str, port: u16, model: &str) -> String {
    format!(
        "apiVersion: hedgerow.dev/v1alpha1
kind: ProviderRoute
metadata:
  name: region-{region}
spec:
  api: OpenAI
  endpoint: http://127.0.0.1:{port}
  insecureHttp: true
  auth:
    type: None
  failureDomain:
    provider: sim
    region: {region}
  models:
    - name: {model}
      pricing:
        inputMicrosPerMillion: 2500000
        outputMicrosPerMillion: 10000000
  rampUp:
    startPercent: 100
"
    )
}

/// The value of a condition in a status.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let conditions = object["status"]["conditions"].as_array().unwrap();
    conditions.iter().find(|condition| condition["type"] == kind).unwrap_or(&Value::Null)
}

/// Waits for a picture that `wanted` likes.
pub(crate) async fn until(running: &Running, what: &str, wanted: impl Fn(&View) -> bool) -> Arc<View> {
    let mut views = running.views();
    let seen = tokio::time::timeout(PATIENCE, views.wait_for(|view| wanted(view))).await;
    match seen {
        Ok(view) => view.unwrap().clone(),
        Err(late) => {
            panic!("not in {PATIENCE:?} ({late}): {what}; the last picture was {:#?}", running.view())
        }
    }
}
