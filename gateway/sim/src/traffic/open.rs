//! Open loop: requests arrive when they want, whatever the server does.
//!
//! In: classes with arrival processes, changeable while they run. Out: one [`Outcome`] per arrival, timed from
//! the moment it should have started, so a stalled server or generator cannot hide its own delay (coordinated
//! omission). An arrival is never dropped silently: beyond [`MOST_OPEN`] requests it is reported as failed.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use fastrand::Rng;
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
    time::{Instant, sleep_until},
};

use super::{
    action::Course,
    arrivals::{Arrivals, Clockwork},
    class::TrafficClass,
    client::Client,
    outcome::Outcome,
    retry::RetryRule,
    target::Target,
};
use crate::clock::now;

/// Requests under way at once, over all classes of one generator.
pub const MOST_OPEN: usize = 10_000;

/// A running open-loop generator. Dropping it aborts what is under way.
#[derive(Debug)]
pub struct OpenLoop {
    epoch: Instant,
    rates: HashMap<String, watch::Sender<Arrivals>>,
    sources: JoinSet<()>,
}

impl OpenLoop {
    /// Starts all classes. Outcomes come as they end; the channel ends after [`stop`](Self::stop).
    pub fn start(
        target: &Target,
        classes: Vec<(TrafficClass, Arrivals)>,
        seed: u64,
    ) -> (Self, mpsc::UnboundedReceiver<Outcome>) {
        Self::with_retries(target, classes, RetryRule::NONE, seed)
    }

    /// The same with clients that retry.
    pub fn with_retries(
        target: &Target,
        classes: Vec<(TrafficClass, Arrivals)>,
        retry: RetryRule,
        seed: u64,
    ) -> (Self, mpsc::UnboundedReceiver<Outcome>) {
        let (outcomes, receiver) = mpsc::unbounded_channel();
        let (epoch, open) = (now(), Arc::new(AtomicUsize::new(0)));
        let mut rng = Rng::with_seed(seed);
        let mut this = Self { epoch, rates: HashMap::new(), sources: JoinSet::new() };
        for (class, arrivals) in classes {
            let (sender, rate) = watch::channel(arrivals);
            this.rates.insert(class.name.clone(), sender);
            let course = Arc::new(Course::new(Client::new(target.clone()), class, retry, epoch));
            let source =
                Source { course, rate, outcomes: outcomes.clone(), open: Arc::clone(&open), rng: rng.fork() };
            this.sources.spawn(source.run());
        }
        (this, receiver)
    }

    /// The start of the traffic, from which outcomes count.
    pub fn epoch(&self) -> Instant {
        self.epoch
    }

    /// Changes the arrivals of a class from now on; false if there is no such class.
    pub fn set_arrivals(&self, class: &str, arrivals: Arrivals) -> bool {
        self.rates.get(class).is_some_and(|rate| rate.send(arrivals).is_ok())
    }

    /// Ends all arrivals and returns when everything under way has ended.
    pub async fn stop(mut self) {
        self.rates.clear();
        while self.sources.join_next().await.is_some() {}
    }
}

struct Source {
    course: Arc<Course>,
    rate: watch::Receiver<Arrivals>,
    outcomes: mpsc::UnboundedSender<Outcome>,
    open: Arc<AtomicUsize>,
    rng: Rng,
}

impl Source {
    async fn run(mut self) {
        let mut actions = JoinSet::new();
        let mut clockwork = Clockwork::new(*self.rate.borrow_and_update(), &mut self.rng);
        let mut last = self.course.epoch;
        let mut sequence = 0;
        loop {
            let next = clockwork.next(&mut self.rng).and_then(|gap| last.checked_add(gap));
            tokio::select! {
                biased;
                changed = self.rate.changed() => {
                    if changed.is_err() {
                        break;
                    }
                    clockwork = Clockwork::new(*self.rate.borrow_and_update(), &mut self.rng);
                    last = now();
                }
                () = arrival(next) => {
                    last = next.unwrap_or(last);
                    self.act(&mut actions, sequence, last);
                    sequence += 1;
                }
            }
            while actions.try_join_next().is_some() {}
        }
        while actions.join_next().await.is_some() {}
    }

    fn act(&mut self, actions: &mut JoinSet<()>, sequence: u64, intended: Instant) {
        let (course, outcomes, open) =
            (Arc::clone(&self.course), self.outcomes.clone(), Arc::clone(&self.open));
        if open.fetch_add(1, Ordering::Relaxed) >= MOST_OPEN {
            open.fetch_sub(1, Ordering::Relaxed);
            let intended = intended.saturating_duration_since(course.epoch);
            // A closed receiver wants no outcomes any more.
            let _ = outcomes.send(Outcome::not_started(&course.name, sequence, intended));
            return;
        }
        let rng = self.rng.fork();
        actions.spawn(async move {
            let outcome = course.perform(sequence, intended, rng).await;
            open.fetch_sub(1, Ordering::Relaxed);
            let _ = outcomes.send(outcome);
        });
    }
}

async fn arrival(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
