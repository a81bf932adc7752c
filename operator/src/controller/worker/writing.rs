//! Writing children, and making pods take up what was written.

use std::sync::Arc;

use hedgerow_config::{
    FleetFile, GatewayConfig,
    digest::{digest, short},
    fleet_file,
};
use hedgerow_crds::{Kind, child_name, condition::Reason};
use hedgerow_policy::time::Moment;
use k8s_openapi::ByteString;
use kube::api::DynamicObject;

use super::{Owner, Worker};
use crate::{
    cluster::{is_owned, nudge},
    controller::{heartbeat::Rhythm, nudges::Rollout, roll},
    domain::Notice,
    fleet::{Fresh, history::Saved},
    render::children::{self, ChildKind, TooLarge},
    status::Trouble,
};

impl Worker {
    /// Puts the wanted configuration in force.
    pub(super) async fn put_in_force(&mut self, owner: &Owner, now: Moment) {
        let Owner::Here(metadata) = owner else { return };
        let Some(uid) = metadata.uid.clone() else { return };
        let ready = self.memory.pods(self.roster.members(), now).ready().count();
        if self.heartbeat.is_new() {
            self.heartbeat.resume(self.stored_fleet_file());
        }
        let rhythm = Rhythm::of(self.memory.snapshot.policies.iter().map(|policy| &policy.spec));
        if self.heartbeat.beat(self.memory.fleet_file(ready, now), rhythm, now) {
            self.stale = true;
        }
        if self.history.is_due(now) && self.history.take(self.memory.history.save(), now) {
            self.stale = true;
        }
        if self.stale && !self.render(&uid) {
            return;
        }
        let may_roll = self.may_roll();
        self.waits = !may_roll;
        if may_roll && !self.prepare_roll(&uid, ready, now) {
            return;
        }
        let written = self.children.settle(&self.context, &self.id, may_roll).await;
        self.again |= written.again;
        self.trouble = written.trouble.or_else(|| self.too_large.clone());
        if written.config
            && let Some((_, fresh)) = self.fitting.as_deref()
            && fresh.digest != self.memory.digest
        {
            let first = self.memory.digest.is_empty();
            self.memory.digest.clone_from(&fresh.digest);
            let mut rollout = Rollout::new(&fresh.digest, now);
            for life in self.memory.store.present(now) {
                rollout.report(&life.state.pod.uid, &life.state.digest);
            }
            self.rollout = Some(rollout);
            if !first {
                tracing::info!(
                    namespace = self.id.namespace,
                    fleet = self.id.name,
                    digest = short(&self.memory.digest),
                    "configuration written"
                );
            }
        }
        if written.fleet_file && rhythm.nudged {
            self.wake_all(now).await;
        }
        if written.rolls {
            let notice = Notice {
                warning: false,
                reason: "RollingOut",
                action: format!("Roll-{}", now.as_millis()),
                note: "pods are replaced one by one: their image, resources or mounted Secrets changed"
                    .to_owned(),
            };
            self.tell(Kind::GatewayFleet, &self.id.name.clone(), &uid, &notice).await;
        }
    }

    /// `fleet.json` as it is stored.
    fn stored_fleet_file(&self) -> Option<FleetFile> {
        let name = format!("{}{}", child_name(&self.id.name), ChildKind::FleetFile.suffix());
        let live = self.context.stores.child(&self.id.namespace, ChildKind::FleetFile, &name)?;
        FleetFile::read(live.data["data"][fleet_file::FILE].as_str()?.as_bytes()).ok()
    }

    /// The configuration that the pods run, as it is stored: the last one that did fit, which an earlier leader wrote.
    fn stored_config(&self, owner: &str) -> Option<GatewayConfig> {
        let live =
            self.context.stores.child(&self.id.namespace, ChildKind::Config, &child_name(&self.id.name))?;
        let stored = is_owned(&live.metadata, owner).then(|| children::stored_config(&live.data))??;
        GatewayConfig::read(&stored).ok()
    }

    /// Goes on from the history that is stored. One that cannot be read costs figures, never a decision.
    pub(super) fn restore_history(&mut self, now: Moment) {
        let name = format!("{}{}", child_name(&self.id.name), ChildKind::History.suffix());
        let Some(live) = self.context.stores.child(&self.id.namespace, ChildKind::History, &name) else {
            return;
        };
        let stored = live.data["binaryData"][children::HISTORY_FILE].clone();
        let Ok(ByteString(bytes)) = serde_json::from_value(stored) else { return };
        match Saved::read(&bytes) {
            Ok(saved) => {
                self.memory.history.restore(saved.clone(), now);
                self.history.resume(bytes, saved, now);
            }
            Err(error) => {
                tracing::warn!(namespace = self.id.namespace, fleet = self.id.name, %error, "history");
                self.context.metrics.failed("history");
            }
        }
    }

    /// Whether pods may be replaced now: one fleet after another, and a fleet whose turn it is keeps it until its pods are
    /// new, or until Kubernetes has given them up: one author's image that cannot be pulled must not hold up the others for
    /// ever.
    fn may_roll(&mut self) -> bool {
        let live = self.deployment();
        let over = |live: &DynamicObject| {
            self.children.shows_last_write(ChildKind::Deployment, live) && roll::is_over(live)
        };
        if self.turn.is_some() && live.as_deref().is_some_and(over) {
            self.turn = None;
        }
        if self.children.rolls(live.as_deref()) && self.turn.is_none() {
            let turn = self.context.turns.clone().try_acquire_owned().ok();
            self.turn = turn.filter(|_| !self.another_rolls());
            self.again |= self.turn.is_none();
            return self.turn.is_some();
        }
        true
    }

