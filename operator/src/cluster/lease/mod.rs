//! Leader election by a Lease: at most one operator works, and its successor starts within [`DURATION`].
//!
//! Input: the Lease `hedgerow-operator` of the operator's own namespace. Output: a `watch` that says whether this process
//! leads. The loop is thin; what to do is [`evaluate`], which is pure. Clocks of other machines are never trusted: a record
//! counts as expired when this process has seen it unchanged for as long as it lasts (as client-go does it).
//!
//! Figures: a record lasts 10 s and is renewed every 2 s; another candidate takes it in the moment in which it expires, so 10
//! to 12 s after a leader was lost without a word. The leader steps down after 7 s without a renewal, so that it has stopped
//! before anybody else starts. (client-go uses 15 s, 2 s and 10 s; a guardrail has less time than a Deployment.)

mod evaluate;

use std::time::Duration;

use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};
use kube::{Api, Client, api::PostParams};
use tokio::{
    sync::watch,
    time::{self, Instant},
};

pub use evaluate::{Record, Step, evaluate, pause};

use super::{
    call::{CallError, bounded},
    manager,
};
use crate::{domain::figure, runtime::clock};

/// Name of the Lease.
pub const NAME: &str = "hedgerow-operator";
/// How long a record lasts.
pub const DURATION: Duration = Duration::from_secs(10);
/// How long the leader goes on without a renewal.
pub const DEADLINE: Duration = Duration::from_secs(7);
/// Pause between two attempts, of leader and candidates alike.
const RETRY: Duration = Duration::from_secs(2);
/// Longest attempt: two of them fit into the deadline.
const ATTEMPT: Duration = Duration::from_secs(3);

/// One process that would like to lead.
pub struct Election {
    api: Api<Lease>,
    identity: String,
    leading: watch::Sender<bool>,
    /// The Lease as last read or written, and since when it has been so.
    seen: Option<(Lease, Instant)>,
    renewed: Option<Instant>,
    failing: bool,
}

impl Election {
    /// A candidate that calls itself `identity`, and where it says whether it leads.
    pub fn new(client: Client, namespace: &str, identity: &str) -> (Self, watch::Receiver<bool>) {
        let (leading, leads) = watch::channel(false);
        let api = Api::namespaced(client, namespace);
        (
            Self { api, identity: identity.to_owned(), leading, seen: None, renewed: None, failing: false },
            leads,
        )
    }

