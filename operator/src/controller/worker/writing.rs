//! Writing children, and making pods take up what was written.

use hedgerow_config::digest::short;
use hedgerow_crds::{Kind, condition::Reason};
use hedgerow_policy::time::Moment;

use super::{Owner, Worker};
use crate::{
    cluster::{Notice, nudge},
    controller::{heartbeat::Rhythm, nudges::Rollout},
    status::Trouble,
};

impl Worker {
    /// Puts the wanted configuration in force.
    pub(super) async fn put_in_force(&mut self, owner: &Owner, now: Moment) {
        let Owner::Here(metadata) = owner else { return };
        let Some(uid) = metadata.uid.clone() else { return };
        let ready = self.memory.pods(self.roster.members(), now).ready().count();
        let rhythm = Rhythm::of(self.memory.snapshot.policies.iter().map(|policy| &policy.spec));
        if self.heartbeat.beat(self.memory.fleet_file(ready, now), rhythm, now) {
            self.stale = true;
        }
        if self.stale && !self.render(&uid) {
            return;
        }
        let written = self.children.settle(&self.context, &self.id).await;
        self.again |= written.again;
        self.trouble = written.trouble;
        if written.config
            && let Some((_, fresh)) = &self.wanted
            && fresh.digest != self.memory.digest
        {
            let first = self.memory.digest.is_empty();
            self.memory.digest.clone_from(&fresh.digest);
            self.rollout = Some(Rollout::new(&fresh.digest, now));
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
                note: "pods are replaced one by one: their image, resources or mounted Secrets changed".to_owned(),
            };
            self.tell(Kind::GatewayFleet, &self.id.name.clone(), &uid, &notice).await;
        }
    }

    /// Renders the children; false where there is nothing to render.
    fn render(&mut self, owner: &str) -> bool {
        let Some((config, fresh)) = &self.wanted else { return false };
        let fleet_file = self.heartbeat.bytes();
        let rendered = self.children.render(
            &self.context,
            &self.memory.snapshot,
            owner,
            (config, &fresh.bytes),
            fleet_file.as_deref(),
        );
        match rendered {
            Ok(()) => {
                self.stale = false;
                true
            }
            Err(error) => {
                self.trouble =
                    Some(Trouble { reason: Reason::ConfigTooLarge, message: error.to_string() });
                false
            }
        }
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
