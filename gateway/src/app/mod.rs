//! One gateway, put together: the only place that knows all parts.
//!
//! Inputs: [`Options`]. Outputs: a [`Running`] gateway whose admin port answers at once and whose traffic port opens with
//! the first valid configuration. In a process it is started by [`crate::run`], in tests as often as they like.

mod pools;
mod target;

use std::{
    io,
    net::SocketAddr,
    path::PathBuf,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use tokio::{
    sync::{Notify, watch},
    task::JoinHandle,
};

use self::{pools::Pools, target::Live};
use crate::{
    admin::{self, Scrapes},
    config::{Credentials, Watcher},
    drain::{self, Haste, Leaving},
    error::StartError,
    front::{
        self,
        closing::{Closing, Phase},
        server::{Limits, Server},
    },
    runtime::{self, Runtime},
    settle::writer::{Flush, RecordWriter},
    telemetry::metrics::Metrics,
    upstream::UpstreamShared,
};

/// Connections of the admin port: a few scrapers and a person.
const ADMIN_CONNECTIONS: u32 = 64;

/// How a gateway is started.
#[derive(Clone, Debug)]
pub struct Options {
    /// Directory of `gateway.json` and `fleet.json`.
    pub config: PathBuf,
    /// Directory of `<secret>/<key>`.
    pub secrets: PathBuf,
    /// Traffic; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Admin; port 0 takes a free one.
    pub admin: SocketAddr,
    /// Share the traffic port with other processes.
    pub reuse_port: bool,
    /// Identity in `/state`.
    pub pod_uid: String,
    /// Write records.
    pub records: bool,
    /// Limits of the traffic port.
    pub limits: Limits,
}

impl Options {
    /// A gateway on free loopback ports that writes no records.
    pub fn local(config: PathBuf) -> Self {
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        Self {
            secrets: config.join("secrets"),
            config,
            listen: loopback,
            admin: loopback,
            reuse_port: false,
            pod_uid: "local".to_owned(),
            records: false,
            limits: Limits::default(),
        }
    }
}

/// A gateway that runs until it is shut down or dropped.
pub struct Running {
    /// Address of the traffic port, which answers once [`Running::ready`] has returned.
    pub address: SocketAddr,
    /// Address of the admin port.
    pub admin_address: SocketAddr,
    /// What all requests share.
    pub runtime: Arc<Runtime>,
    open: watch::Receiver<bool>,
    closing: Closing,
    admin_closing: Closing,
    scrapes: Scrapes,
    traffic: JoinHandle<Result<(), StartError>>,
    background: Vec<JoinHandle<()>>,
    flush: Option<Flush>,
}

/// Starts gateways.
pub struct App;

impl App {
    /// Binds both ports, answers on the admin port, and opens the traffic port with the first valid configuration.
    ///
    /// # Errors
    /// A port is in use, or TLS cannot be set up. A missing or bad configuration is no error: it is waited for.
    pub async fn start(options: Options) -> Result<Running, StartError> {
        Self::start_with(options, io::stdout()).await
    }

    /// The same; the records go to `sink`, if `options` ask for them.
    ///
    /// # Errors
    /// As [`App::start`].
    #[expect(clippy::unused_async, reason = "it spawns tasks: only a caller inside a runtime can await it")]
    pub async fn start_with(
        options: Options,
        sink: impl io::Write + Send + 'static,
    ) -> Result<Running, StartError> {
        let (closing, admin_closing) = (Closing::default(), Closing::default());
        let server = Server::bind(options.listen, options.reuse_port, options.limits, closing.clone())?;
        let limits = Limits { connections: ADMIN_CONNECTIONS, ..Limits::default() };
        let admin = Server::bind(options.admin, false, limits, admin_closing.clone())?;
        let (address, admin_address) = (server.address(), admin.address());
        let admin = admin.listen()?;

        let metrics = Metrics::new();
        let (records, flush) = if options.records {
            let (records, flush) = RecordWriter::to(sink, metrics.records_dropped.clone());
            (records, Some(flush))
        } else {
            (RecordWriter::discard(), None)
        };
        let credentials = Arc::new(Credentials::default());
        let runtime = Runtime::new(runtime::Options {
            pod_uid: options.pod_uid,
            metrics: metrics.clone(),
            records,
            credentials: credentials.clone(),
            transports: Box::new(Pools(UpstreamShared::new()?)),
        });

        let applied = Arc::new(Notify::new());
        let scrapes = Scrapes::default();
        let live = Live { runtime: runtime.clone(), applied: applied.clone() };
        let router = admin::router(Arc::new(live.clone()), metrics, scrapes.clone());
        let watcher = Watcher::new(options.config, options.secrets, credentials, live);
        let background = vec![
            tokio::spawn(admin.serve(router)),
            tokio::spawn(watcher.run(unix_ms)),
            tokio::spawn(runtime.clone().tick()),
        ];
        let (opens, open) = watch::channel(false);
        let traffic = tokio::spawn(serve(server, runtime.clone(), applied, closing.clone(), opens));
        Ok(Running {
            address,
            admin_address,
            runtime,
            open,
            closing,
            admin_closing,
            scrapes,
            traffic,
            background,
            flush,
        })
    }
}

/// Opens the traffic port once a configuration is in force and, where it asks for one, a certificate is there.
async fn serve(
    server: Server,
    runtime: Arc<Runtime>,
    applied: Arc<Notify>,
    closing: Closing,
    opens: watch::Sender<bool>,
) -> Result<(), StartError> {
    tokio::select! {
        () = in_force(&runtime, &applied) => {}
        () = closing.reached(Phase::Closing) => return Ok(()),
    }
    let address = server.address();
    let listening = server.listen()?;
    tracing::info!(%address, "traffic port open");
    opens.send_replace(true);
    let serving = runtime.serving.clone();
    listening.with(serving).serve(front::router::router(runtime)).await;
    Ok(())
}

async fn in_force(runtime: &Runtime, applied: &Notify) {
    loop {
        let next = applied.notified();
        if runtime.can_serve() {
            return;
        }
        next.await;
    }
}

impl Running {
    /// Waits until a configuration is in force and the traffic port is open; for ever if it never opens.
    pub async fn ready(&self) {
        if self.open.clone().wait_for(|open| *open).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until the traffic port has failed; never returns while it works.
    ///
    /// # Errors
    /// Always: why it failed.
    pub async fn failed(&mut self) -> Result<(), StartError> {
        match (&mut self.traffic).await {
            Ok(ended) => ended,
            Err(panic) => Err(StartError::Traffic { message: panic.to_string() }),
        }
    }

    /// Leaves as `GatewayFleet.spec.drain` says, as fast as `haste` allows, and flushes records and traces.
    pub async fn shutdown(mut self, haste: Haste) {
        let leaving = Leaving {
            runtime: &self.runtime,
            closing: &self.closing,
            scrapes: &self.scrapes,
            traffic: &mut self.traffic,
        };
        drain::leave(leaving, haste).await;
        self.admin_closing.advance(Phase::Cut);
        let flush = self.flush.take();
        let records = async {
            if let Some(flush) = flush
                && tokio::task::spawn_blocking(move || flush.finish()).await.is_err()
            {
                tracing::warn!("records may be lost");
            }
        };
        tokio::join!(records, self.runtime.traces.finish());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.closing.advance(Phase::Cut);
        self.traffic.abort();
        for task in &self.background {
            task.abort();
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the shell that gives the watcher its time")]
fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
