//! Standalone: the operator's decisions on a directory of YAML, gateways as local processes.
//!
//! Same `domain`, `status` and `scrape` as in a cluster; here are only the shells. Inputs: `DIR/**.yaml`, `DIR/secrets/`,
//! the gateways' `/state`. Outputs: `gateway.json` and `fleet.json` per fleet in the run directory, child processes, status
//! files in `DIR/.status/`, records on stdout, URLs and live status on stderr, a [`View`] for whoever embeds it.
//!
//! Invariants: a broken file changes nothing but what is said about it; no gateway outlives this process; a decision is in
//! its status file before it is in a configuration.

mod applied;
mod clock;
mod cycle;
mod fleet;
mod generation;
pub mod hold;
mod lock;
mod observed;
mod overview;
mod port;
mod process;
mod records;
mod repaired;
mod report;
mod screen;
mod source;
mod status_file;
mod view;

use std::{
    collections::BTreeMap,
    io,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use tokio::{
    signal::unix::{SignalKind, signal},
    sync::{oneshot, watch},
    task::JoinHandle,
    time,
};

use self::cycle::Cycle;
pub use self::{
    port::PortError,
    process::GatewayCommand,
    records::Records,
    screen::Screen,
    source::SourceError,
    view::{CohortView, Entry, FleetView, LaneView, PodView, RouteView, Totals, View},
};
use crate::scrape::FetchError;

/// How long gateways may take to run the first configuration.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// Directory of what gateways read, below the configuration directory.
const RUN: &str = ".run";

/// What to run, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Directory of YAML.
    pub config_dir: PathBuf,
    /// Traffic of the main fleet: `default` if there is one, else the first by name. Port 0 = any free port.
    pub listen: SocketAddr,
    /// Traffic of further fleets.
    pub fleet_listen: BTreeMap<String, SocketAddr>,
    /// Admin port of the first gateway, the next ones count up. Port 0 = any free ones.
    pub admin: SocketAddr,
    /// Gateways per fleet, 1 to 16, whatever the fleet says.
    pub replicas: u16,
    /// How to start a gateway.
    pub gateway: GatewayCommand,
    /// Where records go.
    pub records: Records,
    /// Where the live status goes.
    pub screen: Screen,
    /// Pause between two readings of the gateways.
    pub scrape_every: Duration,
    /// Pause between two looks at the directory.
    pub poll_every: Duration,
    /// What gateways read; default `DIR/.run`.
    pub run_dir: Option<PathBuf>,
}

impl Options {
    /// The defaults for a directory: one gateway of this very program on 127.0.0.1:8080.
    ///
    /// # Errors
    /// The path of this program is not known.
    pub fn new(config_dir: impl Into<PathBuf>) -> io::Result<Self> {
        Ok(Self {
            config_dir: config_dir.into(),
            listen: (Ipv4Addr::LOCALHOST, 8080).into(),
            fleet_listen: BTreeMap::new(),
            admin: (Ipv4Addr::LOCALHOST, 9090).into(),
            replicas: 1,
            gateway: GatewayCommand { program: std::env::current_exe()?, args: vec!["gateway".to_owned()] },
            records: Records::Stdout,
            screen: Screen::Stderr,
            scrape_every: Duration::from_secs(1),
            poll_every: Duration::from_millis(500),
            run_dir: None,
        })
    }

    fn run_dir(&self) -> PathBuf {
        self.run_dir.clone().unwrap_or_else(|| self.config_dir.join(RUN))
    }
}

/// Why standalone does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The directory cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A port cannot be used.
    #[error(transparent)]
    Port(#[from] PortError),
    /// The client that reads gateways cannot be made.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// Another standalone runs on the directory.
    #[error("another standalone runs on {path}: end it first, or give this one a directory of its own")]
    Taken {
        /// Configuration directory.
        path: PathBuf,
    },
    /// A file cannot be written.
    #[error("cannot write below {path}: {cause}")]
    Unwritable {
        /// Directory.
        path: PathBuf,
        /// Cause.
        cause: io::Error,
    },
    /// No usable route.
    #[error(
        "no usable ProviderRoute in {path}: write one, or let `hedgerow init {path}` do it{}",
        lines(findings)
    )]
    NothingToRun {
        /// Configuration directory.
        path: PathBuf,
        /// What is wrong with the files.
        findings: Vec<String>,
    },
    /// The gateways did not come up.
    #[error("the gateways were not ready within {}s{}", READY_WITHIN.as_secs(), lines(problems))]
    NotReady {
        /// What is wrong with them.
        problems: Vec<String>,
    },
}

