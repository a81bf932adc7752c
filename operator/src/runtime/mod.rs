//! The process `hedgerow operator`: settings, client, health port, leadership, and the order of starting and ending.
//!
//! Start: settings -> client -> health port -> watches -> election -> work as leader. A standby keeps its watches warm and is
//! ready. End, on SIGTERM or Ctrl-C: not ready any more, work ends, the Lease is given back, exit. On loss of the lead all
//! work is dropped at its next await point; should that take longer than `DROPPED_WITHIN`, the process ends instead.

pub mod clock;
mod health;
pub mod metrics;
pub mod settings;

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context as _;
use kube::Client;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
    task::JoinSet,
    time,
};

use self::{metrics::Metrics, settings::Settings};
use crate::{
    cluster::{self, Stores, Wakes, lease::Election},
    controller::{self, Context},
    scrape::Fetcher,
};

/// Work that was told to stop has to be gone within this time.
const DROPPED_WITHIN: Duration = Duration::from_secs(2);
/// The Lease has to be given back within this time.
const ENDED_WITHIN: Duration = Duration::from_secs(5);

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Settings file; `None` = built-in settings.
    pub config: Option<PathBuf>,
    /// Health port.
    pub listen: SocketAddr,
    /// Name of this process among its replicas.
    pub identity: String,
    /// Namespace of the Lease; `None` = that of the client.
    pub namespace: Option<String>,
}

/// Runs until it is told to end.
///
/// # Errors
/// It cannot start, or lost the lead and could not stop working.
pub async fn run(options: Options) -> anyhow::Result<()> {
    let settings = match &options.config {
        Some(path) => Settings::read(path)?,
        None => Settings::built_in()?,
    };
    let client = cluster::connect().await?;
    let (metrics, wakes) = (Arc::new(Metrics::default()), Arc::new(Wakes::default()));
    let (ready, readiness) = watch::channel(false);
    let mut tasks = JoinSet::new();
    let listener = health::listen(options.listen).await?;
    tasks.spawn(health::serve(listener, metrics.clone(), readiness));
    let stores = Stores::start(&client, &settings.watch_namespaces, &wakes, &metrics, &mut tasks);
    let namespace = options.namespace.unwrap_or_else(|| client.default_namespace().to_owned());
    tracing::info!(
        identity = options.identity,
        namespace,
        namespaces = ?settings.watch_namespaces,
        image = settings.image.repository,
        "starting"
    );
    let fetcher = Fetcher::new().context("cannot read pods")?;
    let context = Context::new(
        client.clone(),
        stores.clone(),
        wakes,
        settings,
        metrics.clone(),
        fetcher,
        &options.identity,
    );
    let process = Process { context: Arc::new(context), metrics, ready, stores };
    process.run(client, &namespace, &options.identity).await
}

struct Process {
    context: Arc<Context>,
    metrics: Arc<Metrics>,
    ready: watch::Sender<bool>,
    stores: Stores,
}

impl Process {
    async fn run(self, client: Client, namespace: &str, identity: &str) -> anyhow::Result<()> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        tokio::select! {
            () = self.stores.ready() => {}
            _ = terminate.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
        }
        self.ready.send_replace(true);
        tracing::info!("everything was listed once");
        let (election, leads) = Election::new(client, namespace, identity);
        let (stop, stopped) = watch::channel(false);
        let election = tokio::spawn(election.run(stopped));
        let outcome = tokio::select! {
            outcome = self.follow(leads) => outcome,
            _ = terminate.recv() => Ok(()),
            _ = interrupt.recv() => Ok(()),
        };
        self.ready.send_replace(false);
        self.metrics.leads(false);
        stop.send_replace(true);
        if time::timeout(ENDED_WITHIN, election).await.is_err() {
            tracing::warn!("the election did not end in time");
        }
        outcome
    }

    /// Works while this process leads. Dropping it drops the work.
    async fn follow(&self, mut leads: watch::Receiver<bool>) -> anyhow::Result<()> {
        loop {
            leads.wait_for(|leads| *leads).await.context("the election ended")?;
            self.metrics.leads(true);
            let mut work = JoinSet::new();
            work.spawn(controller::run(self.context.clone()));
            tokio::select! {
                lost = leads.wait_for(|leads| !*leads) => drop(lost.context("the election ended")?),
                ended = work.join_next() => anyhow::bail!("the work of the leader ended by itself: {ended:?}"),
            }
            self.metrics.leads(false);
            time::timeout(DROPPED_WITHIN, work.shutdown())
                .await
                .context("lost the lead and could not stop working in time")?;
            tracing::info!("standing by");
        }
    }
}
