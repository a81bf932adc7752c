//! Statuses of the fleet's objects: latches first and fenced, the rest when due.

use std::sync::Arc;

use futures_util::future::join_all;
use hedgerow_crds::{Kind, condition::Reason, v1alpha1::gateway_fleet::AutoscalingMode};
use hedgerow_policy::time::Moment;
use k8s_openapi::api::apps::v1::DeploymentStatus;
use kube::{api::DynamicObject, core::ObjectMeta};

use super::{Owner, PATIENCE, Worker};
use crate::{
    cluster::StatusError,
    controller::{
        report::{Due, Present, Status},
        roll,
    },
    domain::Policy,
    render::children::ChildKind,
    status::{Pods, Roll, Trouble},
};

/// Statuses of one fleet written at the same time.
const AT_ONCE: usize = 8;
/// Further attempts where somebody keeps writing the same policy.
const STALE_TRIES: usize = 5;

impl Worker {
    /// Writes the statuses of policies that must not wait. False where one could not be written, and the configuration has
    /// to wait for it.
    pub(super) async fn remember(&mut self, now: Moment) -> bool {
        let mut written = true;
        for policy in self.memory.snapshot.policies.clone() {
            if let Some(due) = self.policy_due(&policy, now)
                && due.decisive
            {
                written &= self.write_policy(due, &policy, now).await;
            }
        }
        if written {
            self.unwritten = None;
            return true;
        }
        self.again = true;
        now.since(*self.unwritten.get_or_insert(now)) >= PATIENCE
    }

    /// Writes what else is due.
    pub(super) async fn report(&mut self, owner: &Owner, now: Moment) {
        let mut due = Vec::new();
        for policy in self.memory.snapshot.policies.clone() {
            if let Some(policy_due) = self.policy_due(&policy, now)
                && (policy_due.decisive || self.context.figures.take(now).is_ok())
            {
                self.write_policy(policy_due, &policy, now).await;
            }
        }
        self.routes_due(now, &mut due);
        self.lanes_due(now, &mut due);
        if let Owner::Here(_) = owner {
            self.fleet_due(now, &mut due);
        }
        due.retain(|due| due.decisive || self.context.figures.take(now).is_ok());
        for some in due.chunks(AT_ONCE) {
            self.write(some, now).await;
        }
        self.show(now);
    }

    async fn write(&mut self, due: &[Due], now: Moment) {
        let (statuses, namespace) = (&self.context.statuses, &self.id.namespace);
        let reports = &self.context.reports;
        let writes = due.iter().map(|due| async move {
            let _turn = reports.acquire().await;
            statuses.write(due.object.kind, namespace, &due.object.name, None, &due.status).await
        });
        for (due, answer) in due.iter().zip(join_all(writes).await) {
            self.context.metrics.wrote(due.object.kind.plural());
            match answer {
                Ok(version) => self.ledger.written(due.clone(), version, now),
                Err(StatusError::Gone) => self.ledger.forget(due.object.kind, &due.object.name),
                Err(error) => self.unwritten(due.object.kind, &due.object.name, &error),
            }
        }
    }

    /// Latches that another leader has written count, also where no write of ours meets them: this process may have stood
    /// still and not know yet that it does not lead any more.
    pub(super) fn follow(&mut self, now: Moment) {
        for policy in self.memory.snapshot.policies.clone() {
            if let Some(present) = self.present_policy(&policy) {
                self.overtaken(&policy, &present, now);
            }
        }
    }

    /// Writes the status of a policy over exactly the version that it was made from, or over a newer one that says nothing
    /// else about its latches; false where that did not work, or where another leader has decided.
    async fn write_policy(&mut self, mut due: Due, policy: &Policy, now: Moment) -> bool {
        let name = due.object.name.clone();
        let mut answer = self.write_over(&due).await;
        for _ in 0..STALE_TRIES {
            if !matches!(answer, Err(StatusError::Stale)) {
                break;
            }
            answer = match self.newer(&due).await {
                Ok(newer) => {
                    if self.overtaken(policy, &newer, now) {
                        self.ledger.before(newer, now);
                        return false;
                    }
                    due.object.version = newer.version;
                    self.write_over(&due).await
                }
                Err(error) => Err(error),
            };
        }
        match answer {
            Ok(version) => {
                self.ledger.written(due, version, now);
                true
            }
            Err(StatusError::Gone) => {
                self.ledger.forget(Kind::HedgePolicy, &name);
                true
            }
            Err(error) => {
                self.unwritten(Kind::HedgePolicy, &name, &error);
                false
            }
        }
    }

