//! One worker for each fleet, while this process leads.
//!
//! It joins the parts and decides nothing: objects come from `cluster::Stores`, decisions from `domain`, statuses from
//! `status`, children from `render`. Invariants: nobody else works on a fleet at the same time; losing the lead drops
//! [`run`], and with it every worker at its next await point; what is written is always the result of the newest objects,
//! never of an event.

mod children;
mod generated;
mod heartbeat;
mod nudges;
mod report;
mod roll;
mod roster;
mod undecodable;
mod worker;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use kube::Client;
use tokio::{
    sync::Semaphore,
    task::{AbortHandle, JoinSet},
    time,
};

use self::{undecodable::Refusals, worker::Worker};
use crate::{
    cluster::{Events, FleetId, Hand, Pace, Statuses, Stores, Wakes},
    runtime::{metrics::Metrics, settings::Settings},
    scrape::Fetcher,
};

/// How often to look whether the right workers run even if nothing happens.
const RESYNC: Duration = Duration::from_secs(30);
/// Figures written a second, over all fleets.
const FIGURES_PER_SECOND: u32 = 10;
/// Reports written at the same time, over all fleets. With a thousand routes to report on, more would only queue up in the
/// API server, and the renewal of the Lease behind them: the lead was lost that way. Latches and children do not wait here.
const REPORTS_AT_ONCE: usize = 16;
/// Pods nudged a second, over all fleets.
const NUDGES_PER_SECOND: u32 = 20;

/// What every worker needs.
pub struct Context {
    client: Client,
    stores: Stores,
    wakes: Arc<Wakes>,
    settings: Settings,
    hand: Hand,
    statuses: Statuses,
    events: Events,
    metrics: Arc<Metrics>,
    fetcher: Fetcher,
    figures: Pace,
    reports: Semaphore,
    nudges: Pace,
    /// Whose pods may be replaced: one fleet after another.
    turns: Arc<Semaphore>,
}

impl Context {
    /// A context that writes in the name of `instance`.
    pub fn new(
        client: Client,
        stores: Stores,
        wakes: Arc<Wakes>,
        settings: Settings,
        metrics: Arc<Metrics>,
        fetcher: Fetcher,
        instance: &str,
    ) -> Self {
        Self {
            hand: Hand::new(client.clone()),
            statuses: Statuses::new(client.clone()),
            events: Events::new(client.clone(), instance),
            figures: Pace::new(FIGURES_PER_SECOND),
            reports: Semaphore::new(REPORTS_AT_ONCE),
            nudges: Pace::new(NUDGES_PER_SECOND),
            turns: Arc::new(Semaphore::new(1)),
            client,
            stores,
            wakes,
            settings,
            metrics,
            fetcher,
        }
    }
}

/// Works until it is dropped.
pub async fn run(context: Arc<Context>) {
    let mut tasks = JoinSet::new();
    let mut workers: BTreeMap<FleetId, AbortHandle> = BTreeMap::new();
    let mut refusals = Refusals::default();
    loop {
        let fleets = context.stores.fleets();
        workers.retain(|id, worker| {
            let kept = fleets.contains(id) && !worker.is_finished();
            if !kept {
                worker.abort();
                context.wakes.forget(id);
                context.metrics.forget(id);
            }
            kept
        });
        for id in fleets {
            workers.entry(id.clone()).or_insert_with(|| {
                let wake = context.wakes.of(&id);
                tasks.spawn(Worker::new(context.clone(), id).run(wake))
            });
        }
        refusals.report(&context).await;
        tokio::select! {
            () = context.wakes.anything.notified() => {}
            () = time::sleep(RESYNC) => {}
            // A worker never returns; one that panicked is started again, after the others have had a turn.
            Some(ended) = tasks.join_next() => {
                if let Err(error) = ended && error.is_panic() {
                    tracing::error!(%error, "a worker ended; starting it again");
                    context.metrics.failed("worker");
                }
            }
        }
    }
}
