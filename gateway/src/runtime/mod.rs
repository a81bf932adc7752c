//! Everything that the requests of one pod share.
//!
//! [`Runtime`] holds the snapshot in force and the state that outlives snapshots. Inputs: configurations, fleet files and
//! ticks. Outputs: what requests read, and [`Runtime::state`] for the operator. Snapshots are exchanged through an
//! `ArcSwapOption`; a request loads it once and keeps it.
//!
//! Refuses: to decide about hedging in the fleet's name. A pod acts alone only when nobody has watched it for
//! `blind.after`.

pub mod budget;
pub mod carried;
pub mod cell;
pub mod cells;
pub mod clock;
pub mod cohort;
pub mod error;
pub mod fleet;
pub mod keys;
pub mod lane;
pub mod learning;
pub mod matching;
pub mod report;
pub mod route;
pub mod serving;
pub mod snapshot;
pub mod spend;
pub mod target;
pub mod tick;
pub mod trust;

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use hedgerow_config::{
    FleetFile, GatewayConfig,
    settings::{Drain, Egress},
    state::{Pod, Rejected},
};
use hedgerow_policy::{draw::Key, gauge::Gauge};
use sha2::{Digest as _, Sha256};

use self::{
    budget::Budgets, carried::Carried, cells::Cells, clock::Clock, error::ApplyError, fleet::FleetView,
    keys::ClientKeys, lane::LaneDesk, serving::Serving, snapshot::Snapshot, spend::Spend, trust::Trust,
};
use crate::{
    config::credentials::Credentials,
    race::transport::Transports,
    settle::writer::RecordWriter,
    telemetry::metrics::Metrics,
    trace::{Traces, Way},
};

/// What a pod starts with.
pub struct Options {
    /// Pod uid.
    pub pod_uid: String,
    /// Metric families.
    pub metrics: Arc<Metrics>,
    /// Where records go.
    pub records: RecordWriter,
    /// Mounted secrets.
    pub credentials: Arc<Credentials>,
    /// Makes connection pools.
    pub transports: Box<dyn Transports>,
}

/// Everything that the requests of one pod share.
pub struct Runtime {
    /// The clock.
    pub clock: Clock,
    /// Metric families.
    pub metrics: Arc<Metrics>,
    /// Where records go.
    pub records: RecordWriter,
    /// Mounted secrets.
    pub credentials: Arc<Credentials>,
    /// Lanes and who waits in them.
    pub lanes: Arc<LaneDesk>,
    /// Budgets.
    pub budgets: Budgets,
    /// Latency cells.
    pub cells: Cells,
    /// Counts that must return to zero.
    pub gauges: Gauges,
    /// Spend since the start.
    pub spend: Spend,
    /// How the traffic port speaks.
    pub serving: Arc<Serving>,
    /// Takes the spans of settled user actions.
    pub traces: Traces,
    transports: Box<dyn Transports>,
    pod: Pod,
    snapshot: ArcSwapOption<Snapshot>,
    fleet: ArcSwap<FleetView>,
    client_keys: ArcSwap<ClientKeys>,
    carried: Mutex<Carried>,
    rejected: Mutex<Option<Rejected>>,
    draining: AtomicBool,
    closing: AtomicBool,
    aborted: AtomicBool,
}

/// Counts that must return to zero when nobody is asking; the others are in [`LaneDesk`] and [`Budgets`].
#[derive(Default)]
pub struct Gauges {
    /// User actions.
    pub actions: Gauge,
    /// Attempts.
    pub attempts: Gauge,
    /// Route permits.
    pub route_permits: Gauge,
    /// Buffered request bytes.
    pub buffered: Gauge,
    /// Losers being read to the end.
    pub audits: Gauge,
}

