//! Closed loop: a fixed number of sessions that ask, read, think and ask again, as chat users do.
//!
//! Slow answers slow the load down, so a closed loop under-states overload; the open loop is the honest one.
//! Sessions exist because real SDK clients retry, and because the incident of the replay is told with them.

use std::sync::Arc;

use fastrand::Rng;
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{
    action::Course, class::TrafficClass, client::Client, outcome::Outcome, retry::RetryRule, target::Target,
};
use crate::{clock::now, profile::Latency};

/// Running sessions. Dropping them aborts what is under way.
#[derive(Debug)]
pub struct ClosedLoop {
    epoch: Instant,
    stop: watch::Sender<bool>,
    sessions: JoinSet<()>,
}

impl ClosedLoop {
    /// Starts `sessions` sessions of one class, each after a first think time, so that they do not arrive in step.
    pub fn start(
        target: &Target,
        class: TrafficClass,
        sessions: usize,
        think: &Latency,
        retry: RetryRule,
        seed: u64,
    ) -> (Self, mpsc::UnboundedReceiver<Outcome>) {
        let (outcomes, receiver) = mpsc::unbounded_channel();
        let (stop, stopped) = watch::channel(false);
        let epoch = now();
        let course = Arc::new(Course::new(Client::new(target.clone()), class, retry, epoch));
        let mut rng = Rng::with_seed(seed);
        let mut this = Self { epoch, stop, sessions: JoinSet::new() };
        for number in 0..sessions {
            let session = Session {
                course: Arc::clone(&course),
                outcomes: outcomes.clone(),
                stopped: stopped.clone(),
                think: think.clone(),
                rng: rng.fork(),
            };
            this.sessions.spawn(session.run(number as u64, sessions as u64));
        }
        (this, receiver)
    }

    /// The start of the traffic, from which outcomes count.
    pub fn epoch(&self) -> Instant {
        self.epoch
    }

    /// Ends every session after what it is doing.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        while self.sessions.join_next().await.is_some() {}
    }
}

struct Session {
    course: Arc<Course>,
    outcomes: mpsc::UnboundedSender<Outcome>,
    stopped: watch::Receiver<bool>,
    think: Latency,
    rng: Rng,
}

impl Session {
    /// Asks with the numbers `first`, `first + step`, ... so that no two sessions share a prompt.
    async fn run(mut self, first: u64, step: u64) {
        let mut sequence = first;
        loop {
            let pause = self.think.draw(&mut self.rng);
            tokio::select! {
                _ = self.stopped.wait_for(|stopped| *stopped) => return,
                () = sleep(pause) => {}
            }
            let outcome = self.course.perform(sequence, now(), self.rng.fork()).await;
            if self.outcomes.send(outcome).is_err() {
                return;
            }
            sequence += step;
        }
    }
}
