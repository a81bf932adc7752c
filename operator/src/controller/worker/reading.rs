//! Reading the pods: everything now and then, only the digest while a configuration is on its way.

use std::time::Duration;

use futures_util::future::join_all;
use hedgerow_policy::time::Moment;

use super::{JITTER_NANOS, SCRAPE_EVERY, Worker};
use crate::runtime::clock;

impl Worker {
    /// Reads what is due.
    pub(super) async fn read(&mut self, now: Moment) {
        let pods = self.context.stores.pods(&self.id);
        if self.roster.update(pods.iter().map(AsRef::as_ref)) {
            self.next_scrape = now;
        }
        if self.rollout.is_some() {
            self.acknowledge().await;
        }
        if now >= self.next_scrape {
            self.scrape().await;
            let now = clock::now();
            // As random as it has to be: the digits of a clock that nobody sets by us.
            let jitter = Duration::from_nanos(now.as_nanos() % JITTER_NANOS);
            self.next_scrape = now + SCRAPE_EVERY + jitter;
        }
    }

    /// Asks the pods that do not have the configuration yet. When all have it, everything is read at once, so that statuses
    /// can say so.
    async fn acknowledge(&mut self) {
        let Some(rollout) = &self.rollout else { return };
        let fetcher = &self.context.fetcher;
        let asked = self.roster.staying().filter(|pod| !rollout.has(&pod.uid)).filter_map(|pod| {
            let (uid, admin) = (pod.uid.clone(), pod.admin?);
            Some(async move { (uid, fetcher.digest(admin).await) })
        });
        let answers = join_all(asked).await;
        let Some(rollout) = &mut self.rollout else { return };
        for (uid, answer) in answers {
            if let Ok(answer) = answer {
                if answer.rejected.is_some() {
                    self.next_scrape = Moment::ZERO;
                }
                rollout.report(&uid, &answer.digest);
            }
        }
        let now = clock::now();
        if rollout.over(self.roster.staying().map(|pod| pod.uid.as_str()), now) {
            self.rollout = None;
            self.next_scrape = Moment::ZERO;
        }
    }

    /// Reads everything.
    async fn scrape(&mut self) {
        let fetcher = &self.context.fetcher;
        let reads = self.roster.running().filter_map(|pod| {
            let (uid, admin) = (pod.uid.clone(), pod.admin?);
            Some(async move { (uid, fetcher.state(admin).await) })
        });
        for (uid, read) in join_all(reads).await {
            match read {
                Ok(state) if state.pod.uid == uid => {
                    let now = clock::now();
                    self.roster.read(&state, now);
                    self.memory.store.observe(state, now);
                }
                // Addresses are given to other pods once theirs are gone.
                Ok(_) => {}
                Err(error) => {
                    self.context.metrics.scrape_failed(&self.id);
                    tracing::debug!(namespace = self.id.namespace, fleet = self.id.name, %error, "a pod cannot be read");
                }
            }
        }
    }
}