fn lines(texts: &[String]) -> String {
    texts.iter().fold(String::new(), |all, text| all + "\n  " + text)
}

/// Standalone stopped by itself.
#[derive(Debug, thiserror::Error)]
#[error("standalone ended unexpectedly: {0}")]
pub struct RunError(String);

/// The entry.
#[derive(Debug)]
pub struct Standalone;

impl Standalone {
    /// Starts everything and returns when every gateway takes traffic with the configuration in force.
    ///
    /// # Errors
    /// See [`StartError`]; nothing is left running then.
    pub async fn start(options: Options) -> Result<Running, StartError> {
        let (sender, views) = watch::channel(Arc::new(View::default()));
        let cycle = Cycle::start(options, sender)?;
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(cycle.run(stopped));
        let mut running = Running { stop: Some(stop), task, views };
        if running.ready().await {
            return Ok(running);
        }
        let problems = running.view().problems.clone();
        let _ = running.shutdown().await;
        Err(StartError::NotReady { problems })
    }
}

/// A standalone that runs. Dropping it ends everything too, without waiting.
#[derive(Debug)]
pub struct Running {
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
    views: watch::Receiver<Arc<View>>,
}

impl Running {
    /// Where to point clients of a fleet, without `/v1`.
    pub fn base_url(&self, fleet: &str) -> Option<String> {
        self.view().fleet(fleet).map(|fleet| fleet.base_url.clone())
    }

    /// The picture, new after each reading of the gateways.
    pub fn views(&self) -> watch::Receiver<Arc<View>> {
        self.views.clone()
    }

    /// The picture now.
    pub fn view(&self) -> Arc<View> {
        self.views.borrow().clone()
    }

    /// Waits until it stops by itself, which is always an error.
    ///
    /// # Errors
    /// Always, once it returns.
    pub async fn ended(&mut self) -> Result<(), RunError> {
        finished((&mut self.task).await)
    }

    /// Drains and ends all gateways.
    ///
    /// # Errors
    /// It had stopped by itself before.
    pub async fn shutdown(mut self) -> Result<(), RunError> {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        match self.task.await {
            Ok(()) => Ok(()),
            Err(error) => Err(RunError(error.to_string())),
        }
    }

    /// Whether every gateway comes up in time.
    async fn ready(&mut self) -> bool {
        let up = |view: &Arc<View>| {
            let mut pods = view
                .fleets
                .iter()
                .flat_map(|fleet| fleet.pods.iter().map(|pod| pod.ready && pod.digest == fleet.digest));
            view.fleets.iter().any(|fleet| !fleet.pods.is_empty()) && pods.all(|up| up)
        };
        time::timeout(READY_WITHIN, self.views.wait_for(up)).await.is_ok_and(|seen| seen.is_ok())
    }
}

fn finished(result: Result<(), tokio::task::JoinError>) -> Result<(), RunError> {
    match result {
        Ok(()) => Err(RunError("its loop returned".to_owned())),
        Err(error) => Err(RunError(error.to_string())),
    }
}

/// The command `hedgerow standalone`: runs until SIGTERM or Ctrl-C, then drains. A second signal ends at once.
///
/// # Errors
/// It cannot start, or stopped by itself.
pub async fn run(options: Options) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let screen = options.screen;
    let mut running = tokio::select! {
        started = Standalone::start(options) => started?,
        _ = terminate.recv() => return Ok(()),
        _ = interrupt.recv() => return Ok(()),
    };
    screen::announce(screen, &running.view());
    tokio::select! {
        ended = running.ended() => ended?,
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tokio::select! {
        ended = running.shutdown() => ended?,
        _ = terminate.recv() => screen::cut(screen),
        _ = interrupt.recv() => screen::cut(screen),
    }
    Ok(())
}
