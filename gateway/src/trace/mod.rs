//! Traces: one span for a user action and one for each of its attempts, told to a collector over OTLP.
//!
//! Why: records say what hedging did to one user action; a trace shows it inside the application that asked. Inputs: what
//! records are made of, when a user action is settled. Outputs: batches of spans, sent by one task. Invariants: without
//! `spec.traces` of the fleet nothing here runs; a request waits for nobody but two short mutexes; what cannot be
//! delivered is dropped and counted; nothing of prompts, answers, headers, keys or user identifiers has a way in.
//!
//! - `context`: whose trace, and whether it is told - `span`, `attribute`: records as spans - `queue`: bounded, lossy
//! - `export`: OTLP over HTTP
//!
//! The messages are those of the maintained crate `opentelemetry-proto`. The SDK's processor of batches is not used: it
//! runs an exporter on a thread of its own, where a client on tokio's sockets does not work (as its documentation says),
//! and it counts nothing that it loses; its exporter takes settings from the environment, by which an `env` of the pods
//! could send traces elsewhere.

pub mod attribute;
pub mod context;
mod export;
mod queue;
pub mod span;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use arc_swap::ArcSwapOption;
use hedgerow_config::{gateway::FleetId, settings::Egress};
use opentelemetry_proto::tonic::trace::v1::Span;
use prometheus_client::metrics::counter::Counter;
use tokio::task::JoinHandle;

use self::{export::Exporter, queue::Queue};
use crate::{
    config::Secret,
    race::transport::{Transport, Transports},
    runtime::clock::Clock,
};

/// Longest wait for the last spans when the pod leaves; records have as long, and at the same time.
const FLUSH_WITHIN: Duration = Duration::from_secs(2);

/// Where spans go, and in whose name. Another value means another connection.
#[derive(Clone)]
pub struct Way {
    /// Base URL of the collector.
    pub endpoint: String,
    /// How the fleet reaches the outside.
    pub egress: Egress,
    /// The fleet's further authorities, as mounted.
    pub further: Option<Arc<Secret>>,
    /// The fleet.
    pub fleet: FleetId,
    /// The pod.
    pub pod: String,
}

impl PartialEq for Way {
    fn eq(&self, other: &Self) -> bool {
        let bytes = |way: &Self| way.further.as_ref().map(|secret| secret.bytes().to_vec());
        (&self.endpoint, &self.egress, &self.fleet, &self.pod)
            == (&other.endpoint, &other.egress, &other.fleet, &other.pod)
            && bytes(self) == bytes(other)
    }
}

/// Takes spans of settled user actions.
pub struct Traces {
    /// Where spans wait; `None` = they go nowhere.
    queue: ArcSwapOption<Queue>,
    current: Mutex<Option<Current>>,
    clock: Clock,
    dropped: Counter,
}

struct Current {
    way: Way,
    queue: Arc<Queue>,
    task: JoinHandle<()>,
}

impl Traces {
    /// Going nowhere; `dropped` counts what is lost.
    pub fn new(clock: Clock, dropped: Counter) -> Self {
        Self { queue: ArcSwapOption::empty(), current: Mutex::default(), clock, dropped }
    }

    /// Spans go `wanted` from now on; the same way again changes nothing. What waits on another way is still delivered.
    /// Call it inside a runtime.
    pub fn direct(&self, wanted: Option<Way>, transports: &dyn Transports) {
        let mut current = self.current();
        if current.as_ref().map(|current| &current.way) == wanted.as_ref() {
            return;
        }
        if let Some(old) = current.take() {
            old.queue.close();
        }
        *current = wanted.and_then(|way| self.open(way, transports));
        self.queue.store(current.as_ref().map(|current| current.queue.clone()));
    }

    fn open(&self, way: Way, transports: &dyn Transports) -> Option<Current> {
        let opened = transports.collector(&way);
        let built = opened.map_err(|error| error.to_string()).and_then(|transport: Arc<dyn Transport>| {
            let queue = Arc::new(Queue::new(self.dropped.clone()));
            Ok((Exporter::new(&way, transport, queue.clone(), self.clock)?, queue))
        });
        match built {
            Ok((exporter, queue)) => {
                tracing::info!(collector = way.endpoint, "traces are told");
                Some(Current { way, queue, task: tokio::spawn(exporter.run()) })
            }
            Err(problem) => {
                tracing::error!(collector = way.endpoint, problem, "traces cannot be told and are dropped");
                None
            }
        }
    }

    /// Queues the spans of one user action, all or none. Never waits.
    pub fn push(&self, spans: Vec<Span>) {
        match &*self.queue.load() {
            Some(queue) => queue.push(spans),
            None => {
                self.dropped.inc_by(spans.len() as u64);
            }
        }
    }

    /// Delivers what waits, within a bound, and ends.
    pub async fn finish(&self) {
        let Some(Current { queue, mut task, .. }) = self.current().take() else { return };
        self.queue.store(None);
        queue.close();
        if tokio::time::timeout(FLUSH_WITHIN, &mut task).await.is_err() {
            task.abort();
            let lost = queue.left();
            self.dropped.inc_by(lost);
            tracing::warn!(lost, "the collector is too slow: the last spans are lost");
        }
    }

    fn current(&self) -> MutexGuard<'_, Option<Current>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        if let Some(current) = self.current().take() {
            current.queue.close();
        }
    }
}