    /// Leads whenever it can, until `stop` says true; then gives the Lease back.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) {
        loop {
            self.attempt().await;
            let stopped = tokio::select! {
                () = time::sleep(self.pause()) => false,
                stopped = stop.wait_for(|stop| *stop) => { drop(stopped); true }
            };
            if stopped {
                break;
            }
        }
        if *self.leading.borrow() {
            self.say(false);
            self.release().await;
        }
    }

    /// Pause until the next attempt.
    fn pause(&self) -> Duration {
        // What was seen before the API server went away may have expired long ago.
        let record = self.record().filter(|_| !self.failing);
        pause(record.as_ref().map(|(record, unchanged)| (record, *unchanged)), &self.identity, RETRY)
    }

    /// What the Lease says, and for how long it has been seen so.
    fn record(&self) -> Option<(Record, Duration)> {
        self.seen.as_ref().map(|(lease, since)| (Record::of(lease), now().duration_since(*since)))
    }

    async fn attempt(&mut self) {
        let outcome = time::timeout(ATTEMPT, self.step()).await.unwrap_or(Err(CallError::Late));
        match outcome {
            Ok(()) => self.failing = false,
            // Somebody else wrote: read it with the next attempt.
            Err(error) if error.is_conflict() => self.seen = None,
            Err(error) => {
                self.seen = self.seen.take().filter(|_| !error.is_not_found());
                if !self.failing {
                    tracing::warn!(%error, "the lease cannot be read or written");
                    self.failing = true;
                }
            }
        }
        let late = self.renewed.is_none_or(|renewed| now().duration_since(renewed) >= DEADLINE);
        if late && *self.leading.borrow() {
            tracing::warn!("not the leader any more: the lease could not be renewed in time");
            self.say(false);
        }
    }

    async fn step(&mut self) -> Result<(), CallError> {
        // A leader knows what the Lease holds: it wrote it.
        if !*self.leading.borrow() || self.seen.is_none() {
            self.read().await?;
        }
        let record = self.record();
        let step = evaluate(record.as_ref().map(|(record, unchanged)| (record, *unchanged)), &self.identity);
        match step {
            Step::Follow => {
                if *self.leading.borrow() {
                    tracing::warn!("not the leader any more: another process holds the lease");
                    self.say(false);
                }
                Ok(())
            }
            Step::Take | Step::Renew => {
                let asked = now();
                self.write(step == Step::Take).await?;
                self.renewed = Some(asked);
                if !*self.leading.borrow() {
                    tracing::info!(identity = self.identity, "leading");
                    self.say(true);
                }
                Ok(())
            }
        }
    }

    async fn read(&mut self) -> Result<(), CallError> {
        let lease = bounded(self.api.get_opt(NAME)).await?;
        let version = |lease: &Lease| lease.metadata.resource_version.clone();
        self.seen = lease.map(|lease| match self.seen.take() {
            Some((before, since)) if version(&before) == version(&lease) => (before, since),
            _ => (lease, now()),
        });
        Ok(())
    }

    async fn write(&mut self, taken: bool) -> Result<(), CallError> {
        let params = PostParams { field_manager: Some(manager::LEASE.to_owned()), ..PostParams::default() };
        let at = MicroTime(figure::timestamp(clock::now()));
        let before = self.seen.as_ref().map(|(lease, _)| lease.clone());
        let mut lease = before.clone().unwrap_or_else(|| Lease {
            metadata: ObjectMeta { name: Some(NAME.to_owned()), ..ObjectMeta::default() },
            spec: None,
        });
        let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
        spec.holder_identity = Some(self.identity.clone());
        spec.lease_duration_seconds = i32::try_from(DURATION.as_secs()).ok();
        spec.renew_time = Some(at.clone());
        if taken {
            spec.acquire_time = Some(at);
            spec.lease_transitions = Some(spec.lease_transitions.map_or(0, |count| count.saturating_add(1)));
        }
        let written = match before {
            Some(_) => bounded(self.api.replace(NAME, &params, &lease)).await?,
            None => bounded(self.api.create(&params, &lease)).await?,
        };
        self.seen = Some((written, now()));
        Ok(())
    }

    /// Lets the next one start at once.
    async fn release(&mut self) {
        let Some((mut lease, _)) = self.seen.take() else { return };
        if let Some(spec) = &mut lease.spec {
            spec.holder_identity = Some(String::new());
            spec.lease_duration_seconds = Some(1);
        }
        let params = PostParams { field_manager: Some(manager::LEASE.to_owned()), ..PostParams::default() };
        let answer = time::timeout(ATTEMPT, bounded(self.api.replace(NAME, &params, &lease))).await;
        if matches!(answer, Ok(Ok(_))) {
            tracing::info!("gave the lease back");
        } else {
            tracing::warn!("the lease was not given back; it expires by itself");
        }
    }

    fn say(&self, leads: bool) {
        self.leading.send_replace(leads);
    }
}

impl Record {
    /// What a Lease says.
    fn of(lease: &Lease) -> Self {
        let spec = lease.spec.as_ref();
        let lasts = spec.and_then(|spec| spec.lease_duration_seconds).and_then(|s| u64::try_from(s).ok());
        Self {
            holder: spec.and_then(|spec| spec.holder_identity.clone()).unwrap_or_default(),
            lasts: lasts.map_or(DURATION, Duration::from_secs),
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long a record was seen unchanged is this shell's own concern"
)]
fn now() -> Instant {
    Instant::now()
}

/// The leader has stopped before anybody else may start.
const _: () = assert!(DEADLINE.as_secs() < DURATION.as_secs());
