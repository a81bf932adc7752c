//! The worker of one fleet: objects, readings, decisions, statuses, configuration, in that order and in one task.
//!
//! Every round looks at everything anew, so that a lost event costs a few seconds at most and a repeated one nothing. Order
//! of writes at a decision: status, configuration, nudge, Event. If statuses cannot be written for [`PATIENCE`] the
//! configuration goes first: gateways must not wait for somebody's webhook.

mod reading;
mod statuses;
mod writing;

use std::{sync::Arc, time::Duration};

use hedgerow_config::GatewayConfig;
use hedgerow_crds::{Kind, condition::Reason};
use hedgerow_policy::time::Moment;
use kube::core::ObjectMeta;
use tokio::{
    sync::{Notify, OwnedSemaphorePermit},
    time,
};

use super::{
    Context, children::Children, generated, heartbeat::Heartbeat, nudges::Rollout, report::Ledger,
    roster::Roster,
};
use crate::{
    cluster::FleetId,
    domain::{Notice, guardrail::Decision},
    fleet::{Fresh, Memory, history::Keeper},
    runtime::clock,
    status::Trouble,
};

/// Pause between two readings of the pods; up to [`JITTER_NANOS`] are added.
const SCRAPE_EVERY: Duration = Duration::from_millis(4_500);
/// Spread of readings: a second.
const JITTER_NANOS: u64 = 1_000_000_000;
/// Pause between two questions for the digest after a change.
const ACKNOWLEDGE_EVERY: Duration = Duration::from_millis(500);
/// Changes that come within this time are taken in together.
const SETTLE: Duration = Duration::from_millis(50);
/// Pause after something did not work.
const AGAIN: Duration = Duration::from_secs(2);
/// Shortest pause between two writes of a fleet's history.
const HISTORY_EVERY: Duration = Duration::from_mins(5);
/// How long a configuration waits for statuses that cannot be written.
const PATIENCE: Duration = Duration::from_secs(5);

/// The worker.
pub(super) struct Worker {
    context: Arc<Context>,
    id: FleetId,
    memory: Memory,
    roster: Roster,
    children: Children,
    ledger: Ledger,
    heartbeat: Heartbeat,
    history: Keeper,
    /// Latches were read from statuses.
    restored: bool,
    /// What is to be in force, with its digest; empty before anything compiled.
    wanted: Option<Arc<(GatewayConfig, Fresh)>>,
    /// The last of these that a `ConfigMap` can hold, with what was decided since.
    fitting: Option<Arc<(GatewayConfig, Fresh)>>,
    /// Why what is wanted is not what fits.
    too_large: Option<Trouble>,
    /// Children have to be rendered anew.
    stale: bool,
    rollout: Option<Rollout>,
    /// What stands in the way of the configuration.
    trouble: Option<Trouble>,
    /// What was last said about that in an Event.
    complained: Option<Reason>,
    /// The permission to replace pods, while they are replaced.
    turn: Option<OwnedSemaphorePermit>,
    /// Pods have to be replaced, and another fleet has that permission.
    waits: bool,
    next_scrape: Moment,
    /// Since when statuses cannot be written.
    unwritten: Option<Moment>,
    idle: generated::Idle,
    /// Something did not work and is to be tried soon.
    again: bool,
}

/// The `GatewayFleet` object as it is now.
#[derive(Debug)]
enum Owner {
    /// There, and it stays.
    Here(Box<ObjectMeta>),
    /// There, but going or not readable: nothing is to be built on it.
    Unusable,
    /// Not there.
    Missing,
}

impl Worker {
    /// A worker that knows nothing yet.
    pub(super) fn new(context: Arc<Context>, id: FleetId) -> Self {
        let memory = Memory::new(&id.name, clock::now());
        Self {
            context,
            id,
            memory,
            roster: Roster::default(),
            children: Children::default(),
            ledger: Ledger::default(),
            heartbeat: Heartbeat::default(),
            history: Keeper::new(HISTORY_EVERY),
            restored: false,
            wanted: None,
            fitting: None,
            too_large: None,
            stale: true,
            rollout: None,
            trouble: None,
            complained: None,
            turn: None,
            waits: false,
            next_scrape: Moment::ZERO,
            unwritten: None,
            idle: generated::Idle::default(),
            again: false,
        }
    }

    /// Works until it is aborted.
    pub(super) async fn run(mut self, wake: Arc<Notify>) {
        loop {
            let started = clock::now();
            self.round(started).await;
            let now = clock::now();
            self.context.metrics.reconciled(now.since(started));
            tokio::select! {
                () = time::sleep(self.pause(now)) => {}
                () = wake.notified() => time::sleep(SETTLE).await,
            }
        }
    }

    async fn round(&mut self, now: Moment) {
        self.again = false;
        let owner = self.owner();
        if !self.take_in(now).await {
            return;
        }
        if self.is_superfluous(&owner, now).await {
            return;
        }
        self.follow(now);
        self.read(now).await;
        let now = clock::now();
        self.memory.digest_readings(now);
        let command = format!(" -n {}", self.id.namespace);
        let sight = self.memory.pods(self.roster.members(), now).sight();
        let round = self.memory.look(|policy| policy.annotations.clone(), &command, sight, now);
        for problem in &round.problems {
            tracing::debug!(namespace = self.id.namespace, fleet = self.id.name, problem, "annotation");
        }
        round.decisions.iter().for_each(|decision| self.announce(decision));
        if !round.decisions.is_empty() {
            self.compile();
        }
        if self.remember(now).await {
            self.put_in_force(&owner, now).await;
        }
        self.publish(&round.decisions).await;
        self.nudge(clock::now()).await;
        self.report(&owner, clock::now()).await;
        self.complain(&owner).await;
    }

