//! The scenario over real sockets: scripted providers, a gateway on the compiled resources, an open-loop generator.
//!
//! How late the machine is says a canary: ten calls a second through the same gateway to a provider that always takes as
//! long. What is above that is the way, the scheduler and whatever else runs on the machine; the largest of it is what a
//! call of the comparison may be late by. Nobody is ever early.

use std::time::Duration;

use hedgerow::{
    domain::{Latches, Objects, compile},
    lint::{self, Source},
};
use hedgerow_config::{Lane, gateway::FILE, lane::Algorithm};
use hedgerow_gateway::app::{App, Options, Running};
use hedgerow_sim::{
    Dialect, Latency, Profile, Provider, ProviderConfig,
    traffic::{Arrivals, OpenLoop, Outcome, RequestKind, Target, TrafficClass, Verdict},
};

use crate::world::{self, MODELS, RATE, REGIONS, SECONDS};

/// First token of the canary's provider, in seconds.
const CANARY: f64 = 0.4;
const CANARIES: f64 = 10.0;
/// Of arrivals and latencies. Which request meets which latency is the scheduler's all the same.
const SEED: u64 = 1;
const PATIENCE: Duration = Duration::from_secs(10);

/// One run.
pub struct Found {
    /// Seconds to the first token, sorted.
    pub waited: Vec<f32>,
    /// Calls without an answer.
    pub failed: usize,
    /// Hedges sent.
    pub hedges: u64,
    /// Those that won.
    pub wins: u64,
    /// Lateness of the latest canary, in seconds.
    pub late: f64,
}

impl Found {
    /// Calls that waited longer than so many seconds.
    pub fn longer(&self, seconds: f64) -> f64 {
        self.waited.iter().filter(|waited| f64::from(**waited) > seconds).count() as f64
    }
}

/// Runs the scenario once.
pub async fn run() -> Found {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let canary = Profile { first_token: Latency::fixed(CANARY * 1_000.0), ..world::profile() };
    let [east, west] = [(REGIONS[0], 1), (REGIONS[1], 2)]
        .map(|(region, seed)| provider(region, SEED + seed, world::profile()));
    let (east, west, canary) = (east.await, west.await, provider("canary", SEED, canary).await);
    let routes = [
        (REGIONS[0], MODELS[0], east.base_url()),
        (REGIONS[1], MODELS[0], west.base_url()),
        ("canary", MODELS[1], canary.base_url()),
    ];
    let directory = tempfile::tempdir().unwrap();
    let gateway = gateway(&world::documents(&routes), directory.path()).await;

    let class = |name: &str| TrafficClass::new(name, RequestKind::ChatStream, name);
    let classes = vec![
        (class(MODELS[0]), Arrivals::Poisson { rps: RATE }),
        (class(MODELS[1]), Arrivals::Poisson { rps: CANARIES }),
    ];
    let (traffic, mut outcomes) = OpenLoop::start(&Target::http1(gateway.address), classes, SEED);
    tokio::time::sleep(Duration::from_secs_f64(SECONDS)).await;
    traffic.stop().await;
    let mut all: Vec<Outcome> = Vec::new();
    while let Some(outcome) = outcomes.recv().await {
        all.push(outcome);
    }
    settled(&gateway).await;
    let (canaries, chats): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|outcome| &*outcome.class == MODELS[1]);
    let mut waited: Vec<f32> = chats.iter().filter_map(first_token).collect();
    waited.sort_unstable_by(f32::total_cmp);
    let late = canaries.iter().filter_map(first_token).map(|waited| f64::from(waited) - CANARY);
    let state = gateway.runtime.state();
    let total = &state.cohorts.iter().find(|cohort| cohort.cohort == "chat").unwrap().total;
    Found {
        failed: chats.iter().chain(&canaries).filter(|outcome| outcome.verdict != Verdict::Answered).count(),
        waited,
        hedges: total.hedges,
        wins: total.wins,
        late: late.fold(0.0, f64::max),
    }
}

fn first_token(outcome: &Outcome) -> Option<f32> {
    outcome.first_token.map(|first| first.as_secs_f32())
}

async fn provider(name: &str, seed: u64, profile: Profile) -> Provider {
    let config = ProviderConfig { profile, seed, ..ProviderConfig::new(name, Dialect::OpenAi) };
    Provider::start(config).await.unwrap()
}

/// A gateway on the configuration that the operator compiles, with room for everybody: this is not about lanes.
async fn gateway(documents: &str, directory: &std::path::Path) -> Running {
    let file = lint::read(&Source::new("agreement.yaml".to_owned(), documents.to_owned()));
    assert_eq!(file.findings, [], "{documents}");
    let objects: Objects = lint::select(&[&file]).into_iter().collect();
    let compiled = compile(&objects.snapshots()[0], &Latches::new());
    let mut config = compiled.config;
    assert_eq!((config.routes.len(), config.cohorts.len()), (3, 2), "{:#?}", compiled.verdicts);
    let mut wide = Lane { name: "wide".into(), ..Lane::built_in() };
    (wide.concurrency.algorithm, wide.concurrency.initial) = (Algorithm::Fixed, 800);
    config.lanes.push(wide);
    std::fs::write(directory.join(FILE), config.write()).unwrap();
    let running = App::start(Options::local(directory.to_owned())).await.unwrap();
    tokio::time::timeout(PATIENCE, running.ready()).await.expect("a configuration in force");
    until("an open port", || std::net::TcpStream::connect(running.address).is_ok()).await;
    running
}

/// Waits until the gateway has counted everything.
async fn settled(gateway: &Running) {
    until("nothing in flight", || gateway.runtime.in_flight() == hedgerow_config::state::InFlight::default())
        .await;
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, waiting).await.is_ok(), "{what}");
}
