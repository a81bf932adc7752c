//! The admin port: health, metrics and `/state`.
//!
//! Inputs: a [`Source`]. Outputs: `/livez`, `/readyz`, `/metrics` (OpenMetrics), `/state` (JSON, gzip where accepted;
//! `?only=digest` for the short form). Invariants: nothing here changes anything; nothing of requests or credentials is
//! shown. The port is for the cluster's inside; a NetworkPolicy says who may reach it.

mod state;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
    routing::get,
};
use hedgerow_config::state::DigestOnly;
use tokio::sync::Notify;

use crate::telemetry::metrics::Metrics;

/// OpenMetrics 1.0.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What the admin port shows.
pub trait Source: Send + Sync + 'static {
    /// Why the pod takes no traffic; `None` = it does.
    fn waits_for(&self) -> Option<String>;
    /// The whole document.
    fn state(&self) -> hedgerow_config::State;
    /// Its short form.
    fn digest_only(&self) -> DigestOnly;
}

/// Counts scrapes of `/state`, so that a leaving pod knows that its last figures were fetched.
#[derive(Clone, Debug, Default)]
pub struct Scrapes(Arc<Count>);

#[derive(Debug, Default)]
struct Count {
    made: AtomicU64,
    one: Notify,
}

impl Scrapes {
    fn note(&self) {
        self.0.made.fetch_add(1, Ordering::AcqRel);
        self.0.one.notify_waiters();
    }

    /// Scrapes so far.
    pub fn made(&self) -> u64 {
        self.0.made.load(Ordering::Acquire)
    }

    /// Waits for a scrape that starts after this call.
    pub async fn next(&self) {
        let before = self.made();
        loop {
            let one = self.0.one.notified();
            if self.made() > before {
                return;
            }
            one.await;
        }
    }
}

/// What the handlers share.
#[derive(Clone)]
struct Admin {
    source: Arc<dyn Source>,
    metrics: Arc<Metrics>,
    scrapes: Scrapes,
}

/// The routes of the admin port.
pub fn router(source: Arc<dyn Source>, metrics: Arc<Metrics>, scrapes: Scrapes) -> Router {
    Router::new()
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics_text))
        .route("/state", get(state::state))
        .with_state(Admin { source, metrics, scrapes })
}

async fn ready(State(admin): State<Admin>) -> impl IntoResponse {
    match admin.source.waits_for() {
        None => (StatusCode::OK, "ready\n".to_owned()),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {why}\n")),
    }
}

async fn metrics_text(State(admin): State<Admin>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, OPEN_METRICS)], admin.metrics.encode())
}

#[cfg(test)]
mod tests;