impl Runtime {
    /// A pod without a configuration.
    pub fn new(options: Options) -> Arc<Self> {
        let clock = Clock::start();
        let now = clock.now();
        Arc::new(Self {
            serving: Serving::new(options.metrics.clone()),
            traces: Traces::new(clock, options.metrics.spans_dropped.clone()),
            metrics: options.metrics,
            records: options.records,
            credentials: options.credentials,
            lanes: Arc::new(LaneDesk::new(clock, hedgerow_config::Settings::default().max_in_flight)),
            budgets: Budgets::new(now),
            cells: Cells::default(),
            gauges: Gauges::default(),
            spend: Spend::default(),
            transports: options.transports,
            pod: Pod {
                uid: options.pod_uid,
                started_unix_ms: clock.unix_ms(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            },
            snapshot: ArcSwapOption::empty(),
            fleet: ArcSwap::from_pointee(FleetView::alone(now)),
            client_keys: ArcSwap::from_pointee(ClientKeys::default()),
            carried: Mutex::default(),
            rejected: Mutex::default(),
            draining: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            aborted: AtomicBool::new(false),
            clock,
        })
    }

    /// Puts a configuration in force, as a whole or not at all.
    pub fn apply(&self, config: GatewayConfig, digest: String) -> Result<(), ApplyError> {
        let mut carried = self.carried.lock().unwrap_or_else(PoisonError::into_inner);
        let previous = self.snapshot.load_full();
        let snapshot = carried.build(self, config, digest, previous.as_deref(), &self.fleet.load())?;
        self.client_keys.store(Arc::new(ClientKeys::read(&snapshot.settings.client_auth, &self.credentials)));
        self.serving.update(snapshot.settings.tls.as_ref(), &self.credentials, self.clock.unix_ms());
        self.traces.direct(self.way_of_traces(&snapshot), &*self.transports);
        for route in &snapshot.routes {
            route.state.set_suspended(route.config.suspend);
        }
        self.snapshot.store(Some(Arc::new(snapshot)));
        *self.rejected.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }

    /// Where spans go, with what is mounted now.
    fn way_of_traces(&self, snapshot: &Snapshot) -> Option<Way> {
        let settings = &snapshot.settings;
        let endpoint = settings.traces.as_ref()?.endpoint.clone();
        let further = settings.egress.ca.as_ref().and_then(|place| self.credentials.get(place));
        let (egress, fleet, pod) = (settings.egress.clone(), snapshot.fleet.clone(), self.pod.uid.clone());
        Some(Way { endpoint, egress, further, fleet, pod })
    }

    /// Takes over what the fleet measured.
    pub fn apply_fleet(&self, file: FleetFile) {
        self.fleet.store(Arc::new(FleetView::read(file, &self.clock)));
        if let Some(snapshot) = self.snapshot.load_full() {
            self.share_budgets(&snapshot);
        }
    }

    /// Budget rules are shares of fleet-wide figures: a change of replicas changes them.
    fn share_budgets(&self, snapshot: &Snapshot) {
        self.budgets.share(|model| snapshot.budget_rule(model), self.fleet.load().replicas);
    }

    /// Reads client keys again, tries refused credentials again, and takes over certificate and authorities.
    pub fn credentials_changed(&self) {
        if let Some(snapshot) = self.snapshot.load_full() {
            self.serving.update(snapshot.settings.tls.as_ref(), &self.credentials, self.clock.unix_ms());
            self.client_keys
                .store(Arc::new(ClientKeys::read(&snapshot.settings.client_auth, &self.credentials)));
            self.traces.direct(self.way_of_traces(&snapshot), &*self.transports);
            for route in &snapshot.routes {
                route.state.credentials_rejected.store(0, Ordering::Relaxed);
                self.reopen(route, &snapshot.settings.egress);
            }
        }
    }

    /// Authorities may have changed: new connections trust the new ones. If they cannot be read, the old pool stays.
    fn reopen(&self, route: &route::RouteRuntime, egress: &Egress) {
        let mut trust = route.trust.lock().unwrap_or_else(PoisonError::into_inner);
        let mounted = Trust::of(&route.config, egress, &self.credentials);
        if *trust == mounted {
            return;
        }
        *trust = mounted;
        match self.transports.open(&route.config, egress, &trust) {
            Ok(transport) => route.transport.store(Arc::new(transport)),
            Err(error) => {
                let route = &route.config.name;
                tracing::warn!(route, %error, "the route keeps its connections and the CA they were made with");
            }
        }
    }

    /// Notes a configuration that was refused.
    pub fn reject(&self, digest: String, message: String) {
        *self.rejected.lock().unwrap_or_else(PoisonError::into_inner) = Some(Rejected { digest, message });
    }

    /// The configuration in force.
    pub fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.snapshot.load_full()
    }

    /// The fleet as last heard of.
    pub fn fleet(&self) -> Arc<FleetView> {
        self.fleet.load_full()
    }

    /// Client keys in force.
    pub fn client_keys(&self) -> Arc<ClientKeys> {
        self.client_keys.load_full()
    }

    /// Whether the pod takes traffic.
    pub fn ready(&self) -> bool {
        self.can_serve() && !self.draining()
    }

    /// Whether there is a configuration and, where it asks for one, a certificate.
    pub fn can_serve(&self) -> bool {
        self.snapshot.load().is_some() && self.serving.open()
    }

    /// Why the pod takes no traffic, for people; `None` = it does.
    pub fn waits_for(&self) -> Option<String> {
        if self.draining() {
            Some("leaving".to_owned())
        } else if self.snapshot.load().is_none() {
            Some("no configuration in force".to_owned())
        } else if self.serving.open() {
            None
        } else {
            let report = self.serving.report().unwrap_or_default();
            Some(format!("no certificate: secrets/{}: {}", report.secret, report.problem))
        }
    }

    /// SIGTERM: not ready, no new hedges.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Whether SIGTERM was received.
    pub fn draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// The endpoints are gone: requests that have not arrived whole are given up.
    pub fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }

    /// Whether requests that have not arrived whole are given up.
    pub fn closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// The drain's time is over: what remains gets its error frame and is aborted.
    pub fn abort(&self) {
        self.aborted.store(true, Ordering::Relaxed);
    }

    /// Whether what remains must end now.
    pub fn aborted(&self) -> bool {
        self.aborted.load(Ordering::Relaxed)
    }

    /// User actions in flight.
    pub fn actions_in_flight(&self) -> u64 {
        self.gauges.actions.get()
    }

    /// How the pod leaves.
    pub fn drain_times(&self) -> Drain {
        self.snapshot.load().as_ref().map_or_else(Drain::default, |snapshot| snapshot.settings.drain)
    }
}

/// The key that all pods of a fleet share: affinity must not depend on the pod.
pub fn fleet_key(namespace: &str, name: &str) -> Key {
    let digest = Sha256::digest(format!("hedgerow/{namespace}/{name}"));
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    Key::new(bytes)
}
