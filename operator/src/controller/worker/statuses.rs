//! Statuses of the fleet's objects: latches first and fenced, the rest when due.

use std::sync::Arc;

use futures_util::future::join_all;
use hedgerow_crds::{
    Kind,
    condition::Reason,
    v1alpha1::{gateway_fleet::AutoscalingMode, hedge_policy::CohortStatus},
};
use hedgerow_policy::time::Moment;
use k8s_openapi::api::apps::v1::DeploymentStatus;
use kube::{Resource, api::DynamicObject, core::ObjectMeta};

use super::{Owner, PATIENCE, Worker};
use crate::{
    cluster::StatusError,
    controller::{
        report::{Due, Present, Status},
        roll,
    },
    domain::{
        CohortKey, Policy,
        guardrail::{Standing, rules},
    },
    render::children::ChildKind,
    status::{Pods, Roll, Trouble},
};

/// Statuses of one fleet written at the same time.
const AT_ONCE: usize = 8;

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

    /// Writes the status of a policy over exactly the version that it was made from; false where that did not work.
    async fn write_policy(&mut self, due: Due, policy: &Policy, now: Moment) -> bool {
        let name = due.object.name.clone();
        let fence = Some(due.object.version.as_str());
        self.context.metrics.wrote(Kind::HedgePolicy.plural());
        let answer = self
            .context
            .statuses
            .write(Kind::HedgePolicy, &self.id.namespace, &name, fence, &due.status)
            .await;
        match answer {
            Ok(version) => {
                self.ledger.written(due, version, now);
                true
            }
            Err(StatusError::Gone) => {
                self.ledger.forget(Kind::HedgePolicy, &name);
                true
            }
            Err(StatusError::Stale) => self.write_again(due, policy, now).await,
            Err(error) => {
                self.unwritten(Kind::HedgePolicy, &name, &error);
                false
            }
        }
    }

    /// Somebody wrote the policy in between. If that was another leader, its latches count and ours are made anew with the
    /// next round; else the status is written over the newer version.
    async fn write_again(&mut self, due: Due, policy: &Policy, now: Moment) -> bool {
        let name = due.object.name.clone();
        let stored = match self.context.statuses.policy(&self.id.namespace, &name).await {
            Ok(stored) => stored,
            Err(StatusError::Gone) => return true,
            Err(error) => {
                self.unwritten(Kind::HedgePolicy, &name, &error);
                return false;
            }
        };
        let status = stored.status.clone().unwrap_or_default();
        if self.adopt(policy, &status.cohorts, now) {
            tracing::warn!(
                namespace = self.id.namespace,
                policy = name,
                "another process decided in between; its decisions count"
            );
            self.ledger.forget(Kind::HedgePolicy, &name);
            self.compile();
            return false;
        }
        let version = stored.meta().resource_version.clone().unwrap_or_default();
        let answer = self
            .context
            .statuses
            .write(Kind::HedgePolicy, &self.id.namespace, &name, Some(&version), &due.status)
            .await;
        match answer {
            Ok(version) => {
                self.ledger.written(due, version, now);
                true
            }
            Err(error) => {
                self.unwritten(Kind::HedgePolicy, &name, &error);
                false
            }
        }
    }

    /// Takes over latches that are further than ours; true where there are any.
    fn adopt(&mut self, policy: &Policy, cohorts: &[CohortStatus], now: Moment) -> bool {
        let mut adopted = false;
        for cohort in cohorts.iter().filter(|cohort| cohort.since.is_some()) {
            let key = CohortKey { policy: policy.name.clone(), cohort: cohort.name.to_string() };
            let Some(standing) = self.memory.standings.get_mut(&key) else { continue };
            if u64::try_from(cohort.transition).unwrap_or(0) > standing.latch.transition {
                *standing = Standing::restore(cohort, &rules(&policy.spec), now);
                adopted = true;
            }
        }
        adopted
    }

    fn policy_due(&mut self, policy: &Policy, now: Moment) -> Option<Due> {
        let stored = self.context.stores.policy(&self.id.namespace, &policy.name)?;
        let status = Status::Policy(stored.status.unwrap_or_default());
        let before = self.ledger.before(present(Kind::HedgePolicy, &stored.metadata, status), now);
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