    /// Takes in what is asked for; false where that is not known yet.
    async fn take_in(&mut self, now: Moment) -> bool {
        let objects = self.context.stores.objects_of(&self.id);
        let snapshot = objects.snapshot(&self.id.namespace, &self.id.name);
        let snapshot = self.context.settings.installation.govern(snapshot);
        if self.restored && snapshot == self.memory.snapshot {
            return true;
        }
        self.memory.snapshot = snapshot;
        if !self.restore(now).await {
            return false;
        }
        self.stale = true;
        self.compile();
        let snapshot = &self.memory.snapshot;
        self.ledger.keep_only(|kind, name| match kind {
            Kind::ProviderRoute => snapshot.routes.iter().any(|route| route.name == name),
            Kind::HedgePolicy => snapshot.policies.iter().any(|policy| policy.name == name),
            Kind::PriorityLane => snapshot.lanes.iter().any(|lane| lane.name == name),
            Kind::GatewayFleet => true,
        });
        true
    }

    /// Gives every cohort its latch. The first time from the API server itself: a watch may lag behind the last leader.
    async fn restore(&mut self, now: Moment) -> bool {
        let context = self.context.clone();
        if self.restored {
            let stored = |policy: &str| context.stores.policy(&self.id.namespace, policy);
            let statuses = |policy: &str| stored(policy).and_then(|policy| policy.status);
            self.memory
                .restore(|policy| statuses(policy).map_or_else(Vec::new, |status| status.cohorts), now);
            return true;
        }
        let policies = match context.statuses.policies(&self.id.namespace).await {
            Ok(policies) => policies,
            Err(error) => {
                tracing::warn!(namespace = self.id.namespace, fleet = self.id.name, %error, "cannot read latches");
                self.context.metrics.failed("restore");
                self.again = true;
                return false;
            }
        };
        self.memory.restore(
            |name| {
                let policy = policies.iter().find(|policy| policy.metadata.name.as_deref() == Some(name));
                let status = policy.and_then(|policy| policy.status.as_ref());
                status.map(|status| status.cohorts.clone()).unwrap_or_default()
            },
            now,
        );
        self.restore_history(now);
        self.restored = true;
        true
    }

    /// Compiles what is asked for with what was decided.
    fn compile(&mut self) {
        if let Some(fresh) = self.memory.compile(|_| {})
            && let Some(config) = &self.memory.config
        {
            self.wanted = Some(Arc::new((config.clone(), fresh)));
            self.stale = true;
        }
    }

    /// The fleet's own object.
    fn owner(&self) -> Owner {
        match self.context.stores.fleet(&self.id) {
            None => Owner::Missing,
            Some(guard) => match &guard.0 {
                Ok(fleet) if fleet.metadata.deletion_timestamp.is_none() => {
                    Owner::Here(Box::new(fleet.metadata.clone()))
                }
                _ => Owner::Unusable,
            },
        }
    }

    /// Makes a fleet that is missing, collects one that is not needed; true where there is nothing else to do.
    async fn is_superfluous(&mut self, owner: &Owner, now: Moment) -> bool {
        let routes = !self.memory.snapshot.routes.is_empty();
        let ttl = self.context.settings.generated_fleet_ttl;
        let done = match owner {
            Owner::Missing if routes => generated::create(&self.context, &self.id).await.map(|()| false),
            Owner::Here(metadata) if generated::is_generated(metadata) => {
                if self.idle.look(!routes, ttl, now) {
                    generated::collect(&self.context, &self.id, metadata).await.map(|()| true)
                } else {
                    Ok(false)
                }
            }
            _ => Ok(false),
        };
        done.unwrap_or_else(|error| {
            tracing::warn!(namespace = self.id.namespace, fleet = self.id.name, %error, "cannot make or delete the fleet");
            self.context.metrics.failed("fleet");
            self.again = true;
            false
        })
    }

    /// One decision, said in the log and in the metrics.
    fn announce(&self, decision: &Decision) {
        self.context.metrics.decided(&self.id.namespace, decision);
        tracing::info!(
            namespace = self.id.namespace,
            fleet = self.id.name,
            policy = decision.key.policy,
            cohort = decision.key.cohort,
            from = decision.from.as_str(),
            to = decision.to.as_str(),
            reason = decision.reason.as_str(),
            transition = decision.transition,
            "{}",
            decision.line
        );
    }

    /// The same decisions as Events.
    async fn publish(&self, decisions: &[Decision]) {
        for decision in decisions {
            let policy =
                self.memory.snapshot.policies.iter().find(|policy| policy.name == decision.key.policy);
            let Some(policy) = policy else { continue };
            self.tell(Kind::HedgePolicy, &policy.name, &policy.uid, &Notice::of(decision)).await;
        }
    }

    async fn tell(&self, kind: Kind, name: &str, uid: &str, notice: &Notice) {
        let events = &self.context.events;
        if let Err(error) = events.publish(kind, &self.id.namespace, name, uid, notice).await {
            self.context.metrics.failed("event");
            tracing::warn!(namespace = self.id.namespace, name, %error, "an Event was not written");
        }
    }

    /// How long to sleep.
    fn pause(&self, now: Moment) -> Duration {
        let mut pause = self.next_scrape.since(now);
        if self.again {
            pause = pause.min(AGAIN);
        }
        match &self.rollout {
            Some(rollout) if rollout.watched(now) => pause.min(ACKNOWLEDGE_EVERY),
            Some(_) => pause.min(AGAIN),
            None => pause,
        }
    }
}