    async fn write_over(&self, due: &Due) -> Result<String, StatusError> {
        self.context.metrics.wrote(Kind::HedgePolicy.plural());
        let (name, fence) = (&due.object.name, Some(due.object.version.as_str()));
        self.context.statuses.write(Kind::HedgePolicy, &self.id.namespace, name, fence, &due.status).await
    }

    /// The policy as somebody wrote it in between.
    async fn newer(&self, due: &Due) -> Result<Present, StatusError> {
        let stored = self.context.statuses.policy(&self.id.namespace, &due.object.name).await?;
        let newer =
            present(Kind::HedgePolicy, &stored.metadata, Status::Policy(stored.status.unwrap_or_default()));
        // Another one of the same name starts anew.
        if newer.uid == due.object.uid { Ok(newer) } else { Err(StatusError::Gone) }
    }

    /// Takes over what another leader has decided, if that is what makes `present` newer than what we know; true where it is.
    /// Our own decisions are made anew with the next round.
    fn overtaken(&mut self, policy: &Policy, present: &Present, now: Moment) -> bool {
        let Status::Policy(stored) = &present.status else { return false };
        let Some(Status::Policy(known)) = self.ledger.known(present) else { return false };
        let overtaken = self.memory.adopt(policy, &known.cohorts, &stored.cohorts, now);
        if overtaken {
            tracing::warn!(
                namespace = self.id.namespace,
                policy = policy.name,
                "another process has decided; its decisions count"
            );
            self.compile();
        }
        overtaken
    }

    fn present_policy(&self, policy: &Policy) -> Option<Present> {
        let stored = self.context.stores.policy(&self.id.namespace, &policy.name)?;
        let status = Status::Policy(stored.status.unwrap_or_default());
        Some(present(Kind::HedgePolicy, &stored.metadata, status))
    }

    fn policy_due(&mut self, policy: &Policy, now: Moment) -> Option<Due> {
        let present = self.present_policy(policy)?;
        if self.overtaken(policy, &present, now) {
            self.again = true;
            return None;
        }
        let before = self.ledger.before(present, now);
        let Status::Policy(old) = &before.status else { return None };
        let new = self.memory.policy_status(policy, &self.pods(now), old)?;
        self.ledger.due(before, Status::Policy(new), now)
    }

    fn routes_due(&mut self, now: Moment, due: &mut Vec<Due>) {
        for route in self.memory.snapshot.routes.clone() {
            let Some(stored) = self.context.stores.route(&self.id.namespace, &route.name) else { continue };
            let status = Status::Route(stored.status.unwrap_or_default());
            let before = self.ledger.before(present(Kind::ProviderRoute, &stored.metadata, status), now);
            let Status::Route(old) = &before.status else { continue };
            let new = self.memory.route_status(&route, &self.pods(now), old);
            due.extend(new.and_then(|new| self.ledger.due(before, Status::Route(new), now)));
        }
    }

    fn lanes_due(&mut self, now: Moment, due: &mut Vec<Due>) {
        for lane in self.memory.snapshot.lanes.clone() {
            let Some(stored) = self.context.stores.lane(&self.id.namespace, &lane.name) else { continue };
            let status = Status::Lane(stored.status.unwrap_or_default());
            let before = self.ledger.before(present(Kind::PriorityLane, &stored.metadata, status), now);
            let Status::Lane(old) = &before.status else { continue };
            let new = self.memory.lane_status(&lane, &self.pods(now), old);
            due.extend(new.and_then(|new| self.ledger.due(before, Status::Lane(new), now)));
        }
    }