    /// Before pods are replaced: those that start then find the newest `fleet.json`, and what the others have counted is
    /// kept. False where it cannot be rendered.
    fn prepare_roll(&mut self, owner: &str, ready: usize, now: Moment) -> bool {
        let rolls = self.children.rolls(self.deployment().as_deref());
        if rolls && self.heartbeat.before_a_roll(self.memory.fleet_file(ready, now)) {
            self.history.take(self.memory.history.save(), now);
            return self.render(owner);
        }
        true
    }

    /// Whether another fleet is in the middle of it: what an earlier leader began goes on without a worker that holds a turn.
    fn another_rolls(&self) -> bool {
        let mine = child_name(&self.id.name);
        let other = |live: &DynamicObject| {
            let metadata = &live.metadata;
            metadata.name.as_ref() != Some(&mine) || metadata.namespace.as_ref() != Some(&self.id.namespace)
        };
        let deployments = self.context.stores.children(ChildKind::Deployment);
        deployments.iter().any(|live| other(live) && roll::is_under_way(live))
    }

    /// Renders the children; false where there is nothing to render. What does not fit changes nothing but what is decided
    /// about cohorts: a guardrail must not wait for somebody to remove models.
    fn render(&mut self, owner: &str) -> bool {
        let Some(wanted) = self.wanted.clone() else { return false };
        self.stale = false;
        match self.render_with(owner, &wanted) {
            Ok(()) => (self.fitting, self.too_large) = (Some(wanted), None),
            Err(error) => {
                let trouble = Trouble { reason: Reason::ConfigTooLarge, message: error.to_string() };
                self.too_large = Some(trouble);
                let last = self.fitting.as_deref().map(|last| last.0.clone());
                let last = last.or_else(|| self.stored_config(owner));
                let last = last.map(|last| Arc::new(decided(last, &wanted.0)));
                self.fitting =
                    last.filter(|last| self.render_with(owner, last).is_ok()).or(self.fitting.take());
            }
        }
        true
    }

    fn render_with(&mut self, owner: &str, (config, fresh): &(GatewayConfig, Fresh)) -> Result<(), TooLarge> {
        let fleet_file = self.heartbeat.bytes();
        self.children.render(
            &self.context,
            &self.memory.snapshot,
            owner,
            (config, &fresh.bytes),
            (fleet_file.as_deref(), self.history.bytes()),
        )
    }

    /// Nudges the pods that should have taken up the configuration and have not.
    pub(super) async fn nudge(&mut self, now: Moment) {
        let Some(rollout) = &mut self.rollout else { return };
        let mut nudges = Vec::new();
        for pod in self.roster.staying() {
            if rollout.is_due(&pod.uid, now)
                && self.context.nudges.take(now).is_ok()
                && let Some(value) = rollout.nudge(&pod.uid, now)
            {
                nudges.push((pod.name.clone(), value));
            }
        }
        for (pod, value) in nudges {
            self.wake(&pod, &value).await;
        }
    }

    /// Says what stands in the way, when that is something new.
    pub(super) async fn complain(&mut self, owner: &Owner) {
        let reason = self.trouble.as_ref().map(|trouble| trouble.reason);
        if self.complained == reason {
            return;
        }
        self.complained = reason;
        if let (Owner::Here(metadata), Some(trouble)) = (owner, self.trouble.clone()) {
            let notice = Notice {
                warning: true,
                reason: trouble.reason.as_str(),
                action: "Apply".to_owned(),
                note: trouble.message,
            };
            let uid = metadata.uid.clone().unwrap_or_default();
            self.tell(Kind::GatewayFleet, &self.id.name, &uid, &notice).await;
        }
    }

    /// Makes every pod look at its volumes, without a new configuration.
    async fn wake_all(&mut self, now: Moment) {
        let pods: Vec<String> = self.roster.staying().map(|pod| pod.name.clone()).collect();
        for pod in pods {
            if self.context.nudges.take(now).is_ok() {
                let value = format!("{}-{}", self.memory.digest, now.as_secs());
                self.wake(&pod, &value).await;
            }
        }
    }

    async fn wake(&mut self, pod: &str, value: &str) {
        self.context.metrics.wrote("pods");
        if let Err(error) = nudge(&self.context.client, &self.id.namespace, pod, value).await {
            self.context.metrics.failed("nudge");
            tracing::warn!(namespace = self.id.namespace, pod, %error, "a pod was not nudged");
        }
    }
}

/// A configuration with the decisions of a newer one.
fn decided(mut config: GatewayConfig, newer: &GatewayConfig) -> (GatewayConfig, Fresh) {
    for cohort in &mut config.cohorts {
        if let Some(newer) = newer.cohorts.iter().find(|newer| newer.name == cohort.name) {
            cohort.decision.clone_from(&newer.decision);
        }
    }
    let bytes = config.write();
    let digest = digest(&bytes);
    (config, Fresh { bytes, digest })
}
