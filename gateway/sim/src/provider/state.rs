//! What all connections of one provider share.
//!
//! The profile is a snapshot per request: a change counts for the requests that are read after it. Statistics
//! live in a watch channel, so that a test can await a condition instead of sleeping.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, Version};
use tokio::{sync::watch, time::Instant};

use super::{quota::Bucket, stats::Stats};
use crate::{clock::now, dialect::Dialect, profile::Profile};

/// How a provider ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It runs.
    Not,
    /// Connections are closed.
    Close,
    /// Connections are reset, as by `kill -9` of a process with unread data.
    Reset,
}

/// Returns when the provider is stopped or dropped.
pub(crate) async fn stopped(stop: &mut watch::Receiver<Stop>) {
    // An error means that the provider was dropped.
    let _ = stop.wait_for(|stop| *stop != Stop::Not).await;
}

/// One request as it arrived, kept when [`ProviderConfig::record`](super::ProviderConfig) asks for it.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Path and query.
    pub path: String,
    /// HTTP version of the connection.
    pub version: Version,
    /// Every header, credentials included: for assertions, never for logs.
    pub headers: HeaderMap,
    /// The body, byte for byte.
    pub body: Bytes,
    /// The number in the answer's tokens (`name#number:index`).
    pub nonce: u64,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) name: Arc<str>,
    pub(crate) dialect: Dialect,
    pub(crate) models: Vec<String>,
    pub(crate) api_key: Option<String>,
    pub(crate) seed: u64,
    pub(crate) profile: watch::Sender<Arc<Profile>>,
    pub(crate) stats: watch::Sender<Stats>,
    pub(crate) stop: watch::Receiver<Stop>,
    started: Instant,
    counter: AtomicU64,
    quota: Mutex<Bucket>,
    record: usize,
    seen: Mutex<VecDeque<Seen>>,
}

impl State {
    pub(crate) fn new(config: super::ProviderConfig, stop: watch::Receiver<Stop>) -> Self {
        Self {
            name: config.name.into(),
            dialect: config.dialect,
            models: config.models,
            api_key: config.api_key,
            seed: config.seed,
            profile: watch::Sender::new(Arc::new(config.profile)),
            stats: watch::Sender::new(Stats::default()),
            stop,
            started: now(),
            counter: AtomicU64::new(0),
            quota: Mutex::default(),
            record: config.record,
            seen: Mutex::default(),
        }
    }

    pub(crate) fn profile(&self) -> Arc<Profile> {
        self.profile.borrow().clone()
    }

    /// The number of the next answer, from 1.
    pub(crate) fn next(&self) -> u64 {
        self.counter.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn request_id(&self, nonce: u64) -> String {
        format!("req_{}_{nonce}", self.name)
    }

    /// Takes one request of the quota or says how long to wait.
    pub(crate) fn take_quota(&self, profile: &Profile, running: u64) -> Result<(), Duration> {
        locked(&self.quota).take(&profile.quota, running, self.started.elapsed())
    }

    pub(crate) fn record(&self, seen: impl FnOnce() -> Seen) {
        if self.record == 0 {
            return;
        }
        let mut kept = locked(&self.seen);
        if kept.len() == self.record {
            kept.pop_front();
        }
        kept.push_back(seen());
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        locked(&self.seen).iter().cloned().collect()
    }

    pub(crate) fn forget(&self) {
        locked(&self.seen).clear();
        self.stats.send_modify(Stats::reset);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