    fn fleet_due(&mut self, now: Moment, due: &mut Vec<Due>) {
        let Some(guard) = self.context.stores.fleet(&self.id) else { return };
        let Ok(fleet) = &guard.0 else { return };
        let status = Status::Fleet(fleet.status.clone().unwrap_or_default());
        let before = self.ledger.before(present(Kind::GatewayFleet, &fleet.metadata, status), now);
        let Status::Fleet(old) = &before.status else { return };
        let service = hedgerow_crds::child_name(&self.id.name);
        let spec = self.memory.snapshot.spec();
        let scheme = if spec.tls.is_some() { "https://" } else { "" };
        let address = format!("{scheme}{service}.{}.svc:{}", self.id.namespace, spec.service.port);
        let failure = self.roster.trouble().or_else(|| self.refused_pods());
        let new = self.memory.fleet_status(&self.pods(now), &address, failure, old);
        due.extend(self.ledger.due(before, Status::Fleet(new), now));
    }

    /// The pods as statuses see them.
    fn pods(&self, now: Moment) -> Pods<'_> {
        let mut pods = self.memory.pods(self.roster.members(), now);
        pods.desired = self.wanted_pods();
        pods.roll = self.roll();
        let ready = pods.ready().count();
        let why = self.roster.trouble().or_else(|| self.refused_pods());
        pods.trouble = self.trouble.clone().or_else(|| {
            let (reason, what) = if ready == 0 {
                (Reason::NoReadyPods, "no gateway is ready")
            } else {
                (Reason::RolloutFailed, "not every gateway comes up")
            };
            why.map(|why| Trouble { reason, message: format!("{what}: {why}") })
        });
        pods
    }

    /// Whether pods have to be replaced: what an earlier leader began is seen by the Deployment.
    fn roll(&self) -> Option<Roll> {
        let replaced = || self.deployment().is_some_and(|live| roll::has_old_pods(&live));
        if self.waits {
            Some(Roll::Waits)
        } else {
            (self.turn.is_some() || replaced()).then_some(Roll::UnderWay)
        }
    }

    /// How many pods there should be: what the author asks for, or whoever scales them.
    fn wanted_pods(&self) -> Option<usize> {
        let spec = self.memory.snapshot.spec();
        if spec.autoscaling.mode == AutoscalingMode::None {
            return usize::try_from(spec.replicas).ok();
        }
        let live = self.deployment()?;
        live.data.get("spec")?.get("replicas")?.as_u64().and_then(|pods| usize::try_from(pods).ok())
    }

    /// Why pods cannot even be made: a quota, an admission webhook.
    fn refused_pods(&self) -> Option<String> {
        let live = self.deployment()?;
        let status: DeploymentStatus = serde_json::from_value(live.data.get("status")?.clone()).ok()?;
        let failure = status.conditions?.into_iter().find(|condition| condition.type_ == "ReplicaFailure")?;
        (failure.status == "True").then(|| failure.message.unwrap_or_default())
    }

    /// The Deployment as it lives.
    pub(super) fn deployment(&self) -> Option<Arc<DynamicObject>> {
        let name = hedgerow_crds::child_name(&self.id.name);
        self.context.stores.child(&self.id.namespace, ChildKind::Deployment, &name)
    }

    /// The same in metrics.
    fn show(&self, now: Moment) {
        let pods = self.pods(now);
        let desired = pods.desired.unwrap_or(pods.members.len());
        self.context.metrics.pods(&self.id, [desired, pods.ready().count(), pods.programmed()]);
        let standings = self.memory.standings.iter().map(|(key, standing)| {
            (key.policy.clone(), key.cohort.clone(), standing.latch.state.as_str().to_owned())
        });
        self.context.metrics.cohorts(&self.id, standings);
    }

    fn unwritten(&mut self, kind: Kind, name: &str, error: &StatusError) {
        self.again = true;
        self.context.metrics.failed("status");
        tracing::warn!(
            kind = kind.as_str(),
            namespace = self.id.namespace,
            name,
            %error,
            "a status was not written"
        );
    }
}

fn present(kind: Kind, metadata: &ObjectMeta, status: Status) -> Present {
    Present {
        kind,
        name: metadata.name.clone().unwrap_or_default(),
        uid: metadata.uid.clone().unwrap_or_default(),
        version: metadata.resource_version.clone().unwrap_or_default(),
        status,
    }
}
